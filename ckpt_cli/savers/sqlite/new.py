"""New databases, as checkpoint-sqlite 3.1.2 makes them (``checkpoint/sqlite/__init__.py: SqliteSaver.setup``)."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from ckpt_cli.errors import DatabaseUnreachable, Failed, NotSupported, Refused
from ckpt_cli.model import Checkpoint, Payload, Plan, Write
from ckpt_cli.savers.contract import Ability
from ckpt_cli.savers.sqlite.connect import Row, connect, explained
from ckpt_cli.savers.sqlite.files import Survey, Way
from ckpt_cli.savers.sqlite.saver import SqliteSaver
from ckpt_cli.savers.sqlite.schema import detect

T = TypeVar("T")

_SETUP = """
PRAGMA journal_mode=WAL;
CREATE TABLE IF NOT EXISTS checkpoints (
    thread_id TEXT NOT NULL,
    checkpoint_ns TEXT NOT NULL DEFAULT '',
    checkpoint_id TEXT NOT NULL,
    parent_checkpoint_id TEXT,
    type TEXT,
    checkpoint BLOB,
    metadata BLOB,
    PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id)
);
CREATE TABLE IF NOT EXISTS writes (
    thread_id TEXT NOT NULL,
    checkpoint_ns TEXT NOT NULL DEFAULT '',
    checkpoint_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    task_path TEXT NOT NULL DEFAULT '',
    idx INTEGER NOT NULL,
    channel TEXT NOT NULL,
    type TEXT,
    value BLOB,
    PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
);
"""

_ADD_CHECKPOINT = (
    "INSERT INTO checkpoints"
    " (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_ADD_WRITE = (
    "INSERT INTO writes (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


class NewFile:
    """A database file that this process made, reads and writes."""

    def __init__(self, path: Path) -> None:
        try:
            path.open("xb").close()
        except FileExistsError as error:
            raise Refused(f"{path} exists already", hint="name a file that doesn't exist yet") from error
        except OSError as error:
            raise DatabaseUnreachable(f"can't make {path}: {error.strerror}") from error
        self.path = path
        self._connection = connect(path, "mode=rw")
        try:
            self._connection.executescript(_SETUP)
        except sqlite3.DatabaseError as error:
            self._connection.close()
            path.unlink()
            raise Failed(f"can't make {path}: {error}") from error

    @property
    def seen(self) -> Survey:
        """The file as it stands; not surveyed, which would drop this connection's locks."""
        ((page_size,),) = self.query("SELECT page_size FROM pragma_page_size")
        size, log = self.path.stat().st_size, self.path.with_name(self.path.name + "-wal").stat().st_size
        return Survey(Way.LIVE, True, page_size, size, log, ())

    def query(self, sql: str, words: Sequence[object] = ()) -> Iterator[Row]:
        """The rows of one statement, one at a time."""
        try:
            yield from self._connection.execute(sql, words)
        except sqlite3.DatabaseError as error:
            raise explained(self.path, error) from error

    def moment(self, look: Callable[[], T]) -> T:
        """One read transaction."""
        if self._connection.in_transaction:
            return look()
        self._connection.execute("BEGIN")
        try:
            return look()
        finally:
            self._connection.execute("ROLLBACK")

    def insert(self, rows: Iterable[tuple[str, str, Row]]) -> None:
        """Insert rows, each a name for people, a statement and its values; all of them or none.

        Raises:
            Refused: one of them exists already.
            Failed: the file could not be written.
        """
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for name, statement, values in rows:
                self._insert(name, statement, values)
            self._connection.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            raise Failed(f"can't write {self.path}: {error}; nothing was written") from error
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def close(self) -> None:
        """Let go of the file; SQLite puts its log back into it."""
        self._connection.close()

    def _insert(self, name: str, statement: str, values: Row) -> None:
        try:
            self._connection.execute(statement, values)
        except sqlite3.IntegrityError as error:
            raise Refused(f"{name} exists already; nothing was written") from error


class NewSqliteSaver(SqliteSaver):
    """A database that was made here and so may be written."""

    def __init__(self, path: Path) -> None:
        self._new = NewFile(path.absolute())
        super().__init__(self._new, detect(path, self._new.query), str(path))
        self.abilities |= {Ability.WRITE, Ability.ATOMIC}

    def apply(self, plan: Plan) -> None:
        """Insert a plan's records in one transaction."""
        self._new.insert([_row(record) for record in plan.add])


def _row(record: Checkpoint | Write) -> tuple[str, str, Row]:
    if isinstance(record, Write):
        key = (record.thread_id, record.ns, record.checkpoint_id, record.task_id, record.task_path, record.idx)
        name = f"write {record.idx} of task {record.task_id} on {record.checkpoint_id}"
        if record.payload is None:
            raise ValueError(f"{name} has no payload")
        return name, _ADD_WRITE, (*key, record.channel, *_typed(record.payload))
    row = record.row
    if record.channels is not None:
        raise NotSupported("SQLite keeps a checkpoint whole, not channel by channel")
    values = (*_typed(record.body), _metadata(record.metadata))
    name = f"checkpoint {row.checkpoint_id} of thread {row.thread_id!r}"
    return name, _ADD_CHECKPOINT, (row.thread_id, row.ns, row.checkpoint_id, row.parent_id, *values)


def _typed(payload: Payload) -> tuple[str | None, bytes]:
    return payload.tag or None, payload.data


def _metadata(payload: Payload) -> bytes | None:
    if payload.tag == "null":
        return None
    if payload.tag != "json":
        raise NotSupported(f"SQLite keeps metadata as JSON, not as {payload.tag or 'untyped bytes'}")
    return payload.data
