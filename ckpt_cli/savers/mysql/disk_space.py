"""What MySQL takes on disk for LangGraph's tables, from its catalogue; the figures are those of its last statistics."""

from collections.abc import Callable, Iterator
from typing import Any

from ckpt_cli.savers.measures import Space
from ckpt_cli.savers.mysql.schema import catalogue_text
from ckpt_cli.savers.sql.layout import TABLES

Query = Callable[..., Iterator[tuple[Any, ...]]]

AFTER_DELETE = (
    "the tables don't shrink after a delete: new rows take the space; `OPTIMIZE TABLE` copies a table without it, and "
    "needs the table's size once more on the disk while it runs"
)
_SIZES = """
SELECT table_name, data_length, index_length, data_free FROM information_schema.tables
WHERE table_schema = database() AND table_name IN (%s, %s, %s) ORDER BY table_name
"""


def disk_space(query: Query) -> Space:
    """The sizes of tables and of their indexes, and the free space in the tables' files."""
    tables: dict[str, int] = {}
    unused = 0
    for raw, data, indexes, free in query(_SIZES, [*TABLES]):
        name = catalogue_text(raw)
        tables |= {name: int(data), f"{name} indexes": int(indexes)}
        unused += int(free)
    return Space(sum(tables.values()), unused, AFTER_DELETE, tables)
