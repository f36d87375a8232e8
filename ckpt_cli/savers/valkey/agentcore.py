"""`AgentCoreSaver`: reads databases of AgentCoreValkeySaver; never writes them.

AgentCoreValkeySaver is a saver of langgraph-checkpoint-aws.
"""

from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice
from typing import ClassVar

from ckpt_cli.model import CheckpointRow, Ref, Thread
from ckpt_cli.savers.about import Ability, About, RecordFormat, Totals
from ckpt_cli.savers.in_memory_rows import ReadOnlySaver
from ckpt_cli.savers.paging import pages
from ckpt_cli.savers.redis.connection import Connection
from ckpt_cli.savers.redis.server import threads_with_heads
from ckpt_cli.savers.selection import FilterKind
from ckpt_cli.savers.valkey.agentcore_reading import AgentCoreReader
from ckpt_cli.savers.valkey.base import ScannedSaver


class AgentCoreSaver(ReadOnlySaver, ScannedSaver):
    """A database of sessions, each of which belongs to one actor."""

    name: ClassVar[str] = "valkey"
    expiring: ClassVar[str] = "AgentCoreValkeySaver.from_conn_string(url, ttl_seconds=2592000)"
    form = RecordFormat(metadata="msgpack", filter=FilterKind.PRESENT)
    abilities = frozenset({Ability.BRANCHES, Ability.TASK_PATHS})
    why_not = "its writes have no places of their own, so that none could be replaced or taken back"

    def __init__(self, connection: Connection) -> None:
        self._sessions = AgentCoreReader(connection)
        super().__init__(connection, "", self._sessions)

    def _refs(self, thread_ids: Collection[str], ns: str | None = None) -> Iterator[Ref]:
        return self._sessions.refs(thread_ids, ns)

    def about(self) -> About:
        """Facts about the server, the scan of its keys, and the names of threads."""
        server = f"{self._connection.version}{', cluster' if self._connection.is_cluster else ''}"
        facts = {
            "server": server,
            **self._connection.user,
            "index": "none: each command scans the database's keys",
            "thread ids": "as stored; actor_id/thread_id where several actors have the same one",
            "places of writes": "counted by task: they aren't stored",
        }
        location = self._connection.address.location
        return About("AgentCore on Valkey", location, "checkpoint-aws (AgentCoreValkeySaver)", "agentcore", facts)

    def totals(self) -> Totals:
        """Count the keys, and add up the lengths of the lists of writes."""
        refs = [*self._sessions.refs()]
        ids = [ref.checkpoint_id for ref in refs]
        writes, threads = self._sessions.count_writes(refs), len(self._sessions.threads)
        return Totals(threads, len(ids), writes, min(ids, default=None), max(ids, default=None))

    def threads(self) -> Iterator[Thread]:
        """Every thread, by the id of its head, highest first."""
        heads = self._heads(self._sessions.threads)
        yield from sorted(heads, key=lambda thread: (thread.head.checkpoint_id, thread.thread_id), reverse=True)

    def thread(self, thread_id: str) -> Thread | None:
        """One thread by its exact name."""
        return next(iter(self._heads([thread_id])), None)

    def namespaces(self, thread_id: str) -> list[str]:
        """The namespaces of a thread, in text order."""
        return sorted(self._sessions.threads.get(thread_id, ()))

    def count(self, thread_id: str) -> int:
        """How many keys hold the thread's checkpoints."""
        return sum(1 for _ in self._refs([thread_id]))

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointRow]:
        """The rows with the highest ids, highest first."""
        refs = [*self._refs([thread_id], ns)][::-1]
        return [*islice(chain.from_iterable(map(self._sessions.rows, pages(refs, limit))), limit)]

    def _heads(self, thread_ids: Iterable[str]) -> Collection[Thread]:
        threads = self._sessions.threads
        spaces = ((thread_id, *item) for thread_id in thread_ids for item in threads.get(thread_id, {}).items())
        return threads_with_heads(Ref(thread_id, ns, space.ids[-1]) for thread_id, ns, space in spaces)
