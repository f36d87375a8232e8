"""`AgentCoreSaver`: what langgraph-checkpoint-aws' AgentCoreValkeySaver wrote behind the contract, never changed."""

from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice
from typing import ClassVar

from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Ref, Thread, Write
from ckpt_cli.savers.about import Ability, About, Form, Totals
from ckpt_cli.savers.held import ReadOnlySaver
from ckpt_cli.savers.paging import pages, weighed
from ckpt_cli.savers.redis.connection import Connection
from ckpt_cli.savers.redis.server import KeySaver, headed
from ckpt_cli.savers.valkey.agentcore_keys import Keys

_FIRST = 25  # checkpoints that are read while nothing is known of their sizes


class AgentCoreSaver(ReadOnlySaver, KeySaver):
    """A database of sessions, each of one actor."""

    name: ClassVar[str] = "valkey"
    form = Form(metadata="msgpack")
    abilities = frozenset({Ability.BRANCHES, Ability.TASK_PATHS})
    why_not = "its writes have no places of their own, so that none could be replaced or taken back"

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection, "")
        self._keys = Keys(connection)

    def _forget(self) -> None:
        self._keys.forget()

    def about(self) -> About:
        """The server, that it is scanned, and how threads are called."""
        server = f"{self._connection.version}{', cluster' if self._connection.is_cluster else ''}"
        facts = {
            "server": server,
            "index": "none: each command scans the database's keys",
            "thread ids": "as stored; actor_id/thread_id where several actors have the same one",
            "places of writes": "counted by task: they aren't stored",
        }
        location = self._connection.address.location
        return About("AgentCore on Valkey", location, "checkpoint-aws (AgentCoreValkeySaver)", "agentcore", facts)

    def totals(self) -> Totals:
        """Count keys, and the writes by the lengths of their lists."""
        refs = [*self._keys.refs()]
        ids = [ref.checkpoint_id for ref in refs]
        writes, threads = self._keys.count_writes(refs), len(self._keys.threads)
        return Totals(threads, len(ids), writes, min(ids, default=None), max(ids, default=None))

    def threads(self) -> Iterator[Thread]:
        """Every thread by its highest id."""
        heads = self._heads(self._keys.threads)
        yield from sorted(heads, key=lambda thread: (thread.head.checkpoint_id, thread.thread_id), reverse=True)

    def thread(self, thread_id: str) -> Thread | None:
        """One thread by its exact name."""
        return next(iter(self._heads([thread_id])), None)

    def namespaces(self, thread_id: str) -> list[str]:
        """The namespaces of a thread, in text order."""
        return sorted(self._keys.threads.get(thread_id, ()))

    def count(self, thread_id: str) -> int:
        """How many keys hold its checkpoints."""
        return sum(1 for _ in self._keys.refs([thread_id]))

    def rows(self, thread_id: str, ns: str | None = None) -> Iterator[CheckpointRow]:
        """The beginnings of a thread's checkpoints."""
        return self._keys.rows(self._keys.refs([thread_id], ns))

    def rows_of(self, thread_ids: Collection[str]) -> Iterator[CheckpointRow]:
        """The beginnings of several threads' checkpoints."""
        return self._keys.rows(self._keys.refs(thread_ids))

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointRow]:
        """The beginnings of those with the highest ids."""
        refs = [*self._keys.refs([thread_id], ns)][::-1]
        return [*islice(chain.from_iterable(map(self._keys.rows, pages(refs, limit))), limit)]

    def row(self, ref: Ref) -> CheckpointRow | None:
        """One beginning."""
        return next(self._keys.rows([ref]), None)

    def metadata(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """The ends of checkpoints."""
        return self._keys.metadata(dict.fromkeys(refs))

    def checkpoints(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """As many at once as keep it to a few megabytes."""
        return weighed(refs, self._keys.checkpoints, first=_FIRST)

    def writes(
        self,
        thread_id: str,
        ns: str | None = None,
        checkpoint_ids: Collection[str] | None = None,
        *,
        values: int | None = None,
    ) -> Iterator[Write]:
        """By namespace and checkpoint, then in canonical order."""
        if ns is not None and checkpoint_ids is not None:
            return self.writes_on([Ref(thread_id, ns, one) for one in checkpoint_ids], values=values)
        refs = self._keys.refs([thread_id], ns)
        wanted = (ref for ref in refs if checkpoint_ids is None or ref.checkpoint_id in checkpoint_ids)
        return self._keys.writes(wanted, values)

    def writes_on(self, refs: Collection[Ref], *, values: int | None = None) -> Iterator[Write]:
        """Those of several checkpoints at once."""
        return self._keys.writes(sorted(set(refs)), values)

    def writes_of(self, thread_ids: Collection[str], *, values: int | None = None) -> Iterator[Write]:
        """Those of several threads' checkpoints."""
        return self._keys.writes(self._keys.refs(thread_ids), values)

    def _heads(self, thread_ids: Iterable[str]) -> Collection[Thread]:
        known = self._keys.threads
        spaces = ((thread_id, *item) for thread_id in thread_ids for item in known.get(thread_id, {}).items())
        return headed(Ref(thread_id, ns, space.ids[-1]) for thread_id, ns, space in spaces)
