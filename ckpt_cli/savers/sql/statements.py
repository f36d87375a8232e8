"""Every statement that reads, put together once from an engine's expressions for a layout.

Those that end in ``WHERE`` want a condition, of `Engine.among`. Only `OfBlobs.contents`, `OfCheckpoints.headers` and
`OfWrites.some` fetch values.
"""

# ruff: noqa: S608 - names of tables and columns stand in the text, values never

from ckpt_cli.savers.sql.engine import Engine
from ckpt_cli.savers.sql.layout import BLOBS, CHECKPOINTS, WRITES, Layout

_IDS = """WITH RECURSIVE ids(id) AS (
    (SELECT thread_id FROM {table} ORDER BY thread_id LIMIT 1)
    UNION ALL
    SELECT (SELECT thread_id FROM {table} WHERE thread_id > ids.id ORDER BY thread_id LIMIT 1)
    FROM ids WHERE ids.id IS NOT NULL
)"""
"""Skips from thread to thread in the key index."""

_HEADS = """ SELECT {thread}, head FROM (
    SELECT id, (SELECT {id} FROM {table} WHERE {table}.thread_id = ids.id AND checkpoint_ns = ''
                ORDER BY {raw_id} DESC LIMIT 1) AS head
    FROM ids WHERE id IS NOT NULL{once}
) AS heads ORDER BY head IS NOT NULL, {by_head} DESC, {by_thread}"""
"""Threads without a root namespace come first, with NULL."""

_SPACES = """WITH RECURSIVE spaces(ns) AS (
    (SELECT checkpoint_ns FROM {table} WHERE {here} ORDER BY checkpoint_ns LIMIT 1)
    UNION ALL
    SELECT (SELECT checkpoint_ns FROM {table} WHERE {here} AND checkpoint_ns > spaces.ns ORDER BY checkpoint_ns LIMIT 1)
    FROM spaces WHERE spaces.ns IS NOT NULL
)
SELECT ns FROM spaces WHERE ns IS NOT NULL"""


class OfCheckpoints:
    """Statements about checkpoints."""

    def __init__(self, engine: Engine, layout: Layout) -> None:
        def shown(column: str, expression: str = "") -> str:
            return engine.shown(CHECKPOINTS, column, expression)

        table, here = engine.table(CHECKPOINTS), engine.same(CHECKPOINTS, "thread_id")
        raw_id = engine.json_text("id") if layout.shallow else "checkpoint_id"
        own = raw_id if layout.shallow else shown("checkpoint_id")
        parent = shown("parent_checkpoint_id") if layout.has(CHECKPOINTS, "parent_checkpoint_id") else "NULL"
        thread, ns = shown("thread_id"), engine.namespace(CHECKPOINTS)
        ids, place = _IDS.format(table=table), f"{thread}, {ns}, {own}"
        heads = _HEADS.format(
            thread=shown("thread_id", "id"),
            id=own,
            raw_id=raw_id,
            once=engine.once(),
            table=table,
            by_head=engine.ordered("head"),
            by_thread=engine.ordered(shown("thread_id", "id")),
        )
        edges = f"min({engine.ordered(own)}), max({engine.ordered(own)})"
        self.threads = ids + heads
        self.count_threads = f"{ids} SELECT count(*) FROM ids WHERE id IS NOT NULL"
        self.tops = f"SELECT {thread}, {ns}, max({engine.ordered(own)}) FROM {table} WHERE "
        self.tops_end = f" GROUP BY thread_id, {engine.namespace_columns()}"
        self.totals = f"SELECT count(*), {edges} FROM {table}"
        self.count = f"SELECT count(*) FROM {table} WHERE {here}"
        self.namespaces = _SPACES.format(table=table, here=here)
        self.in_ns = f" AND {engine.same(CHECKPOINTS, 'checkpoint_ns')}"
        self.rows = f"SELECT {ns}, {own}, {parent} FROM {table} WHERE {here}"
        self.rows_end = f" ORDER BY {engine.ordered(ns)}, {engine.ordered(own)}"
        self.rows_of_end = f" ORDER BY {engine.ordered(thread)}, {engine.ordered(ns)}, {engine.ordered(own)}"
        self.newest = f"SELECT {own}, {parent} FROM {table} WHERE {here}{self.in_ns} ORDER BY {raw_id} DESC LIMIT %s"
        self.parents = f"SELECT {place}, {parent} FROM {table} WHERE "
        ends = (f"(SELECT {place} FROM {table} ORDER BY thread_id{down} LIMIT %s)" for down in ("", " DESC"))
        self.sample = " UNION ALL ".join(ends)
        self.metadata = f"SELECT {place}, {shown('metadata')} FROM {table} WHERE "
        self.having = f"SELECT DISTINCT {thread} FROM {table} WHERE {engine.member_is()}"
        self.headers = f"SELECT {place}, {parent}, {shown('checkpoint')}, {shown('metadata')} FROM {table} WHERE "
        self.versions = f"SELECT {place}, {engine.versions()} FROM {table} WHERE "
        self.key = ("thread_id", "checkpoint_ns") if layout.shallow else ("thread_id", "checkpoint_ns", "checkpoint_id")


class OfWrites:
    """Statements about writes."""

    def __init__(self, engine: Engine, layout: Layout) -> None:
        def shown(column: str) -> str:
            return engine.shown(WRITES, column)

        size, ns, own = engine.octets(engine.quoted("blob")), engine.namespace(WRITES), shown("checkpoint_id")
        path = shown("task_path") if layout.task_paths else "''"
        value = f"CASE WHEN {size} <= %s THEN {engine.quoted('blob')} END"
        columns = f"{ns}, {own}, {path}, {shown('task_id')}, idx, {shown('channel')}, {shown('type')}, {size}, {value}"
        order = [
            engine.ordered(column) for column in (ns, own, *([path] if layout.task_paths else []), shown("task_id"))
        ]
        self.named = f"SELECT {shown('thread_id')}, {columns} FROM {engine.table(WRITES)} WHERE "
        self.some = f"SELECT {columns} FROM {engine.table(WRITES)} WHERE {engine.same(WRITES, 'thread_id')}"
        self.in_ns = f" AND {engine.same(WRITES, 'checkpoint_ns')}"
        self.end = f" ORDER BY {', '.join(order)}, idx"
        self.end_of = f" ORDER BY {', '.join([engine.ordered(shown('thread_id')), *order])}, idx"
        self.total = f"SELECT count(*) FROM {engine.table(WRITES)}"


class OfBlobs:
    """Statements about blobs; a shallow layout's have the version "" for all."""

    def __init__(self, engine: Engine, layout: Layout) -> None:
        def shown(column: str) -> str:
            return engine.shown(BLOBS, column)

        blob, table = engine.quoted("blob"), engine.table(BLOBS)
        version = "''" if layout.shallow else shown("version")
        name = f"{shown('thread_id')}, {engine.namespace(BLOBS)}, {shown('channel')}, {version}"
        self.key = ("thread_id", "checkpoint_ns", "channel") + (() if layout.shallow else ("version",))
        self.sizes = f"SELECT {name}, {engine.octets(blob)} FROM {table} WHERE "
        self.contents = f"SELECT {name}, {shown('type')}, {blob} FROM {table} WHERE "
        self.digests = f"SELECT {name}, {shown('type')}, {engine.digest(blob)} FROM {table} WHERE "
        self.names = f"SELECT {name} FROM {table} WHERE "
