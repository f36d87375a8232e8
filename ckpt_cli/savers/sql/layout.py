"""Which generation of LangGraph made the tables, from their columns; shallow ones; what is missing.

Sources: checkpoint-postgres 3.2, ``base.py: MIGRATIONS`` and ``shallow.py: MIGRATIONS``. LangGraph.js stops after the
fourth migration and has no ``task_path``. The shallow savers keep one checkpoint in a namespace; their tables have no
column for the checkpoint's id or for versions of blobs.
"""

from collections.abc import Mapping
from typing import NamedTuple

CHECKPOINTS, BLOBS, WRITES = "checkpoints", "checkpoint_blobs", "checkpoint_writes"
TABLES = (CHECKPOINTS, BLOBS, WRITES)
MIGRATIONS = "checkpoint_migrations"

_REQUIRED = {
    CHECKPOINTS: {"thread_id", "checkpoint_ns", "checkpoint", "metadata"},
    BLOBS: {"thread_id", "checkpoint_ns", "channel", "type", "blob"},
    WRITES: {"thread_id", "checkpoint_ns", "checkpoint_id", "task_id", "idx", "channel", "type", "blob"},
}


_ID_COLUMNS = ("thread_id", "checkpoint_ns", "checkpoint_ns_hash")

WRITTEN = {
    CHECKPOINTS: frozenset({*_ID_COLUMNS, "checkpoint_id", "parent_checkpoint_id", "type", "checkpoint", "metadata"}),
    BLOBS: frozenset({*_ID_COLUMNS, "channel", "version", "type", "blob"}),
    WRITES: frozenset({*_ID_COLUMNS, "checkpoint_id", "task_id", "task_path", "idx", "channel", "type", "blob"}),
}
"""LangGraph's own columns in all generations. Any other column was added by an application."""


class Column(NamedTuple):
    """A column, as the engine's catalogue describes it.

    Attributes:
        kind: the type's name in lower case, without its length.
        defaulted: whether the engine supplies a value (default, sequence or identity) if an INSERT has none.
        generated: whether the engine computes the column, so that nobody may write it.
        always: whether it is a ``GENERATED ALWAYS`` identity column: an ``INSERT`` can set its value only with
            ``OVERRIDING SYSTEM VALUE``.
    """

    kind: str
    nullable: bool = True
    defaulted: bool = False
    generated: bool = False
    always: bool = False


class Layout(NamedTuple):
    """The tables of one generation.

    Attributes:
        columns: the columns of each table, in their order.
        shallow: whether a shallow saver made the tables: one checkpoint a namespace, no ids, parents or blob versions.
        version: the number of the last migration; None if the table of migrations is empty or can't be read.
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


def missing_parts(columns: Mapping[str, Mapping[str, Column]]) -> list[str]:
    """LangGraph's tables and columns that a database doesn't have; a column is written as ``table.column``."""
    missing_tables = [table for table in TABLES if not columns.get(table)]
    existing_tables = (table for table in TABLES if table not in missing_tables)
    return missing_tables + [
        f"{table}.{name}" for table in existing_tables for name in sorted(_REQUIRED[table] - columns[table].keys())
    ]


def layout_of(columns: Mapping[str, Mapping[str, Column]], version: int | None) -> Layout:
    """The layout of tables that have no `missing_parts`."""
    return Layout(
        columns=columns,
        shallow="checkpoint_id" not in columns[CHECKPOINTS] or "version" not in columns[BLOBS],
        task_paths="task_path" in columns[WRITES],
        version=version,
    )
