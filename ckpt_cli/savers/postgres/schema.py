"""Reads the tables of a Postgres database from its catalogue, in one statement.

The tables are looked up along the search path, or in one Postgres schema. After that, their names include the schema.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ckpt_cli.errors import DatabaseUnreachable
from ckpt_cli.savers.faults import no_checkpoints, no_table
from ckpt_cli.savers.postgres.connection import Connection
from ckpt_cli.savers.sql.layout import CHECKPOINTS, MIGRATIONS, TABLES, Column, Layout, layout_of, missing_parts

NEWEST = 9
"""The number of the last known migration: ``task_path`` (checkpoint-postgres 3.2, ``base.py: MIGRATIONS``)."""
NEWEST_SHALLOW = 7
"""The last known migration of the shallow saver, which has its own numbers (``shallow.py: MIGRATIONS``)."""

_CATALOGUE = """
SELECT c.relname::text, n.nspname::text, a.attname::text, format_type(a.atttypid, NULL), NOT a.attnotnull,
    has_table_privilege(c.oid, 'SELECT'),
    coalesce(to_jsonb(d) ->> 'datlocprovider', 'c') || ' ' || coalesce(d.datcollate, ''),
    split_part(version(), ' on ', 1), c.relkind::text, a.atthasdef,
    coalesce(to_jsonb(a) ->> 'attgenerated', ''), a.attidentity::text
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_database d ON d.datname = current_database()
WHERE c.oid = ANY(ARRAY(SELECT to_regclass(name)::oid FROM unnest(%s::text[]) AS name))
ORDER BY c.relname, a.attnum
"""

_ELSEWHERE = """
SELECT n.nspname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = 'checkpoint_blobs' AND c.relkind IN ('r', 'p', 'v') ORDER BY 1
"""

_VISIBLE = """
SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND (n.nspname = %s OR %s = '' AND n.nspname = ANY(current_schemas(false)))
ORDER BY 1 LIMIT 30
"""

OTHERS = """
SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relkind IN ('r', 'p') AND c.relname <> ALL(%s) ORDER BY 1 LIMIT 30
"""

SIZE = "SELECT sum(pg_total_relation_size(name::regclass))::bigint FROM unnest(%s::text[]) AS name"

_TABLES = ("r", "p")
_KINDS = {"v": "a view", "m": "a materialized view", "f": "a foreign table"}
"""Phrases for people, by pg_class.relkind (Postgres 15, 53.11)."""

_HINTED_SCHEMAS = 5
_BY_BYTES = {"C", "POSIX", "C.UTF-8", "C.utf8"}


class Schema(NamedTuple):
    """A database's tables.

    Attributes:
        schema_names: the name of the Postgres schema that holds each table.
        by_bytes: whether text sorts by its bytes by default; an index then gives LangGraph's order.
        collation: the server's name for the default order of text.
        server: the server's name and version.
    """

    layout: Layout
    schema_names: Mapping[str, str]
    by_bytes: bool
    collation: str
    server: str

    def names(self) -> list[str]:
        """The names of the tables with their Postgres schema, for the server to look up."""
        return [f"{bare(self.schema_names[name])}.{name}" for name in TABLES]

    @property
    def generation(self) -> str:
        """The generation, as a phrase for people. Its letter is F, or G for a shallow saver's tables."""
        if self.layout.shallow:
            return "ShallowPostgresSaver: one checkpoint a namespace, no history"
        if self.layout.columns[CHECKPOINTS]["thread_id"].kind == "uuid":
            return "a LangGraph server's own tables (uuid columns)"
        if self.layout.task_paths:
            return "checkpoint-postgres 2.0.13 or newer (task_path)"
        return "checkpoint-postgres before 2.0.13, or LangGraph.js"


def detect(connection: Connection) -> Schema:
    """Detect the schema of an open database.

    Raises:
        DatabaseUnreachable: LangGraph's tables are missing, or views have their names; the hint says what exists.
    """
    own_schema = connection.address.schema
    prefix = f"{bare(own_schema)}." if own_schema else ""
    rows = list(connection.query(_CATALOGUE, [[f"{prefix}{name}" for name in (*TABLES, MIGRATIONS)]]))
    columns: dict[str, dict[str, Column]] = {}
    schema_names, readable = {}, set()
    for table, schema_name, column, kind, nullable, may_read, _, _, relkind, has_default, generated, identity in rows:
        if relkind not in _TABLES:
            raise no_table(connection.address.location, table, _KINDS.get(relkind, "something else"))
        own = Column(kind, nullable, bool(has_default or identity), bool(generated), always=identity == "a")
        columns.setdefault(table, {})[column] = own
        schema_names[table] = schema_name
        if may_read:
            readable.add(table)
    if missing := missing_parts(columns):
        raise _no_checkpoints(connection, missing)
    version = None
    if MIGRATIONS in readable:
        ((version,),) = connection.query(f"SELECT max(v) FROM {quoted(schema_names[MIGRATIONS])}.{MIGRATIONS}")  # noqa: S608
    provider, _, collation = rows[0][6].partition(" ")
    by_bytes = provider == "b" or (provider == "c" and collation in _BY_BYTES)
    return Schema(layout_of(columns, version), schema_names, by_bytes, collation, rows[0][7])


def _no_checkpoints(connection: Connection, missing: list[str]) -> DatabaseUnreachable:
    location = connection.address.location
    if CHECKPOINTS in missing or len(missing) > 1:
        maker = "PostgresSaver.setup()" if {*TABLES} <= {*missing} else ""
        return no_checkpoints(location, _hint_what_exists(connection), maker)
    return no_checkpoints(location, f"LangGraph's tables have a {missing[0]}, these don't")


def _hint_what_exists(connection: Connection) -> str:
    """A hint: the other Postgres schemas that have checkpoints; if there are none, the existing tables."""
    schemas = [name for (name,) in connection.query(_ELSEWHERE) if name != connection.address.schema]
    if schemas:
        from urllib.parse import quote

        named = ", ".join(f"?schema={quote(name, safe='')}" for name in schemas[:_HINTED_SCHEMAS])
        return f"another schema has some: {named}"
    tables = [name for (name,) in connection.query(_VISIBLE, [connection.address.schema, connection.address.schema])]
    return f"its tables: {', '.join(tables)}" if tables else "it has no tables"


def quoted(name: str) -> str:
    """A quoted name for a statement that takes parameters: each ``%`` is doubled."""
    return bare(name).replace("%", "%%")


def bare(name: str) -> str:
    """A quoted name for a statement without parameters, or for a parameter that the server reads as a name."""
    return '"' + name.replace('"', '""') + '"'
