"""`ValkeySaver`: the keys of langgraph-checkpoint-aws behind the contract."""

from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any, ClassVar

from ckpt_cli.model import CheckpointRow, Plan, Ref, Row, RowChange, Thread, WriteKey
from ckpt_cli.savers.about import Ability, About, Form, Totals
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.faults import no_checkpoints
from ckpt_cli.savers.redis.address import parsed
from ckpt_cli.savers.redis.connection import Connection
from ckpt_cli.savers.redis.server import NOBODY, headed
from ckpt_cli.savers.valkey.expand import CHECKPOINTS, THREADS, Expansion, held
from ckpt_cli.savers.valkey.reading import Keys, checkpoint_key, refs_of, thread_key
from ckpt_cli.savers.valkey.scanned import ScannedSaver


def open_saver(url: str) -> Saver:
    """Open an existing database for reading.

    Raises:
        UsageError: the URL has an option that nobody knows.
        DatabaseUnreachable: no server answers, it doesn't let us in, or what it holds isn't LangGraph's.
    """
    connection = Connection(parsed(url))
    try:
        return _recognized(connection)
    except BaseException:
        connection.close()
        raise


def _recognized(connection: Connection) -> Saver:
    """The saver makes nothing before its first checkpoint, so a database without any key may be one."""
    if any(True for _ in connection.keys("thread:{*")) or not connection.one("DBSIZE"):
        return ValkeySaver(connection)
    if any(True for _ in connection.keys("agentcore:session:*")):
        from ckpt_cli.savers.valkey.agentcore import AgentCoreSaver

        return AgentCoreSaver(connection)
    hint = "the URL's path is the number of the database"
    if any(True for _ in connection.keys("checkpoint:*")):
        hint = "redis:// reads what LangGraph's RedisSaver wrote"
    raise no_checkpoints(connection.address.location, hint)


class ValkeySaver(ScannedSaver):
    """A database of the official saver."""

    name: ClassVar[str] = "valkey"
    form = Form()

    def __init__(self, connection: Connection) -> None:
        self._keys = Keys(connection)
        super().__init__(connection, checkpoint_key(NOBODY), self._keys)
        able = {Ability.WRITE, Ability.BRANCHES}
        self.abilities = frozenset(able if connection.is_cluster else {*able, Ability.ATOMIC})

    def _refs(self, thread_ids: Collection[str], ns: str | None = None) -> Iterator[Ref]:
        spaces = self._keys.spaces(thread_ids) if thread_ids else {}
        return refs_of({space: ids for space, ids in spaces.items() if ns is None or space[1] == ns})

    def about(self) -> About:
        """The server, and that it is scanned."""
        server = f"{self._connection.version}{', cluster' if self._connection.is_cluster else ''}"
        facts = {"server": server, "index": "none: each command scans the database's keys"}
        return About("Valkey", self._connection.address.location, "checkpoint-aws (ValkeySaver)", "valkey", facts)

    def totals(self) -> Totals:
        """Read the beginning of every checkpoint, and the writes without their values."""
        rows = [*self._keys.rows(refs_of(self._keys.spaces(None)))]
        ids = [row.checkpoint_id for row in rows]
        writes = sum(1 for _ in self._keys.writes((row.ref for row in rows), 0))
        return Totals(
            len({row.thread_id for row in rows}), len(ids), writes, min(ids, default=None), max(ids, default=None)
        )

    def threads(self) -> Iterator[Thread]:
        """Every list's first."""
        heads = self._heads(None)
        yield from sorted(heads, key=lambda thread: (thread.head.checkpoint_id, thread.thread_id), reverse=True)

    def thread(self, thread_id: str) -> Thread | None:
        """One thread by its exact id."""
        return next(iter(self._heads([thread_id])), None)

    def namespaces(self, thread_id: str) -> list[str]:
        """The namespaces of a thread, in text order."""
        return sorted(ns for _, ns in self._keys.spaces([thread_id]))

    def count(self, thread_id: str) -> int:
        """Those of the lists that are there."""
        return sum(1 for _ in self.rows(thread_id))

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointRow]:
        """The highest ids of the list."""
        ids = sorted(set(self._keys.spaces([thread_id]).get((thread_id, ns), ())), reverse=True)
        return [*islice(self._keys.rows(Ref(thread_id, ns, one) for one in ids), limit)]

    def sample(self, limit: int) -> list[Ref]:
        """The highest ids of the lists that a scan comes upon first."""
        spaces = self._keys.some(limit // 2)
        return [Ref(*space, one) for space, ids in spaces.items() for one in sorted(ids, reverse=True)[:2]]

    def expand(self, plan: Plan) -> Iterator[RowChange]:
        """A key a checkpoint, one for the writes of each, and one a namespace."""
        return Expansion(plan, self._images).rows()

    def record_of(self, relation: str, key: Row) -> Ref | WriteKey | None:
        """Only a checkpoint is a key by itself."""
        words: Any = key
        return Ref(words["thread_id"], words["ns"], words["checkpoint_id"]) if relation == CHECKPOINTS else None

    def beside(self, ref: Ref) -> Iterator[tuple[str, Row]]:
        """The list of the namespace's checkpoints."""
        yield THREADS, {"key": thread_key((ref.thread_id, ref.ns))}

    def added(self, change: RowChange) -> Collection[Ref | WriteKey]:
        """What a key holds afterwards and didn't before."""
        before, after = (held(change.relation, change.key, row) for row in (change.before, change.after))
        return after - before

    def _heads(self, thread_ids: Collection[str] | None) -> Collection[Thread]:
        """The first of the root graph's list that is there; without a root the highest of the other lists' firsts."""
        spaces = self._keys.spaces(thread_ids)
        there = self._present({space: ids[:1] for space, ids in spaces.items()})
        lost = {space: ids[1:] for space, ids in spaces.items() if space not in there and ids[1:]}
        there |= self._present(lost)
        return headed(there.values())

    def _present(self, spaces: dict[tuple[str, str], list[str]]) -> dict[tuple[str, str], Ref]:
        refs = [Ref(*space, one) for space, ids in spaces.items() for one in reversed(ids)]
        return {row.ref[:2]: row.ref for row in self._keys.rows(refs)}
