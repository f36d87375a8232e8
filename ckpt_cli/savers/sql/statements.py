"""The SQL of every read of checkpoints, writes and blobs, made once from an engine's expressions.

A statement that ends in ``WHERE`` needs a condition from `Engine.among`. Only `BlobStatements.contents`,
`CheckpointStatements.headers` and `joined`, `WriteStatements.some` and `named` fetch values.
"""

# ruff: noqa: S608 - statements contain names of tables and columns, never values

from ckpt_cli.savers.sql.engine import Engine
from ckpt_cli.savers.sql.layout import BLOBS, CHECKPOINTS, WRITES, Layout

_SPACES = """WITH RECURSIVE spaces(ns) AS (
    (SELECT checkpoint_ns FROM {table} WHERE {here} ORDER BY checkpoint_ns LIMIT 1)
    UNION ALL
    SELECT (SELECT checkpoint_ns FROM {table} WHERE {here} AND checkpoint_ns > spaces.ns ORDER BY checkpoint_ns LIMIT 1)
    FROM spaces WHERE spaces.ns IS NOT NULL
)
SELECT ns FROM spaces WHERE ns IS NOT NULL"""


SIZES_END = " GROUP BY 1"


class CheckpointStatements:
    """Statements about checkpoints."""

    def __init__(self, engine: Engine, layout: Layout) -> None:
        def as_read(column: str, expression: str = "") -> str:
            return engine.select_expression(CHECKPOINTS, column, expression)

        table, here = engine.table(CHECKPOINTS), engine.equals(CHECKPOINTS, "thread_id")
        raw_id = engine.json_text("id") if layout.shallow else "checkpoint_id"
        own_id = raw_id if layout.shallow else as_read("checkpoint_id")
        parent = as_read("parent_checkpoint_id") if layout.has(CHECKPOINTS, "parent_checkpoint_id") else "NULL"
        thread, ns = as_read("thread_id"), engine.namespace(CHECKPOINTS)
        place = f"{thread}, {ns}, {own_id}"
        lowest_and_highest = f"min({engine.byte_order(own_id)}), max({engine.byte_order(own_id)})"
        self.highest_ids = f"SELECT {thread}, {ns}, max({engine.byte_order(own_id)}) FROM {table} WHERE "
        self.highest_ids_end = f" GROUP BY thread_id, {engine.namespace_columns()}"
        length = engine.json_length(engine.quoted("checkpoint"))
        self.sizes = f"SELECT {engine.byte_order(thread)}, sum({length}) FROM {table} WHERE "
        self.totals = f"SELECT count(*), {lowest_and_highest} FROM {table}"
        self.count = f"SELECT count(*) FROM {table} WHERE {here}"
        self.namespaces = _SPACES.format(table=table, here=here)
        self.in_ns = f" AND {engine.equals(CHECKPOINTS, 'checkpoint_ns')}"
        self.rows = f"SELECT {ns}, {own_id}, {parent} FROM {table} WHERE {here}"
        self.rows_end = f" ORDER BY {engine.byte_order(ns)}, {engine.byte_order(own_id)}"
        self.rows_of_end = (
            f" ORDER BY {engine.byte_order(thread)}, {engine.byte_order(ns)}, {engine.byte_order(own_id)}"
        )
        self.newest = (
            f"SELECT {ns}, {own_id}, {parent} FROM {table} WHERE {here}{self.in_ns} ORDER BY {raw_id} DESC LIMIT %s"
        )
        self.parents = f"SELECT {place}, {parent} FROM {table} WHERE "
        halves = (f"(SELECT {place} FROM {table} ORDER BY thread_id{down} LIMIT %s)" for down in ("", " DESC"))
        self.sample = " UNION ALL ".join(halves)
        self.metadata = f"SELECT {place}, {as_read('metadata')} FROM {table} WHERE "
        self.select = f"SELECT {place} FROM {table}"
        self.select_id = f"{raw_id} = %s" if layout.shallow else engine.equals(CHECKPOINTS, "checkpoint_id")
        self.select_before = f"{raw_id} < %s"
        self.select_end = f" ORDER BY {raw_id} DESC"
        self.having = f"SELECT DISTINCT {thread} FROM {table} WHERE {engine.metadata_equals()}"
        header = f"SELECT {place}, {parent}, {as_read('checkpoint')}, {as_read('metadata')}"
        self.headers, blobs = f"{header} FROM {table} WHERE ", engine.joined_blobs()
        self.joined = blobs and f"{header}, {blobs} FROM {table} WHERE "
        self.versions = f"SELECT {place}, {engine.channel_versions()} FROM {table} WHERE "
        self.measured = f"SELECT {place}, {engine.channel_versions()}, {length} FROM {table} WHERE "
        self.key = ("thread_id", "checkpoint_ns") if layout.shallow else ("thread_id", "checkpoint_ns", "checkpoint_id")


class WriteStatements:
    """Statements about writes."""

    def __init__(self, engine: Engine, layout: Layout) -> None:
        def as_read(column: str) -> str:
            return engine.select_expression(WRITES, column)

        size, ns, own = (
            engine.byte_length(engine.quoted("blob")),
            engine.namespace(WRITES),
            as_read("checkpoint_id"),
        )
        path = as_read("task_path") if layout.task_paths else "''"
        value = f"CASE WHEN {size} <= %s THEN {engine.quoted('blob')} END"
        content = f"{as_read('channel')}, {as_read('type')}, {size}, {value}"
        columns = f"{ns}, {own}, {path}, {as_read('task_id')}, idx, {content}"
        order = [
            engine.byte_order(column)
            for column in (ns, own, *([path] if layout.task_paths else []), as_read("task_id"))
        ]
        self.named = f"SELECT {as_read('thread_id')}, {columns} FROM {engine.table(WRITES)} WHERE "
        begins = engine.begins(as_read("channel"))
        skip = f"NOT coalesce({path} = %s AND {begins}, false) AND " if begins else ""
        self.skips = bool(skip)
        self.lone = (
            f"SELECT {as_read('thread_id')}, {ns}, {own}, {path}, {content} FROM {engine.table(WRITES)} WHERE {skip}"
        )
        self.some = f"SELECT {columns} FROM {engine.table(WRITES)} WHERE {engine.equals(WRITES, 'thread_id')}"
        self.in_ns = f" AND {engine.equals(WRITES, 'checkpoint_ns')}"
        self.end = f" ORDER BY {', '.join(order)}, idx"
        self.end_of = f" ORDER BY {', '.join([engine.byte_order(as_read('thread_id')), *order])}, idx"
        self.total = f"SELECT count(*) FROM {engine.table(WRITES)}"


class BlobStatements:
    """Statements about blobs; in a shallow layout every blob has the version ""."""

    def __init__(self, engine: Engine, layout: Layout) -> None:
        def as_read(column: str) -> str:
            return engine.select_expression(BLOBS, column)

        blob, table = engine.quoted("blob"), engine.table(BLOBS)
        version = "''" if layout.shallow else as_read("version")
        name = f"{as_read('thread_id')}, {engine.namespace(BLOBS)}, {as_read('channel')}, {version}"
        self.key = ("thread_id", "checkpoint_ns", "channel") + (() if layout.shallow else ("version",))
        self.thread_sizes = (
            f"SELECT {engine.byte_order(as_read('thread_id'))}, sum({engine.byte_length(blob)}) FROM {table} WHERE "
        )
        self.sizes = f"SELECT {name}, {engine.byte_length(blob)} FROM {table} WHERE "
        self.contents = f"SELECT {name}, {as_read('type')}, {blob} FROM {table} WHERE "
        self.digests = f"SELECT {name}, {as_read('type')}, {engine.digest(blob)} FROM {table} WHERE "
        self.names = f"SELECT {name} FROM {table} WHERE "
