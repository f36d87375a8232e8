"""Threads and namespaces without visiting every checkpoint, though the server takes different ids for one.

MariaDB 10.11 and MySQL 8 skip from group to group of an index by ``GROUP BY`` ("Using index for group-by"); by a
recursive query, as Postgres does it, MariaDB scans the index once for every thread. A group is one id to the server.
Where that is more than one by its bytes, which one pass over the index of ids tells, its ids are listed one by one.
"""

# ruff: noqa: S608 - names of tables and columns stand in the text, values never

from collections.abc import Iterator, Sequence

from ckpt_cli.model import Scalar
from ckpt_cli.savers.mysql.engine import MySQLEngine, hashed
from ckpt_cli.savers.mysql.schema import HASH, Schema
from ckpt_cli.savers.sql.layout import CHECKPOINTS

_FIRST, _MOST = 1000, 100_000  # threads of a page; each page is sorted anew by the server

Head = tuple[str, str | None]
"""A thread id and the id of its root's head."""


class Listing:
    """What a database's key index tells."""

    def __init__(self, engine: MySQLEngine, schema: Schema) -> None:
        self._engine = engine
        self._schema = schema
        layout = schema.layout
        self._root = f"{HASH} = x'{hashed('').hex()}'" if schema.hashed else "checkpoint_ns = ''"
        self._own = engine.json_text("id") if layout.shallow else "checkpoint_id"
        self._exact = engine.ordered("thread_id")

    def heads(self, but: Sequence[str] = ()) -> Iterator[Head]:
        """Threads without a root first, then those with the highest head, but for the groups of some ids."""
        inner = f"SELECT {self._own} FROM checkpoints AS one WHERE one.thread_id = ids.thread_id AND one.{self._root}"
        only = f" WHERE thread_id NOT IN ({', '.join(['%s'] * len(but))})" if but else ""
        statement = (
            f"SELECT thread_id, head FROM (SELECT thread_id, ({inner} ORDER BY {self._own} DESC LIMIT 1) AS head"
            f" FROM (SELECT thread_id FROM checkpoints GROUP BY thread_id) AS ids{only}) AS heads"
            f" ORDER BY head IS NOT NULL, {self._engine.ordered('head')} DESC, {self._exact} LIMIT %s OFFSET %s"
        )
        size, at = _FIRST, 0
        while found := list(self._engine.query(statement, [*but, size, at])):
            yield from ((thread_id, head) for thread_id, head in found)
            if len(found) < size:
                return
            at, size = at + size, min(10 * size, _MOST)

    def mixed(self) -> list[str]:
        """One id of every group that has several by their bytes."""
        if not self._engine.folds(CHECKPOINTS, "thread_id"):
            return []
        differ = "min(crc32(thread_id)) <> max(crc32(thread_id))"
        return [
            i for (i,) in self._engine.query(f"SELECT thread_id FROM checkpoints GROUP BY thread_id HAVING {differ}")
        ]

    def apart(self, mixed: Sequence[str]) -> Iterator[Head]:
        """The threads of mixed groups, each by its own bytes."""
        if not mixed:
            return
        top = f"max(CASE WHEN {self._root} THEN {self._engine.ordered(self._own)} END)"
        where = f"thread_id IN ({', '.join(['%s'] * len(mixed))})"
        statement = f"SELECT {self._exact} AS id, {top} FROM checkpoints WHERE {where} GROUP BY id ORDER BY id"
        yield from ((thread_id, head) for thread_id, head in self._engine.query(statement, list(mixed)))

    def count(self) -> int:
        """How many threads there are."""
        groups = "SELECT count(*) FROM (SELECT thread_id FROM checkpoints GROUP BY thread_id) AS ids"
        ((number,),) = self._engine.query(groups)
        mixed = self.mixed()
        return int(number) - len(mixed) + sum(1 for _ in self.apart(mixed))

    def namespaces(self, thread_id: Scalar) -> Iterator[str]:
        """The namespaces of a thread, in any order."""
        here = self._engine.same(CHECKPOINTS, "thread_id")
        if not self._schema.hashed:
            names = f"SELECT DISTINCT {self._engine.ordered('checkpoint_ns')} FROM checkpoints WHERE {here}"
            yield from (ns for (ns,) in self._engine.query(names, [thread_id]))
            return
        name = self._engine.namespace(CHECKPOINTS)
        one = f"SELECT {name} FROM checkpoints AS one WHERE {here} AND one.{HASH} = hashes.{HASH} LIMIT 1"
        hashes = f"SELECT DISTINCT {HASH} FROM checkpoints WHERE thread_id = %s"
        found = self._engine.query(f"SELECT ({one}) AS ns FROM ({hashes}) AS hashes", [thread_id, thread_id])
        yield from (ns for (ns,) in found if ns is not None)
