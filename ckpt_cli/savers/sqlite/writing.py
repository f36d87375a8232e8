"""The one connection that writes: opened for one transaction on a file that exists, and closed after it."""

import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from ckpt_cli import ctrl_c
from ckpt_cli.errors import CkptError, DatabaseUnreachable, Failed, Refused
from ckpt_cli.model import RowChange, Scalar
from ckpt_cli.savers.own_columns import assigned
from ckpt_cli.savers.sqlite.connection import Row, connect, explained
from ckpt_cli.savers.sqlite.files import survey
from ckpt_cli.savers.sqlite.images import Images, parameters, place, quoted, where
from ckpt_cli.savers.sqlite.triggers import Guard, fired_by

T = TypeVar("T")

_TIMEOUT = 5000  # milliseconds to wait while somebody else writes


class WritableFile:
    """An existing database file inside one write transaction; nothing is committed unless `work` returns.

    Args:
        path: the file.
        permitted: the triggers that may fire.
    """

    def __init__(self, path: Path, permitted: Collection[str] = ()) -> None:
        self.seen = survey(path)  # before there are locks, which looking at the file would drop
        self._open(path, connect(path, "mode=rw"))
        self._guard = Guard(permitted)

    _guard: "Guard | None" = None
    """None where triggers fire as for any application."""

    def _open(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._connection.execute(f"PRAGMA busy_timeout={_TIMEOUT}")
        self._images = Images(self.query)

    def query(self, sql: str, words: Sequence[object] = ()) -> Iterator[Row]:
        """The rows of one statement, one at a time."""
        try:
            yield from self._connection.execute(sql, words)
        except sqlite3.DatabaseError as error:
            raise explained(self.path, error) from error

    def fired_by(self, statement: str) -> set[str]:
        """The triggers that a statement would fire."""
        return fired_by(self._connection, statement)

    def moment(self, look: Callable[[], T]) -> T:
        """The transaction is the moment."""
        return look()

    def transaction(self, work: Callable[[], T]) -> T:
        """Run `work` while nobody else can write; commit if it returns.

        Raises:
            Refused: somebody else writes all the time, or the file may not be written.
        """
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.DatabaseError as error:
            raise _refused(self.path, error) from error
        try:
            with ctrl_c.on_ctrl_c(self._connection.interrupt):
                value = work()
                self._commit()
        finally:
            if self._connection.in_transaction:  # SQLite ends it by itself where the disk is full
                self._connection.execute("ROLLBACK")
        return value

    def _commit(self) -> None:
        try:
            self._connection.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            raise _refused(self.path, error) from error

    def change(self, changes: Iterable[RowChange]) -> None:
        """Make every row what its after-image says.

        Raises:
            Refused: a row to add stands already, or one to change or remove is gone.
            Failed: the engine said no; the transaction is rolled back by `transaction`.
        """
        self._connection.set_authorizer(self._guard)
        try:
            self._change(changes)
        finally:
            self._connection.set_authorizer(None)

    def _change(self, changes: Iterable[RowChange]) -> None:
        for change in changes:
            statement, words = self._statement(change)
            try:
                touched = self._connection.execute(statement, words).rowcount
            except sqlite3.IntegrityError as error:
                raise _constrained(change.relation, error) from error
            except sqlite3.DatabaseError as error:
                if self._guard is not None and self._guard.denied:
                    raise self._guard.refusal() from error
                raise Failed(f"can't write {self.path}: {error}; nothing was written") from error
            if touched > 1:
                raise Refused(f"{touched} rows of {change.relation} have the same key; nothing was written")
            if touched != 1:
                raise Refused(f"a row of {change.relation} is gone; nothing was written", hint="run the command again")

    def renew(self) -> None:
        """It sees what it writes."""

    def close(self) -> None:
        """Close the file; SQLite puts its log back into it if nobody else has it open."""
        self._connection.close()

    def _statement(self, change: RowChange) -> tuple[str, list[Scalar]]:
        table = quoted(change.relation)
        if change.after is None:
            return f"DELETE FROM {table} WHERE {where(change.key)}", parameters(change.key)  # noqa: S608 - known names
        self._images.columns(change.relation, change.after)
        row = change.after if change.before is None else assigned(change.before, change.after)
        names, values = [*map(quoted, row)], parameters(row)
        places = [place(value) for value in row.values()]
        if change.before is None:
            return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join(places)})", values  # noqa: S608
        sets = ", ".join(f"{name} = {spot}" for name, spot in zip(names, places, strict=True))
        return f"UPDATE {table} SET {sets} WHERE {where(change.key)}", [*values, *parameters(change.key)]  # noqa: S608


def open_writable(path: Path, permitted: Collection[str] = ()) -> WritableFile:
    """A connection that may write; of triggers only those permitted fire.

    Raises:
        Refused: the file or its folder may not be written.
        DatabaseUnreachable: it is gone.
    """
    try:
        return WritableFile(path, permitted)
    except sqlite3.DatabaseError as error:
        if not path.exists():
            raise DatabaseUnreachable(f"{path} is gone") from error
        raise _refused(path, error) from error


def _refused(path: Path, error: sqlite3.DatabaseError) -> CkptError:
    if "locked" in str(error):
        return Refused(f"{path} is in use by another process; nothing was written", hint="try again")
    if "full" in str(error) or "I/O" in str(error):
        return Failed(f"can't write {path}: {error}; nothing was written")
    return _not_permitted(path, f": {error}")


def _constrained(relation: str, error: sqlite3.IntegrityError) -> Refused:
    if str(error).startswith("UNIQUE"):
        return Refused(f"a row of {relation} exists already; nothing was written")
    return Refused(f"the database takes no such row of {relation}: {error}; nothing was written")


def must_be_permitted(path: Path) -> None:
    """Check that this user may write a file, and beside it, where SQLite keeps its journal.

    Raises:
        Refused: the system says no.
    """
    own = os.access in os.supports_effective_ids
    if not all(os.access(place, os.W_OK, effective_ids=own) for place in (path, path.parent)):
        raise _not_permitted(path)


def _not_permitted(path: Path, why: str = "") -> Refused:
    return Refused(f"{path} can't be written{why}", hint="check the permissions of the file and its folder")
