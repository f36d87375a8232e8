"""The operation log of one database: every row's before-image and after-image, durable before the first row is touched.

It is a SQLite file of ckpt's own (mode 600, ``synchronous=FULL``), so that a crash leaves whole operations or none, and
so that an operation of any size is written and read back row by row.
"""

import hashlib
import json
import os
import sqlite3
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from ckpt_cli.model import Row, RowChange

_SCHEMA = """
CREATE TABLE IF NOT EXISTS operations (
  number INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, verb TEXT NOT NULL, reason TEXT NOT NULL,
  summary TEXT NOT NULL, state TEXT NOT NULL, undoes INTEGER, rows INTEGER NOT NULL, bytes INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS changes (
  operation INTEGER NOT NULL REFERENCES operations ON DELETE CASCADE, position INTEGER NOT NULL,
  relation TEXT NOT NULL, key TEXT NOT NULL, before BLOB, after BLOB, before_hash BLOB, after_hash BLOB,
  PRIMARY KEY (operation, position)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS changes_by_row ON changes (relation, key, operation);
CREATE TABLE IF NOT EXISTS tags (
  name TEXT NOT NULL, thread_id TEXT NOT NULL, ns TEXT NOT NULL, checkpoint_id TEXT NOT NULL, at REAL NOT NULL,
  PRIMARY KEY (thread_id, ns, name));
"""


class Phase(StrEnum):
    """Where an operation stands."""

    PLANNED = "planned"
    """Logged; whether its rows were touched is not known yet."""
    DONE = "done"
    """Applied."""
    ABANDONED = "abandoned"
    """Found planned at a later opening, with none of its rows touched."""
    UNDONE = "undone"
    """Applied, and taken back by a later operation."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One line of ``ckpt operations``; `size` is what its images take in the log, in bytes."""

    number: int
    at: float
    verb: str
    reason: str
    summary: str
    phase: Phase
    undoes: int | None
    rows: int
    size: int


class OperationLog:
    """The log of one database, made at the first operation; `path` is where it is or would be."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None

    @property
    def exists(self) -> bool:
        """Whether anything was ever logged or tagged for this database."""
        return self.path.exists()

    def _connect(self) -> sqlite3.Connection:
        if self._connection is None:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            self._connection = sqlite3.connect(self.path, isolation_level=None)
            self._connection.executescript("PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;" + _SCHEMA)
        return self._connection

    def close(self) -> None:
        """Let go of the file; safe to call twice."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def begin(
        self,
        changes: Iterable[RowChange],
        *,
        at: float,
        verb: str,
        reason: str,
        summary: str,
        undoes: int | None = None,
    ) -> int:
        """Write an operation with all its images and give its number; it is on disk when this returns.

        Args:
            at: seconds since 1970.
            undoes: the operation that this one takes back.
        """
        connection = self._connect()
        connection.execute("BEGIN IMMEDIATE")
        try:
            cursor = connection.execute(
                "INSERT INTO operations (at, verb, reason, summary, state, undoes, rows, bytes) VALUES (?,?,?,?,?,?,0,0)",
                (at, verb, reason, summary, Phase.PLANNED, undoes),
            )
            number = cursor.lastrowid
            assert number is not None
            rows = size = 0
            for rows, change in enumerate(changes, 1):
                before, after = pack(change.before), pack(change.after)
                size += len(before or b"") + len(after or b"")
                connection.execute(
                    "INSERT INTO changes VALUES (?,?,?,?,?,?,?,?)",
                    (
                        number, rows, change.relation, _text(change.key),
                        before, after, digest(change.before), digest(change.after),
                    ),
                )  # fmt: skip
            connection.execute("UPDATE operations SET rows = ?, bytes = ? WHERE number = ?", (rows, size, number))
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        return number

    def mark(self, number: int, phase: Phase) -> None:
        """Say where an operation stands now."""
        self._connect().execute("UPDATE operations SET state = ? WHERE number = ?", (phase, number))

    def operations(self) -> list[Operation]:
        """All of them, newest first."""
        if not self.exists:
            return []
        rows = self._connect().execute(
            "SELECT number, at, verb, reason, summary, state, undoes, rows, bytes FROM operations ORDER BY number DESC"
        )
        return [
            Operation(number, at, verb, reason, summary, Phase(phase), undoes, count, size)
            for number, at, verb, reason, summary, phase, undoes, count, size in rows
        ]

    def changes(self, number: int, *, backwards: bool = False) -> Iterator[RowChange]:
        """The row changes of an operation, one in memory at a time."""
        order = "DESC" if backwards else "ASC"
        with closing(self._connect().cursor()) as cursor:
            cursor.execute(
                "SELECT relation, key, before, after FROM changes WHERE operation = ? ORDER BY position " + order,
                (number,),
            )
            for relation, key, before, after in cursor:
                yield RowChange(relation, _row(key), unpack(before), unpack(after))

    def later(self, number: int) -> list[int]:
        """Operations after this one that touched a row of it and still stand, newest first."""
        rows = self._connect().execute(
            "SELECT DISTINCT o.number FROM changes c JOIN changes l USING (relation, key) JOIN operations o"
            " ON o.number = l.operation WHERE c.operation = ? AND o.number > c.operation AND o.state IN (?, ?)"
            " ORDER BY o.number DESC",
            (number, Phase.DONE, Phase.PLANNED),
        )
        return [row[0] for row in rows]


def digest(row: Row | None) -> bytes | None:
    """A hash of all columns of a row with their types; None for a row that isn't there."""
    return None if row is None else hashlib.blake2b(_text(row).encode(), digest_size=16).digest()


def pack(row: Row | None) -> bytes | None:
    """An image, compressed."""
    return None if row is None else zlib.compress(_text(row).encode(), 1)


def unpack(image: bytes | None) -> Row | None:
    """The row of an image."""
    return None if image is None else _row(zlib.decompress(image).decode())


def _text(row: Row) -> str:
    columns = {k: {"b": b64encode(v).decode()} if isinstance(v, bytes) else v for k, v in row.items()}
    return json.dumps(columns, ensure_ascii=True, sort_keys=True)


def _row(text: str) -> Row:
    return {k: b64decode(v["b"]) if isinstance(v, dict) else v for k, v in json.loads(text).items()}
