"""The one connection that writes: opened for one transaction on a file that exists, and closed after it."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from ckpt_cli.errors import DatabaseUnreachable, Failed, Refused
from ckpt_cli.model import Row as Columns
from ckpt_cli.model import RowChange, Scalar
from ckpt_cli.savers.sqlite.connect import Row, connect, explained
from ckpt_cli.savers.sqlite.files import Survey, survey

T = TypeVar("T")

_TIMEOUT = 5000  # milliseconds to wait while somebody else writes


class WritableFile:
    """An existing database file inside one write transaction; nothing is committed unless `work` returns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = connect(path, "mode=rw")
        self._connection.execute(f"PRAGMA busy_timeout={_TIMEOUT}")
        self._columns: dict[str, list[str]] = {}

    @property
    def seen(self) -> Survey:
        """The file as it stands."""
        return survey(self.path)

    def query(self, sql: str, words: Sequence[object] = ()) -> Iterator[Row]:
        """The rows of one statement, one at a time."""
        try:
            yield from self._connection.execute(sql, words)
        except sqlite3.DatabaseError as error:
            raise explained(self.path, error) from error

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
            value = work()
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        try:
            self._connection.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            self._connection.execute("ROLLBACK")
            raise Failed(f"can't write {self.path}: {error}; nothing was written") from error
        return value

    def current(self, relation: str, key: Columns) -> Columns | None:
        """All columns of the row of this key, None if there is none."""
        columns = self._known(relation, key)
        statement = f"SELECT {', '.join(map(_quoted, columns))} FROM {_quoted(relation)} WHERE {_where(key)}"  # noqa: S608
        row = next(self.query(statement, [_bound(value) for value in key.values()]), None)
        return None if row is None else dict(zip(columns, row, strict=True))

    def change(self, changes: Iterable[RowChange]) -> None:
        """Make every row what its after-image says.

        Raises:
            Refused: a row to add stands already, or one to change or remove is gone.
            Failed: the engine said no; the transaction is rolled back by `transaction`.
        """
        for change in changes:
            statement, words = self._statement(change)
            try:
                touched = self._connection.execute(statement, words).rowcount
            except sqlite3.IntegrityError as error:
                raise Refused(f"a row of {change.relation} exists already; nothing was written") from error
            except sqlite3.DatabaseError as error:
                raise Failed(f"can't write {self.path}: {error}; nothing was written") from error
            if touched != 1:
                raise Refused(f"a row of {change.relation} is gone; nothing was written", hint="run the command again")

    def renew(self) -> None:
        """It sees what it writes."""

    def close(self) -> None:
        """Let go of the file; SQLite puts its log back into it if nobody else has it open."""
        self._connection.close()

    def _statement(self, change: RowChange) -> tuple[str, list[Scalar]]:
        table, where = _quoted(change.relation), _where(change.key)
        keys = [_bound(value) for value in change.key.values()]
        if change.after is None:
            return f"DELETE FROM {table} WHERE {where}", keys  # noqa: S608 - known names, see _known
        self._known(change.relation, change.after)
        names, values = [*map(_quoted, change.after)], [_bound(value) for value in change.after.values()]
        places = [_place(value) for value in change.after.values()]
        if change.before is None:
            return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join(places)})", values  # noqa: S608
        sets = ", ".join(f"{name} = {place}" for name, place in zip(names, places, strict=True))
        return f"UPDATE {table} SET {sets} WHERE {where}", [*values, *keys]  # noqa: S608

    def _known(self, relation: str, columns: Iterable[str]) -> list[str]:
        """The columns of a table.

        Raises:
            Failed: an image names a table or a column that this database doesn't have (any more).
        """
        if relation not in self._columns:
            self._columns[relation] = [
                name for (name,) in self.query("SELECT name FROM pragma_table_info(?)", (relation,))
            ]
        known = self._columns[relation]
        if unknown := sorted(set(columns) - set(known)):
            raise Failed(f"table {relation!r} has no column {unknown[0]!r}; nothing was written")
        return known


def open_writable(path: Path) -> WritableFile:
    """A connection that may write.

    Raises:
        Refused: the file or its folder may not be written.
        DatabaseUnreachable: it is gone.
    """
    try:
        return WritableFile(path)
    except sqlite3.DatabaseError as error:
        if not path.exists():
            raise DatabaseUnreachable(f"{path} is gone") from error
        raise _refused(path, error) from error


def _refused(path: Path, error: sqlite3.DatabaseError) -> Refused:
    if "locked" in str(error):
        return Refused(f"{path} is being written by another process; nothing was written", hint="try again")
    return Refused(f"{path} can't be written: {error}", hint="check the permissions of the file and its folder")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _where(key: Columns) -> str:
    return " AND ".join(f"{_quoted(name)} = {_place(value)}" for name, value in key.items())


def _place(value: Scalar) -> str:
    return "CAST(? AS TEXT)" if isinstance(value, str) else "?"


def _bound(value: Scalar) -> Scalar:
    """Text that carries bytes that aren't UTF-8 goes in as those bytes; `_place` makes it text again."""
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
