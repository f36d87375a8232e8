"""`ThreadStatements`: the SQL that lists threads with their heads."""

# ruff: noqa: S608 - statements contain names of tables and columns, never values

from functools import partial

from ckpt_cli.savers.sql.engine import Engine
from ckpt_cli.savers.sql.layout import CHECKPOINTS, WRITES, Layout

_IDS = """WITH RECURSIVE ids(id) AS (
    (SELECT thread_id FROM {table} ORDER BY thread_id LIMIT 1)
    UNION ALL
    SELECT (SELECT thread_id FROM {table} WHERE thread_id > ids.id ORDER BY thread_id LIMIT 1)
    FROM ids WHERE ids.id IS NOT NULL
)"""
"""Jumps from thread to thread in the key index."""

_GROUPED_IDS = "WITH ids AS (SELECT thread_id AS id FROM {table} GROUP BY thread_id)"
"""The same where the server does it for a GROUP BY, and ends a recursion after 1,000 steps (MariaDB without a word)."""

_HEAD = """(SELECT {what} FROM {table} WHERE {table}.thread_id = ids.id AND {in_root}
        ORDER BY {raw_id} DESC LIMIT 1)"""

_HEADS = """ SELECT {thread}, head{more} FROM (
    SELECT id, {head} AS head{fits} FROM ids WHERE id IS NOT NULL{once}
) AS heads {only}ORDER BY head IS NOT NULL, {by_head} DESC, {by_thread}"""
"""Threads without a root namespace come first; their head is NULL."""


class ThreadStatements:
    """Statements that jump from thread to thread and look at heads; the server sorts only ids."""

    def __init__(self, engine: Engine, layout: Layout) -> None:
        table = engine.table(CHECKPOINTS)
        raw_id = engine.json_text("id") if layout.shallow else "checkpoint_id"
        own_id = raw_id if layout.shallow else engine.select_expression(CHECKPOINTS, raw_id)
        ids = (_GROUPED_IDS if engine.skips_groups else _IDS).format(table=table)
        of_head = partial(_HEAD.format, table=table, raw_id=raw_id, in_root=engine.in_root(CHECKPOINTS))
        thread = engine.select_expression(CHECKPOINTS, "thread_id", "id")
        heads = partial(
            _HEADS.format,
            thread=thread,
            head=of_head(what=own_id),
            once=engine.subquery_end(),
            by_head=engine.byte_order("head"),
            by_thread=engine.byte_order(thread),
        )

        def threads_where(condition: str) -> str:
            fits = f", {of_head(what=condition)} AS fits"
            return ids + heads(fits=fits, more="", only="WHERE head IS NULL OR fits ")

        has_text, has_key = engine.metadata_equals(), engine.metadata_has_key()
        self.all = ids + heads(fits="", more="", only="")
        text = f", {of_head(what=engine.metadata_text())} AS found"
        self.with_text = ids + heads(fits=text, more=", found", only="")
        self.having = threads_where(has_text)
        self.having_key = threads_where(has_key)
        self.having_or_without = threads_where(f"({has_text}) OR NOT {has_key}")
        writes, of_writes = engine.table(WRITES), partial(engine.select_expression, WRITES)
        self._marked = heads(fits="", more="", only="WHERE head IS NULL OR EXISTS ({}) ")
        of_thread = f"{of_writes('thread_id')} = {engine.select_expression(CHECKPOINTS, 'thread_id', 'heads.id')}"
        on_head = f"{engine.in_root(WRITES)} AND {of_writes('checkpoint_id')} = heads.head"
        self._write_on_head = f"SELECT 1 FROM {writes} WHERE {of_thread} AND {on_head} AND "
        self._once = engine.subquery_end()  # without it, Postgres may read the whole table of writes
        self._ids, self._found = ids, of_head(what=engine.metadata_text())
        self.count = f"{ids} SELECT count(*) FROM ids WHERE id IS NOT NULL"

    def marked(self, condition: str) -> str:
        """The threads whose head has a write that meets a condition; the key index of writes finds those of a head."""
        return self._ids + self._marked.format(self._write_on_head + condition + self._once)

    def by_metadata(self, keys: int) -> str:
        """So many texts in the metadata of heads, and the number of heads with these texts; a parameter for each."""
        columns = [f"found_{number}" for number in range(keys)]
        texts = ", ".join(f"{self._found} AS {column}" for column in columns)
        heads = f"(SELECT {texts} FROM ids WHERE id IS NOT NULL) AS heads"
        return f"{self._ids} SELECT {', '.join(columns)}, count(*) FROM {heads} GROUP BY {', '.join(columns)}"
