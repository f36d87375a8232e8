"""A connection that stays open, for an agent: it reads and writes all the time, from any thread.

This module never calls `files.read_file_state`, which opens and closes the file itself. A process that closes any
descriptor of a file loses all its locks on that file (POSIX), also those of an open connection.
"""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from ckpt_cli.errors import DatabaseUnreachable
from ckpt_cli.model import Scalar
from ckpt_cli.savers.agent_rows import AgentRows
from ckpt_cli.savers.sqlite.agent_rows import SqliteAgentRows
from ckpt_cli.savers.sqlite.driver import connect
from ckpt_cli.savers.sqlite.faults import constraint_fault, reading_fault, writing_fault
from ckpt_cli.savers.sqlite.files import FileState, ReadMode
from ckpt_cli.savers.sqlite.saver import SqliteSaver
from ckpt_cli.savers.sqlite.schema import Schema, detect
from ckpt_cli.savers.sqlite.writable_connection import WritableConnection

T = TypeVar("T")


class LongLivedConnection(WritableConnection):
    """A connection that stays open to read and write an existing file; one thread at a time may use it."""

    def __init__(self, path: Path) -> None:
        self._open(path, connect(path, "mode=rw", threads=True))
        (journal,), (page_size,), (pages,) = (next(self.query(f"PRAGMA {name}")) for name in _PRAGMAS)
        self.file_state = FileState(ReadMode.LIVE, journal == "wal", page_size, pages * page_size, 0, ())

    def moment(self, read: Callable[[], T]) -> T:
        """Run `read` in one read transaction, or in the transaction that is open."""
        if self._driver.in_transaction:
            return read()
        self._execute("BEGIN")
        try:
            return read()
        finally:
            if self._driver.in_transaction:
                self._execute("COMMIT")

    def run_alone(self, relation: str, statement: str, values: Sequence[Scalar]) -> None:
        """Run a statement that writes one table: in the open transaction or, if there is none, atomic by itself.

        Raises:
            Refused: the file is locked or may not be written, or a row breaks a constraint.
            Failed: the disk is full.
        """
        try:
            self._driver.execute(statement, values)
        except sqlite3.IntegrityError as error:
            raise constraint_fault(relation, error) from error
        except sqlite3.DatabaseError as error:
            raise writing_fault(self.path, error) from error

    def _execute(self, statement: str) -> None:
        try:
            self._driver.execute(statement)
        except sqlite3.DatabaseError as error:
            raise reading_fault(self.path, error) from error


_PRAGMAS = ("journal_mode", "page_size", "page_count")


class LongLivedSaver(SqliteSaver):
    """The saver of a file that one connection reads and writes."""

    def __init__(self, connection: LongLivedConnection, schema: Schema, location: str) -> None:
        super().__init__(connection, schema, location)
        self._long_lived = connection

    def agent_rows(self) -> AgentRows:
        """One statement for each call, if the tables have ids and writes, and every thread's id is text; else plans."""
        if not self._schema.parents or not self._schema.writes or self.moment(lambda: self._odd.stored):
            return super().agent_rows()
        return SqliteAgentRows(self, self._long_lived, self._schema)

    def transaction(self, work: Callable[[], T]) -> T:
        """Run `work` in one write transaction, on the connection that also reads."""
        if self._writer is not None:
            return work()
        self._must_have_ids()
        self._writer, self._odd_ids = self._long_lived, None
        try:
            return self._long_lived.transaction(work)
        finally:
            self._writer = None


def open_long_lived(path: Path) -> LongLivedSaver:
    """Open an existing database to read and write it for a long time.

    Raises:
        DatabaseUnreachable: the file doesn't exist, can't be read, or holds no checkpoints.
    """
    try:
        connection = LongLivedConnection(path.resolve())
    except sqlite3.DatabaseError as error:
        what = f"no such file: {path}" if not path.exists() else f"can't open {path}: {error}"
        raise DatabaseUnreachable(what) from error
    try:
        return LongLivedSaver(connection, connection.moment(lambda: detect(path, connection.query)), str(path))
    except BaseException:
        connection.close()
        raise
