"""The connection that writes: locks, triggers that may fire, file rights, Ctrl-C.

It is opened on an existing file for one transaction, and closed afterwards.
"""

import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

from ckpt_cli import ctrl_c, lock_waits
from ckpt_cli.errors import DatabaseUnreachable, Failed, Refused
from ckpt_cli.model import RowChange, Scalar
from ckpt_cli.savers.application_columns import assignments
from ckpt_cli.savers.sqlite.driver import ResultRow, RowsOf, Statement, connect, one_after_another
from ckpt_cli.savers.sqlite.faults import constraint_fault, permission_fault, reading_fault, writing_fault
from ckpt_cli.savers.sqlite.files import read_file_state
from ckpt_cli.savers.sqlite.images import Images, bound_values, placeholder, quoted, where
from ckpt_cli.savers.sqlite.triggers import Guard, fired_by

T = TypeVar("T")

_TIMEOUT = 5000  # milliseconds to wait while somebody else writes


class WritableConnection:
    """A connection for one write transaction on an existing file.

    Args:
        path: the file.
        permitted: the triggers that may fire.
    """

    def __init__(self, path: Path, permitted: Collection[str] = ()) -> None:
        self.file_state = read_file_state(path)  # read first: a later read would drop this process's locks
        self._open(path, connect(path, "mode=rw"))
        self._guard = Guard(permitted)

    _guard: "Guard | None" = None
    """Denies the writes of triggers that aren't permitted; None if all may fire, as for any application."""

    def _open(self, path: Path, driver: sqlite3.Connection) -> None:
        self.path = path
        self._driver = driver
        self._driver.execute(f"PRAGMA busy_timeout={_TIMEOUT}")
        self._images = Images(self.query)

    def query(self, sql: str, parameters: Sequence[object] = ()) -> Iterator[ResultRow]:
        """The rows of one statement, one at a time."""
        try:
            yield from self._driver.execute(sql, parameters)
        except sqlite3.DatabaseError as error:
            raise reading_fault(self.path, error) from error

    def beside(self, statements: Sequence[Statement]) -> AbstractContextManager[RowsOf]:
        """In the open transaction, each when its rows are asked for."""
        return one_after_another(self.query, statements)

    def fired_by(self, statement: str) -> set[str]:
        """The names of the triggers that a statement would fire."""
        return fired_by(self._driver, statement)

    def moment(self, read: Callable[[], T]) -> T:
        """Run `read`; the open transaction is its moment."""
        return read()

    def transaction(self, work: Callable[[], T]) -> T:
        """Run `work` while nobody else can write; commit if it returns, else roll back.

        Raises:
            Refused: another process keeps the file locked, or the file may not be written.
        """
        waiting = f"waiting for another process that writes {self.path}, up to {_TIMEOUT // 1000} s"
        try:
            with lock_waits.watched(lambda: waiting):
                self._driver.execute("BEGIN IMMEDIATE")
        except sqlite3.DatabaseError as error:
            raise writing_fault(self.path, error) from error
        try:
            with ctrl_c.on_ctrl_c(self._driver.interrupt):
                value = work()
                self._commit()
        finally:
            if self._driver.in_transaction:  # if the disk was full, SQLite has rolled back by itself
                self._driver.execute("ROLLBACK")
        return value

    def _commit(self) -> None:
        try:
            self._driver.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            raise writing_fault(self.path, error) from error

    def change(self, changes: Iterable[RowChange]) -> None:
        """Insert, update or delete each row, so that it equals its after-image.

        Raises:
            Refused: a row to add exists already, or a row to change or remove is gone.
            Failed: SQLite refused a statement; `transaction` rolls back.
        """
        self._driver.set_authorizer(self._guard)
        try:
            self._change(changes)
        finally:
            self._driver.set_authorizer(None)

    def _change(self, changes: Iterable[RowChange]) -> None:
        for change in changes:
            statement, values = self._statement(change)
            try:
                count = self._driver.execute(statement, values).rowcount
            except sqlite3.IntegrityError as error:
                raise constraint_fault(change.relation, error) from error
            except sqlite3.DatabaseError as error:
                if self._guard is not None and self._guard.denied:
                    raise self._guard.refusal() from error
                raise Failed(f"can't write {self.path}: {error}; nothing was written") from error
            if count > 1:
                raise Refused(f"{count} rows of {change.relation} have the same key; nothing was written")
            if count != 1:
                raise Refused(f"a row of {change.relation} is gone; nothing was written", hint="run the command again")

    def renew(self) -> None:
        """Do nothing: this connection sees what it writes."""

    def close(self) -> None:
        """Close the file; SQLite writes the WAL back into it if no other process has it open."""
        self._driver.close()

    def _statement(self, change: RowChange) -> tuple[str, list[Scalar]]:
        table = quoted(change.relation)
        if change.after is None:
            return f"DELETE FROM {table} WHERE {where(change.key)}", bound_values(change.key)  # noqa: S608 - known names
        self._images.columns(change.relation, change.after)
        row = change.after if change.before is None else assignments(change.before, change.after)
        names, values = [*map(quoted, row)], bound_values(row)
        placeholders = [placeholder(value) for value in row.values()]
        if change.before is None:
            return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join(placeholders)})", values  # noqa: S608
        sets = ", ".join(f"{name} = {place}" for name, place in zip(names, placeholders, strict=True))
        return f"UPDATE {table} SET {sets} WHERE {where(change.key)}", [*values, *bound_values(change.key)]  # noqa: S608


def open_writable(path: Path, permitted: Collection[str] = ()) -> WritableConnection:
    """A connection that may write; only the permitted triggers may fire.

    Raises:
        Refused: the file or its folder may not be written.
        DatabaseUnreachable: the file is gone.
    """
    try:
        return WritableConnection(path, permitted)
    except sqlite3.DatabaseError as error:
        if not path.exists():
            raise DatabaseUnreachable(f"{path} is gone") from error
        raise writing_fault(path, error) from error


def must_be_permitted(path: Path) -> None:
    """Check that this user may write a file and its folder, where SQLite keeps its journal.

    Raises:
        Refused: the permissions don't allow it.
    """
    own = os.access in os.supports_effective_ids
    if not all(os.access(place, os.W_OK, effective_ids=own) for place in (path, path.parent)):
        raise permission_fault(path)
