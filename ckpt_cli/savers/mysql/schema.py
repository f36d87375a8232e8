"""What the server's catalogue says of LangGraph's tables: their generation, and how their text columns compare.

langgraph-checkpoint-mysql 3.0, ``base.py: MIGRATIONS`` (0 to 21) and ``shallow.py: MIGRATIONS`` (0 to 10): until 14
there is no ``checkpoint_ns_hash``, from 15 to 18 MySQL computes it, from 19 on the writer fills it; ``task_path`` comes
with 18.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from ckpt_cli.savers.faults import no_checkpoints, no_table
from ckpt_cli.savers.sql.layout import CHECKPOINTS, MIGRATIONS, TABLES, Column, Layout, layout_of, missing_parts

NEWEST, NEWEST_SHALLOW = 21, 10
"""The last migrations that are known here."""

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
"""Engines of tables that are elsewhere (MariaDB 10.11, "Storage Engines")."""
_SIZE = """
    SELECT sum(data_length + index_length) FROM information_schema.tables
    WHERE table_schema = DATABASE() AND table_name IN (%s, %s, %s)
"""


class Query(Protocol):
    """Runs one statement."""

    def __call__(self, sql: str, parameters: Sequence[object] = ()) -> Iterator[tuple[object, ...]]:
        """Its rows."""


class Schema(NamedTuple):
    """The tables of one database.

    Attributes:
        collations: of thread ids and the like; "" where the column has none.
        computed: whether the server itself computes the hash of a namespace, so that nobody may write it.
        others: what else is in the database.
    """

    layout: Layout
    collations: dict[tuple[str, str], str]
    computed: bool
    others: tuple[str, ...]

    @property
    def newest(self) -> int:
        """The last migration that is known of this kind of tables."""
        return NEWEST_SHALLOW if self.layout.shallow else NEWEST

    @property
    def is_newer(self) -> bool:
        """Whether a version made the tables that isn't known here."""
        return self.layout.version is not None and self.layout.version > self.newest

    @property
    def hashed(self) -> bool:
        """Whether namespaces are found by their hash."""
        return self.layout.has(CHECKPOINTS, HASH)

    @property
    def generation(self) -> str:
        """The generation, as a text for people."""
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
    """The tables of an open database.

    Raises:
        DatabaseUnreachable: they aren't LangGraph's, or no tables, or this user may not see them; the hint names what
            is there.
    """
    kinds = {_text(name): _what(kind, engine) for name, kind, engine in query(_NAMES)}
    for name in (*TABLES, MIGRATIONS):
        if what := kinds.get(name):
            raise no_table(location, name, what)
    columns: dict[str, dict[str, Column]] = {table: {} for table in TABLES}
    collations: dict[tuple[str, str], str] = {}
    computed = False
    for table, column, kind, nullable, collation, extra, has_default in query(_COLUMNS, TABLES):
        how = _text(extra).upper()
        generated = how.startswith(("VIRTUAL", "STORED", "PERSISTENT")) or " GENERATED" in how
        defaulted = bool(has_default) or "AUTO_INCREMENT" in how
        columns[str(table)][str(column)] = Column(_text(kind).lower(), nullable == "YES", defaulted, generated)
        collations[str(table), str(column)] = _text(collation)
        computed = computed or (column == HASH and generated)
    names = list(kinds)
    if missing_parts(columns):
        seen = f"its tables: {', '.join(names)}" if names else "it has no tables that this user may see"
        raise no_checkpoints(location, seen)
    version = _version(query) if MIGRATIONS in names else None
    others = tuple(name for name in names if name not in (*TABLES, MIGRATIONS))
    return Schema(layout_of(columns, version), collations, computed, others)


def size(query: Query) -> int | None:
    """Bytes of the tables and their indexes, as the server estimates them."""
    ((total,),) = query(_SIZE, TABLES)
    return None if total is None else int(str(total))


def _what(kind: object, engine: object) -> str:
    """What has a table's name and is none; "" for a table."""
    foreign = _text(engine).upper() in _FOREIGN
    return "a table of another server" if foreign else _TYPES.get(_text(kind).upper(), "something else")


def _version(query: Query) -> int | None:
    ((version,),) = query(f"SELECT max(v) FROM {MIGRATIONS}")  # noqa: S608 - constant
    return version if isinstance(version, int) else None


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value or "")
