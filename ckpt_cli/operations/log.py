"""The operation log of one database: every row's before-image and after-image, durable before the first row is touched.

It is a SQLite file (mode 600, ``synchronous=EXTRA``), so that a crash leaves whole operations or none, and so that an
operation of any size is written and read back row by row.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ckpt_cli.model import Row, RowChange
from ckpt_cli.operations.file import LogFile
from ckpt_cli.operations.images import digest, key_text, pack, restored, row_of, stored, unpack

if TYPE_CHECKING:
    import sqlite3

_COLUMNS = "number, at, verb, reason, summary, state, undoes, rows, bytes"


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


@dataclass(frozen=True, slots=True)
class Heading:
    """What is said of an operation; `at` is seconds since 1970, `undoes` the operation that it takes back."""

    at: float
    verb: str
    reason: str
    summary: str
    undoes: int | None = None


class OperationLog(LogFile):
    """The log of one database, made at the first operation; `path` is where it is or would be."""

    def begin(self, heading: Heading, changes: Iterable[RowChange]) -> int:
        """Write an operation with all its images and give its number; it is on disk when this returns."""
        with self.writing() as connection:
            words = stored(heading.reason), stored(heading.summary)
            said = (heading.at, heading.verb, *words, Phase.PLANNED, heading.undoes)
            number = connection.execute(
                "INSERT INTO operations (at, verb, reason, summary, state, undoes, rows, bytes)"
                " VALUES (?, ?, ?, ?, ?, ?, 0, 0)",
                said,
            ).lastrowid
            rows = size = 0
            for rows, change in enumerate(changes, 1):
                size += _add(connection, number or 0, rows, change)
            connection.execute("UPDATE operations SET rows = ?, bytes = ? WHERE number = ?", (rows, size, number))
        return number or 0

    def mark(self, number: int, phase: Phase) -> None:
        """Say where an operation stands now."""
        with self.writing() as connection:
            connection.execute("UPDATE operations SET state = ? WHERE number = ?", (phase, number))

    def finish(self, number: int) -> None:
        """An operation is applied; what it took back is undone, and what that had taken back stands again."""
        with self.writing() as connection:
            phase = Phase.DONE
            at: int | None = number
            while at is not None:
                connection.execute("UPDATE operations SET state = ? WHERE number = ?", (phase, at))
                found = connection.execute("SELECT undoes FROM operations WHERE number = ?", (at,)).fetchone()
                phase, at = (Phase.UNDONE if phase is Phase.DONE else Phase.DONE), found[0] if found else None

    def operations(self) -> list[Operation]:
        """All of them, newest first."""
        found = self.rows(f"SELECT {_COLUMNS} FROM operations ORDER BY number DESC")  # noqa: S608 - a constant
        return [
            Operation(number, at, verb, restored(reason), restored(summary), Phase(phase), undoes, rows, size)
            for number, at, verb, reason, summary, phase, undoes, rows, size in found
        ]

    def changes(self, number: int, *, backwards: bool = False) -> Iterator[RowChange]:
        """The row changes of an operation, one in memory at a time."""
        for relation, key, before, after in self._walk("before, after", number, backwards):
            yield RowChange(relation, row_of(key), unpack(before), unpack(after))

    def change(self, number: int, position: int) -> RowChange:
        """One row change of an operation, counted from 1."""
        columns = "relation, key, before, after"
        statement = f"SELECT {columns} FROM changes WHERE operation = ? AND position = ?"  # noqa: S608 - constants
        ((relation, key, before, after),) = self.rows(statement, (number, position))
        return RowChange(relation, row_of(key), unpack(before), unpack(after))

    def hashes(self, number: int) -> Iterator[tuple[str, Row, bytes | None, bytes | None]]:
        """Relation, key, and the hashes of before-image and after-image of every row of an operation."""
        for relation, key, before, after in self._walk("before_hash, after_hash", number):
            yield relation, row_of(key), before, after

    def _walk(self, columns: str, number: int, backwards: bool = False) -> Iterator[tuple[Any, ...]]:
        """Row by row, each a statement of its own, so that none is left open where the walk is given up."""
        ((last,),) = self.rows("SELECT rows FROM operations WHERE number = ?", (number,))
        statement = f"SELECT relation, key, {columns} FROM changes WHERE operation = ? AND position = ?"  # noqa: S608
        for position in range(last, 0, -1) if backwards else range(1, last + 1):
            yield from self.rows(statement, (number, position))

    def later(self, number: int) -> list[int]:
        """Operations after this one that touched a row of it and still stand, newest first."""
        rows = self.rows(
            "SELECT DISTINCT o.number FROM changes c JOIN changes l USING (relation, key)"
            " JOIN operations o ON o.number = l.operation LEFT JOIN operations u ON u.number = o.undoes"
            " WHERE c.operation = ? AND o.number > c.operation AND o.state IN (?, ?) AND u.number IS NULL"
            " ORDER BY o.number DESC",
            (number, Phase.DONE, Phase.PLANNED),
        )
        return [row[0] for row in rows]

    def undoing(self, number: int) -> int | None:
        """The operation that took this one back and stands."""
        found = self.rows("SELECT number FROM operations WHERE undoes = ? AND state = ?", (number, Phase.DONE))
        return found[-1][0] if found else None

    def prune(self, numbers: Iterable[int]) -> None:
        """Forget operations with their images, and give the room on disk back."""
        with self.writing() as connection:
            connection.executemany("DELETE FROM operations WHERE number = ?", ((number,) for number in numbers))
        self.compact()


def _add(connection: "sqlite3.Connection", number: int, position: int, change: RowChange) -> int:
    before, after = pack(change.before), pack(change.after)
    images = (before, after, digest(change.before), digest(change.after))
    connection.execute(
        "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (number, position, change.relation, key_text(change.key), *images),
    )
    return len(before or b"") + len(after or b"")
