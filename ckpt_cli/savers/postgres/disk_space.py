"""What Postgres takes on disk for LangGraph's tables, from its catalogues and statistics."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ckpt_cli.errors import Refused
from ckpt_cli.savers.measures import Advice, Figures, Space

if TYPE_CHECKING:
    from ckpt_cli.savers.postgres.connection import Connection

Query = Callable[..., Iterator[tuple[Any, ...]]]

AFTER_DELETE = (
    "the tables don't shrink after a delete: autovacuum makes the space free for new rows; `VACUUM FULL` (which locks "
    "the table) or pg_repack gives it back to the disk"
)

VACUUM_EFFECT = (
    "then VACUUM makes the space free for new rows at once, while agents go on; only `VACUUM FULL` (which locks the "
    "tables) or pg_repack gives it back to the disk"
)

_RELATIONS = """
SELECT c.relname::text, pg_table_size(c.oid), coalesce(s.n_dead_tup, 0), coalesce(s.n_live_tup, 0)
FROM unnest(%s::text[]) AS name JOIN pg_class c ON c.oid = name::regclass
LEFT JOIN pg_stat_all_tables s ON s.relid = c.oid ORDER BY 1
"""
_INDEXES = """
SELECT i.relname::text, pg_relation_size(i.oid), pg_get_indexdef(i.oid)
FROM unnest(%s::text[]) AS name JOIN pg_index x ON x.indrelid = name::regclass JOIN pg_class i ON i.oid = x.indexrelid
ORDER BY 1
"""
_SETTINGS = """
SELECT name, setting FROM pg_settings
WHERE name IN ('autovacuum', 'default_toast_compression', 'autovacuum_vacuum_scale_factor', 'server_version_num')
UNION ALL SELECT 'lz4', ('lz4' = ANY(enumvals))::text FROM pg_settings WHERE name = 'default_toast_compression'
"""


def disk_space(query: Query, names: Sequence[str]) -> Space:
    """The sizes of tables (with their large values) and of indexes; Postgres counts dead rows, not their bytes."""
    tables, settings = {}, {str(name): str(value) for name, value in query(_SETTINGS)}
    for name, size, dead, live in query(_RELATIONS, [[*names]]):
        tables[name] = int(size)
        settings |= {f"{name} dead": str(dead), f"{name} live": str(live)}
    indexes = {}
    for name, size, definition in query(_INDEXES, [[*names]]):
        tables[name], indexes[name] = int(size), str(definition)
    return Space(sum(tables.values()), None, AFTER_DELETE, tables, indexes, settings)


def vacuum(connection: "Connection", statement: str) -> str:
    """Run VACUUM, and say that it ran.

    Raises:
        Refused: this user doesn't own a table, or another session has it locked: then the server skips it (Postgres 15,
            "VACUUM").
    """
    notices: list[str] = []
    connection.driver.add_notice_handler(lambda one: notices.append(str(one.message_primary)))
    connection.run_alone(statement, {}, writing=True)
    if skipped := [one for one in notices if "skipping" in one]:
        raise Refused(f"not all tables were vacuumed: {'; '.join(skipped)}", hint=statement)
    return f"{statement} has run"


_MANY = 1_000_000  # rows from which a plan needs more than the key index
_LARGE = 20_000_000_000  # bytes from which a table is worth splitting


def advice(space: Space, figures: Figures, tables: Mapping[str, str], columns: Mapping[str, str]) -> Iterator[Advice]:
    """Vacuum settings, compression, indexes on metadata, partitions.

    Args:
        space: what `disk_space` gave.
        figures: how many records there are.
        tables: the name of each table as a statement needs it.
        columns: the types of the columns of checkpoints.
    """
    for table, name in tables.items():
        dead, live = (int(space.settings.get(f"{table} {kind}", 0)) for kind in ("dead", "live"))
        if dead > 10_000 and dead > live / 5:
            why = f"{table} has {dead:,} dead rows beside {live:,} live ones: vacuum it now, and more often"
            setting = f"ALTER TABLE {name} SET (autovacuum_vacuum_scale_factor = 0.05);"
            yield Advice(why, (f"VACUUM (ANALYZE) {name};", setting))
    values = space.tables.get("checkpoint_blobs", 0) + space.tables.get("checkpoint_writes", 0)
    is_slow = space.settings.get("default_toast_compression") == "pglz" and space.settings.get("lz4") == "true"
    if is_slow and values > 1_000_000_000:
        with_values = [name for table, name in tables.items() if table != "checkpoints"]
        commands = (f"ALTER TABLE {name} ALTER COLUMN blob SET COMPRESSION lz4;" for name in with_values)
        yield Advice("new values of over 2 kB compress faster, and are read faster, with lz4", (*commands,))
    yield from _of_checkpoints(space, figures, tables["checkpoints"], columns)


def _of_checkpoints(space: Space, figures: Figures, table: str, columns: Mapping[str, str]) -> Iterator[Advice]:
    """Indexes on metadata and ids, partitions; a shallow saver's table has no ids."""
    if figures.checkpoints > 10_000 and not any("metadata" in text for text in space.indexes.values()):
        why = "LangGraph's `list` with a filter on metadata reads every checkpoint; this index finds them"
        column = "metadata" if columns.get("metadata") == "jsonb" else "(metadata::jsonb)"
        command = f"CREATE INDEX CONCURRENTLY checkpoints_metadata ON {table} USING gin ({column} jsonb_path_ops);"
        yield Advice(why, (command,))
    if "checkpoint_id" not in columns:
        return
    if figures.checkpoints > _MANY and not any("(checkpoint_id" in text for text in space.indexes.values()):
        why = "questions about times (`--since`, deleting what is old) read every key; checkpoint ids sort by time"
        yield Advice(why, (f"CREATE INDEX CONCURRENTLY checkpoints_time ON {table} (checkpoint_id);",))
    if max(space.tables.values(), default=0) > _LARGE:
        why = "a table is over 20 GB: a partition by month (checkpoint ids sort by time) is dropped at once"
        command = f"CREATE TABLE {table}_new (LIKE {table} INCLUDING ALL) PARTITION BY RANGE (checkpoint_id);"
        yield Advice(why, ("-- on a new table, into which the rows are copied:", command))
