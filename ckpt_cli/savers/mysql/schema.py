"""Reads from the server's catalogue the generation of LangGraph's tables and the collations of their text columns.

Sources: langgraph-checkpoint-mysql 3.0, ``base.py: MIGRATIONS`` (0 to 21) and ``shallow.py: MIGRATIONS`` (0 to 10). Up
to migration 14 there is no ``checkpoint_ns_hash``; from 15 to 18 MySQL computes it; from 19 on the saver writes it.
Migration 18 adds ``task_path``.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from ckpt_cli.savers.faults import no_checkpoints, no_table
from ckpt_cli.savers.sql.layout import CHECKPOINTS, MIGRATIONS, TABLES, Column, Layout, layout_of, missing_parts

NEWEST, NEWEST_SHALLOW = 21, 10
"""The numbers of the last known migrations."""

HASH = "checkpoint_ns_hash"

_COLUMNS = """
    SELECT table_name, column_name, data_type, is_nullable, collation_name, extra, column_default IS NOT NULL
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name IN (%s, %s, %s) ORDER BY table_name, ordinal_position
"""
_NAMES = """
    SELECT table_name, table_type, engine FROM information_schema.tables WHERE table_schema = DATABASE()
    ORDER BY table_name
"""
_TYPES = {"BASE TABLE": "", "SYSTEM VERSIONED": "", "VIEW": "a view", "SEQUENCE": "a sequence"}
_FOREIGN = frozenset({"FEDERATED", "CONNECT", "SPIDER"})
"""Storage engines whose rows are on another server (MariaDB 10.11, "Storage Engines")."""
_SIZE = """
    SELECT sum(data_length + index_length) FROM information_schema.tables
    WHERE table_schema = DATABASE() AND table_name IN (%s, %s, %s)
"""


class Query(Protocol):
    """Runs one statement."""

    def __call__(self, sql: str, parameters: Sequence[object] = ()) -> Iterator[tuple[object, ...]]:
        """The rows of the statement."""


class Schema(NamedTuple):
    """The tables of one database.

    Attributes:
        collations: the collation of each column, by table and column; "" if the column has none.
        computed: whether the server computes the hash of a namespace, so that nobody may write it.
        others: the tables that aren't LangGraph's.
    """

    layout: Layout
    collations: dict[tuple[str, str], str]
    computed: bool
    others: tuple[str, ...]

    @property
    def newest(self) -> int:
        """The number of the last known migration of this saver."""
        return NEWEST_SHALLOW if self.layout.shallow else NEWEST

    @property
    def is_newer(self) -> bool:
        """Whether the tables have had a migration that ckpt doesn't know."""
        return self.layout.version is not None and self.layout.version > self.newest

    @property
    def hashed(self) -> bool:
        """Whether namespaces are found by their hash."""
        return self.layout.has(CHECKPOINTS, HASH)

    @property
    def generation(self) -> str:
        """The generation, as a phrase for people."""
        version = "unknown" if self.layout.version is None else str(self.layout.version)
        kind = "ShallowMySQLSaver, one checkpoint a thread" if self.layout.shallow else "checkpoint-mysql"
        since = next(text for least, text in _SINCE if (self.layout.version or 0) >= least)
        return f"{kind}, schema {version}" + ("" if self.layout.shallow else f" ({since})")


_SINCE = (
    (22, "newer than 3.0"),
    (19, "task_path, namespaces by hash"),
    (18, "task_path, hash computed by the server"),
    (15, "hash computed by the server"),
    (12, "keys without namespace"),
    (0, "keys with namespace"),
)


def detect(location: str, query: Query) -> Schema:
    """Detect the schema of an open database.

    Raises:
        DatabaseUnreachable: this user can see none of LangGraph's tables; the hint names the visible tables.
    """
    kinds = {catalogue_text(name): _kind(table_type, engine) for name, table_type, engine in query(_NAMES)}
    for name in (*TABLES, MIGRATIONS):
        if kind_of_table := kinds.get(name):
            raise no_table(location, name, kind_of_table)
    columns: dict[str, dict[str, Column]] = {table: {} for table in TABLES}
    collations: dict[tuple[str, str], str] = {}
    computed = False
    for table, column, kind, nullable, collation, extra, has_default in query(_COLUMNS, TABLES):
        extras = catalogue_text(extra).upper()
        generated = extras.startswith(("VIRTUAL", "STORED", "PERSISTENT")) or " GENERATED" in extras
        defaulted = bool(has_default) or "AUTO_INCREMENT" in extras
        columns[str(table)][str(column)] = Column(catalogue_text(kind).lower(), nullable == "YES", defaulted, generated)
        collations[str(table), str(column)] = catalogue_text(collation)
        computed = computed or (column == HASH and generated)
    names = list(kinds)
    if missing_parts(columns):
        hint = f"its tables: {', '.join(names)}" if names else "it has no tables that this user may see"
        maker = "PyMySQLSaver.setup()" if not {*TABLES}.intersection(names) else ""
        raise no_checkpoints(location, hint, maker)
    version = _version(query) if MIGRATIONS in names else None
    others = tuple(name for name in names if name not in (*TABLES, MIGRATIONS))
    return Schema(layout_of(columns, version), collations, computed, others)


def size(query: Query) -> int | None:
    """The size in bytes of the tables and their indexes, as the server estimates it."""
    ((total,),) = query(_SIZE, TABLES)
    return None if total is None else int(str(total))


def _kind(table_type: object, engine: object) -> str:
    """A phrase for people: the kind of an entry of the catalogue; "" for an ordinary table."""
    is_foreign = catalogue_text(engine).upper() in _FOREIGN
    return (
        "a table of another server" if is_foreign else _TYPES.get(catalogue_text(table_type).upper(), "something else")
    )


def _version(query: Query) -> int | None:
    ((version,),) = query(f"SELECT max(v) FROM {MIGRATIONS}")  # noqa: S608 - constant
    return version if isinstance(version, int) else None


def catalogue_text(value: object) -> str:
    """A value of the catalogue as text: some versions of the server give bytes."""
    return value.decode() if isinstance(value, bytes) else str(value or "")
