"""Whole physical rows, every column as it is stored: what plans, the operation log and undo compare and swap."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from ckpt_cli.errors import Failed
from ckpt_cli.model import Row, Scalar
from ckpt_cli.savers.sqlite.columns import bound
from ckpt_cli.savers.sqlite.driver import ResultRow


class Images:
    """Rows of any table by their key; a table's columns are asked once.

    Args:
        query: runs one statement on the open file.
    """

    def __init__(self, query: Callable[[str, Sequence[object]], Iterator[ResultRow]]) -> None:
        self._query = query
        self._columns: dict[str, list[str]] = {}

    def current(self, relation: str, key: Row) -> Row | None:
        """All columns of the row of this key, None if there is none."""
        columns = self.columns(relation, key)
        statement = f"SELECT {', '.join(map(quoted, columns))} FROM {quoted(relation)} WHERE {where(key)}"  # noqa: S608
        row = next(self._query(statement, parameters(key)), None)
        return None if row is None else dict(zip(columns, row, strict=True))

    def columns(self, relation: str, named: Iterable[str]) -> list[str]:
        """The columns of a table, which has all of those named.

        Raises:
            Failed: an image names a table or a column that this database doesn't have (any more).
        """
        if relation not in self._columns:
            found = self._query("SELECT name FROM pragma_table_info(?)", (relation,))
            self._columns[relation] = [name for (name,) in found]
        known = self._columns[relation]
        if unknown := sorted(set(named) - set(known)):
            raise Failed(f"table {relation!r} has no column {unknown[0]!r}; nothing was written")
        return known


def quoted(name: str) -> str:
    """A table or column name in a statement."""
    return '"' + name.replace('"', '""') + '"'


def where(key: Row) -> str:
    """The condition that finds a row."""
    same = ((name, "IS" if value is None else "=", place(value)) for name, value in key.items())
    return " AND ".join(f"{quoted(name)} {sign} {spot}" for name, sign, spot in same)


def place(value: Scalar) -> str:
    """Where a value goes; text that carries bytes that are no UTF-8 comes as bytes and is made text again."""
    return "CAST(? AS TEXT)" if isinstance(value, str) else "?"


def parameters(row: Row) -> list[Scalar]:
    """The values for the places of a row, in its order."""
    return [bound(value) if isinstance(value, str) else value for value in row.values()]
