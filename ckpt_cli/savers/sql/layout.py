"""Which generation of LangGraph made the tables, detected by their columns alone.

checkpoint-postgres 3.2 ``base.py: MIGRATIONS``, ``shallow.py: MIGRATIONS``; LangGraph.js stops after the fourth step
and has no ``task_path``. The shallow savers keep one checkpoint a namespace, without an id column and without versions.
"""

from collections.abc import Mapping
from typing import NamedTuple

CHECKPOINTS, BLOBS, WRITES = "checkpoints", "checkpoint_blobs", "checkpoint_writes"
TABLES = (CHECKPOINTS, BLOBS, WRITES)
MIGRATIONS = "checkpoint_migrations"

_NEEDED = {
    CHECKPOINTS: {"thread_id", "checkpoint_ns", "checkpoint", "metadata"},
    BLOBS: {"thread_id", "checkpoint_ns", "channel", "type", "blob"},
    WRITES: {"thread_id", "checkpoint_ns", "checkpoint_id", "task_id", "idx", "channel", "type", "blob"},
}


_NAMES = ("thread_id", "checkpoint_ns", "checkpoint_ns_hash")

WRITTEN = {
    CHECKPOINTS: frozenset({*_NAMES, "checkpoint_id", "parent_checkpoint_id", "type", "checkpoint", "metadata"}),
    BLOBS: frozenset({*_NAMES, "channel", "version", "type", "blob"}),
    WRITES: frozenset({*_NAMES, "checkpoint_id", "task_id", "task_path", "idx", "channel", "type", "blob"}),
}
"""LangGraph's own columns, of all generations; any other is an application's."""


class Column(NamedTuple):
    """A column as the engine's catalogue tells it.

    Attributes:
        kind: the type's name, lower case, without its length.
        defaulted: whether a row that doesn't name it gets a value: a default, a sequence, an identity.
        generated: whether the engine computes it, so that nobody may write it.
        always: whether it is an identity column that the engine numbers (``GENERATED ALWAYS``), and that takes another
            number only from an ``INSERT`` with ``OVERRIDING SYSTEM VALUE``.
    """

    kind: str
    nullable: bool = True
    defaulted: bool = False
    generated: bool = False
    always: bool = False


class Layout(NamedTuple):
    """The tables of one generation.

    Attributes:
        columns: table to columns, in their order.
        shallow: one checkpoint a namespace: no ids, no parents, no versions of blobs.
        version: the last migration that was made, None where the table of migrations is empty or unreadable.
    """

    columns: Mapping[str, Mapping[str, Column]]
    shallow: bool
    task_paths: bool
    version: int | None

    def has(self, relation: str, column: str) -> bool:
        """Whether a table has a column."""
        return column in self.columns[relation]

    def writable(self, relation: str) -> list[str]:
        """The columns of a table that aren't generated, in their order."""
        return [name for name, column in self.columns.get(relation, {}).items() if not column.generated]


def missing(columns: Mapping[str, Mapping[str, Column]]) -> list[str]:
    """What a database lacks to be one of checkpoints: tables, or columns as ``table.column``."""
    lost = [table for table in TABLES if not columns.get(table)]
    rest = (table for table in TABLES if table not in lost)
    return lost + [f"{table}.{name}" for table in rest for name in sorted(_NEEDED[table] - columns[table].keys())]


def layout_of(columns: Mapping[str, Mapping[str, Column]], version: int | None) -> Layout:
    """The layout of tables of which none is `missing`."""
    return Layout(
        columns=columns,
        shallow="checkpoint_id" not in columns[CHECKPOINTS] or "version" not in columns[BLOBS],
        task_paths="task_path" in columns[WRITES],
        version=version,
    )
