"""`ValkeySaver`: reads and changes databases of langgraph-checkpoint-aws' ValkeySaver."""

from collections.abc import Collection, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

from ckpt_cli.model import CheckpointRow, Plan, Ref, Row, RowChange, Thread, WriteKey
from ckpt_cli.savers.about import Ability, About, RecordFormat, Totals
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.faults import no_checkpoints
from ckpt_cli.savers.redis.address import parse_url
from ckpt_cli.savers.redis.connection import Connection
from ckpt_cli.savers.redis.server import NOBODY, threads_with_heads
from ckpt_cli.savers.selection import FilterKind
from ckpt_cli.savers.valkey import records
from ckpt_cli.savers.valkey.base import ScannedSaver
from ckpt_cli.savers.valkey.expand import CHECKPOINTS, THREADS, WRITES, Expansion, records_in
from ckpt_cli.savers.valkey.reading import CheckpointReader, checkpoint_key, refs_of, thread_key

if TYPE_CHECKING:
    from ckpt_cli.savers.agent_rows import AgentRows


def open_url(url: str) -> Saver:
    """Open an existing database for reading.

    Raises:
        UsageError: the URL has an unknown option.
        DatabaseUnreachable: no server answers, it refuses the login, or no LangGraph saver wrote its keys.
    """
    connection = Connection(parse_url(url))
    try:
        return _saver_for(connection)
    except BaseException:
        connection.close()
        raise


def _saver_for(connection: Connection) -> Saver:
    """The saver that wrote a database's keys; ValkeySaver for an empty database, because it creates no keys at setup.

    Raises:
        DatabaseUnreachable: no LangGraph saver of Valkey wrote the keys.
    """
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
    """A database of LangGraph's own saver."""

    name: ClassVar[str] = "valkey"
    orders_writes_as_library: ClassVar[bool] = True
    lists_before: ClassVar[bool] = False
    expiring: ClassVar[str] = "ValkeySaver.from_conn_string(url, ttl_seconds=2592000)"
    form = RecordFormat(filter=FilterKind.PRESENT)

    def __init__(self, connection: Connection) -> None:
        self._checkpoints = CheckpointReader(connection)
        super().__init__(connection, checkpoint_key(NOBODY), self._checkpoints)
        able = {Ability.WRITE, Ability.BRANCHES}
        self.abilities = frozenset(able if connection.is_cluster else {*able, Ability.ATOMIC})

    def _refs(self, thread_ids: Collection[str], ns: str | None = None) -> Iterator[Ref]:
        spaces = self._checkpoints.spaces(thread_ids) if thread_ids else {}
        return refs_of({space: ids for space, ids in spaces.items() if ns is None or space[1] == ns})

    def about(self) -> About:
        """Facts about the server and the scan of its keys."""
        server = f"{self._connection.version}{', cluster' if self._connection.is_cluster else ''}"
        facts = {"server": server, **self._connection.user, "index": "none: each command scans the database's keys"}
        return About("Valkey", self._connection.address.location, "checkpoint-aws (ValkeySaver)", "valkey", facts)

    def totals(self) -> Totals:
        """Read the start of every checkpoint, and the writes without their values."""
        rows = [*self._checkpoints.rows(refs_of(self._checkpoints.spaces(None)))]
        ids = [row.checkpoint_id for row in rows]
        writes = sum(1 for _ in self._checkpoints.writes((row.ref for row in rows), 0))
        return Totals(
            len({row.thread_id for row in rows}), len(ids), writes, min(ids, default=None), max(ids, default=None)
        )

    def threads(self) -> Iterator[Thread]:
        """Every thread, by the id of its head, highest first."""
        heads = self._heads(None)
        yield from sorted(heads, key=lambda thread: (thread.head.checkpoint_id, thread.thread_id), reverse=True)

    def thread(self, thread_id: str) -> Thread | None:
        """One thread by its exact id."""
        return next(iter(self._heads([thread_id])), None)

    def namespaces(self, thread_id: str) -> list[str]:
        """The namespaces of a thread, in text order."""
        return sorted(ns for _, ns in self._checkpoints.spaces([thread_id]))

    def count(self, thread_id: str) -> int:
        """How many of the checkpoints in the thread's lists exist; some may have expired."""
        return sum(1 for _ in self.rows(thread_id))

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointRow]:
        """The rows with the highest ids of the list, highest first."""
        ids = sorted(set(self._checkpoints.spaces([thread_id]).get((thread_id, ns), ())), reverse=True)
        return [*islice(self._checkpoints.rows(Ref(thread_id, ns, one) for one in ids), limit)]

    def sample(self, limit: int) -> list[Ref]:
        """The two highest checkpoints of each of the first lists that a scan gives."""
        spaces = self._checkpoints.some(limit // 2)
        return [Ref(*space, one) for space, ids in spaces.items() for one in sorted(ids, reverse=True)[:2]]

    def expand(self, plan: Plan) -> Iterator[RowChange]:
        """A key for each checkpoint, one for its writes, and one for each namespace."""
        return Expansion(plan, self._images).rows()

    def record_of(self, relation: str, key: Row) -> Ref | WriteKey | None:
        """The checkpoint of a key; None for other keys, which hold several records or none."""
        columns: Any = key
        return Ref(columns["thread_id"], columns["ns"], columns["checkpoint_id"]) if relation == CHECKPOINTS else None

    def fields(self, relation: str, row: Row) -> Row:
        """The value of a key; the writes of a checkpoint by name: the library moves one that it stores again."""
        own = super().fields(relation, row)
        if relation != WRITES or row["type"] != "string":
            return own
        entries = sorted(records.entries(Ref("", "", ""), str(row["value"])), key=lambda one: str(one[0]))
        return {**own, "value": records.text([entry for _, entry in entries])}

    def beside(self, ref: Ref) -> Iterator[tuple[str, Row]]:
        """The list of the namespace's checkpoints."""
        yield THREADS, {"key": thread_key((ref.thread_id, ref.ns))}

    def added(self, change: RowChange) -> Collection[Ref | WriteKey]:
        """The records that the key holds after the change but not before."""
        before, after = (records_in(change.relation, change.key, row) for row in (change.before, change.after))
        return after.keys() - before.keys()

    def written(self, change: RowChange) -> Collection[Ref | WriteKey]:
        """The records whose part of the key the change makes or changes."""
        before, after = (records_in(change.relation, change.key, row) for row in (change.before, change.after))
        return {name for name, entry in after.items() if name not in before or before[name] != entry}

    def agent_rows(self) -> "AgentRows":
        """A transaction for each call that writes; in a cluster plans."""
        if self._connection.is_cluster:
            return super().agent_rows()
        from ckpt_cli.savers.valkey.agent_rows import ValkeyAgentRows

        return ValkeyAgentRows(self, self._connection, self._images)

    def _checkpoint_key(self, ref: Ref) -> str:
        return checkpoint_key(ref)

    def _heads(self, thread_ids: Collection[str] | None) -> Collection[Thread]:
        """Threads with heads: the first existing checkpoint in the root graph's list; without a root, in any list."""
        spaces = self._checkpoints.spaces(thread_ids)
        heads = self._present({space: ids[:1] for space, ids in spaces.items()})
        lost = {space: ids[1:] for space, ids in spaces.items() if space not in heads and ids[1:]}
        heads |= self._present(lost)
        return threads_with_heads(heads.values())

    def _present(self, spaces: dict[tuple[str, str], list[str]]) -> dict[tuple[str, str], Ref]:
        refs = [Ref(*space, one) for space, ids in spaces.items() for one in reversed(ids)]
        return {row.ref[:2]: row.ref for row in self._checkpoints.rows(refs)}
