"""Lists and counts threads and namespaces by skipping through the index, not reading every checkpoint.

With ``GROUP BY``, MariaDB 10.11 and MySQL 8 skip from group to group of an index ("Using index for group-by"); with a
recursive query, as for Postgres, MariaDB would scan the index once for every thread. A group contains ids that the
server treats as equal. One pass over the index finds the groups with several ids; their ids are listed one by one.
"""

# ruff: noqa: S608 - statements contain names of tables and columns, never values

from collections.abc import Iterator, Sequence

from ckpt_cli.model import Scalar
from ckpt_cli.savers.mysql.engine import MySQLEngine
from ckpt_cli.savers.mysql.schema import HASH, Schema
from ckpt_cli.savers.sql.layout import CHECKPOINTS

_FIRST_PAGE, _LARGEST_PAGE = 1000, 100_000  # threads in a page; the server sorts all threads again for each page

Head = tuple[str, str | None]
"""A thread id, and the id of the newest checkpoint in its root namespace."""


class Listing:
    """The threads and namespaces in a database's key index."""

    def __init__(self, engine: MySQLEngine, schema: Schema) -> None:
        self._engine = engine
        self._schema = schema
        layout = schema.layout
        self._in_root = engine.in_root(CHECKPOINTS)
        self._id = engine.json_text("id") if layout.shallow else "checkpoint_id"
        self._exact = engine.byte_order("thread_id")

    def heads(self, except_for: Sequence[str] = ()) -> Iterator[Head]:
        """Threads without a root namespace, then the others, highest head first; without the groups of `except_for`."""
        inner = f"SELECT {self._id} FROM checkpoints AS one WHERE one.thread_id = ids.thread_id AND one.{self._in_root}"
        only = f" WHERE thread_id NOT IN ({', '.join(['%s'] * len(except_for))})" if except_for else ""
        statement = (
            f"SELECT thread_id, head FROM (SELECT thread_id, ({inner} ORDER BY {self._id} DESC LIMIT 1) AS head"
            f" FROM (SELECT thread_id FROM checkpoints GROUP BY thread_id) AS ids{only}) AS heads"
            f" ORDER BY head IS NOT NULL, {self._engine.byte_order('head')} DESC, {self._exact} LIMIT %s OFFSET %s"
        )
        size, start = _FIRST_PAGE, 0
        while rows := list(self._engine.query(statement, [*except_for, size, start])):
            yield from ((thread_id, head) for thread_id, head in rows)
            if len(rows) < size:
                return
            start, size = start + size, min(10 * size, _LARGEST_PAGE)

    def equal_ids(self) -> list[str]:
        """One id from each group of different ids that the server treats as equal."""
        if not self._engine.equates_texts(CHECKPOINTS, "thread_id"):
            return []
        differ = "min(crc32(thread_id)) <> max(crc32(thread_id))"
        statement = f"SELECT thread_id FROM checkpoints GROUP BY thread_id HAVING {differ}"
        return [thread_id for (thread_id,) in self._engine.query(statement)]

    def heads_by_bytes(self, equal_ids: Sequence[str]) -> Iterator[Head]:
        """The threads in the groups of these ids. Ids are compared by their bytes, so each different id is a thread."""
        if not equal_ids:
            return
        top = f"max(CASE WHEN {self._in_root} THEN {self._engine.byte_order(self._id)} END)"
        where = f"thread_id IN ({', '.join(['%s'] * len(equal_ids))})"
        statement = f"SELECT {self._exact} AS id, {top} FROM checkpoints WHERE {where} GROUP BY id ORDER BY id"
        yield from ((thread_id, head) for thread_id, head in self._engine.query(statement, list(equal_ids)))

    def count(self, equal_ids: Sequence[str]) -> int:
        """The number of threads, given one id from each group of equal ids."""
        groups = "SELECT count(*) FROM (SELECT thread_id FROM checkpoints GROUP BY thread_id) AS ids"
        ((number,),) = self._engine.query(groups)
        return int(number) - len(equal_ids) + sum(1 for _ in self.heads_by_bytes(equal_ids))

    def namespaces(self, thread_id: Scalar) -> Iterator[str]:
        """The namespaces of a thread, in any order."""
        of_thread = self._engine.equals(CHECKPOINTS, "thread_id")
        if not self._schema.hashed:
            names = f"SELECT DISTINCT {self._engine.byte_order('checkpoint_ns')} FROM checkpoints WHERE {of_thread}"
            yield from (ns for (ns,) in self._engine.query(names, [thread_id]))
            return
        name = self._engine.namespace(CHECKPOINTS)
        one = f"SELECT {name} FROM checkpoints AS one WHERE {of_thread} AND one.{HASH} = hashes.{HASH} LIMIT 1"
        hashes = f"SELECT DISTINCT {HASH} FROM checkpoints WHERE thread_id = %s"
        rows = self._engine.query(f"SELECT ({one}) AS ns FROM ({hashes}) AS hashes", [thread_id, thread_id])
        yield from (ns for (ns,) in rows if ns is not None)
