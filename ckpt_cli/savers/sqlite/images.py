"""Images of rows: all columns as they are stored. Plans, the operation log and undo compare and restore them."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from ckpt_cli.errors import Failed
from ckpt_cli.model import Row, Scalar
from ckpt_cli.savers.sqlite.columns import bound
from ckpt_cli.savers.sqlite.driver import ResultRow


class Images:
    """Reads rows of any table by their key; the columns of a table are read once.

    Args:
        query: runs one statement on the open file.
    """

    def __init__(self, query: Callable[[str, Sequence[object]], Iterator[ResultRow]]) -> None:
        self._query = query
        self._columns: dict[str, list[str]] = {}

    def current(self, relation: str, key: Row) -> Row | None:
        """All columns of the row with this key; None if there is no such row."""
        columns = self.columns(relation, key)
        statement = f"SELECT {', '.join(map(quoted, columns))} FROM {quoted(relation)} WHERE {where(key)}"  # noqa: S608
        row = next(self._query(statement, bound_values(key)), None)
        return None if row is None else dict(zip(columns, row, strict=True))

    def columns(self, relation: str, named: Iterable[str]) -> list[str]:
        """The columns of a table; checks that the columns in `named` are among them.

        Raises:
            Failed: an image names a table or a column that this database doesn't have (any more).
        """
        if relation not in self._columns:
            rows = self._query("SELECT name FROM pragma_table_info(?)", (relation,))
            self._columns[relation] = [name for (name,) in rows]
        columns = self._columns[relation]
        if unknown := sorted(set(named) - set(columns)):
            raise Failed(f"table {relation!r} has no column {unknown[0]!r}; nothing was written")
        return columns


def quoted(name: str) -> str:
    """A table or column name in a statement."""
    return '"' + name.replace('"', '""') + '"'


def where(key: Row) -> str:
    """The condition that finds the row with a key."""
    same = ((name, "IS" if value is None else "=", placeholder(value)) for name, value in key.items())
    return " AND ".join(f"{quoted(name)} {sign} {place}" for name, sign, place in same)


def placeholder(value: Scalar) -> str:
    """The placeholder for a value. Text may be bound as bytes (`columns.bound`), so it is cast to text again."""
    return "CAST(? AS TEXT)" if isinstance(value, str) else "?"


def bound_values(row: Row) -> list[Scalar]:
    """The values for the placeholders of a row, in the order of its columns."""
    return [bound(value) if isinstance(value, str) else value for value in row.values()]
