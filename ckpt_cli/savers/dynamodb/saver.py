"""`DynamoSaver`: reads and changes the items of one table."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Plan, Ref, Row, RowChange, Thread, Write, WriteKey
from ckpt_cli.savers.about import Ability, About, Place, RecordFormat, Totals
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.dynamodb import items, written_columns
from ckpt_cli.savers.dynamodb.address import parse_url
from ckpt_cli.savers.dynamodb.connection import Connection, table_id
from ckpt_cli.savers.dynamodb.expand import Expansion
from ckpt_cli.savers.dynamodb.images import Images, record_of
from ckpt_cli.savers.dynamodb.items import CHECKPOINT, WRITES, Item
from ckpt_cli.savers.faults import unless_sent
from ckpt_cli.savers.paging import pages

if TYPE_CHECKING:
    from ckpt_cli.savers.agent_rows import AgentRows

T = TypeVar("T")

_SKELETON = ("PK", "SK", "parent_checkpoint_id")
_PARTITIONS = 100  # partitions of writes that are read before their payloads
_PAGE = 25  # checkpoints in one request; each has at most 400 KB, and the service answers with at most 16 MB


def open_url(url: str) -> "DynamoSaver":
    """Open an existing table for reading.

    Raises:
        UsageError: the URL names no table, or has an unknown option.
        DatabaseUnreachable: no region, no credentials, no such table, or the service can't be reached.
    """
    return DynamoSaver(Connection(parse_url(url)))


class DynamoSaver(Saver):
    """A table of LangGraph's own saver."""

    name: ClassVar[str] = "dynamodb"
    out_of_reach: ClassVar[str] = "the table's stream, point-in-time recovery, replicas and backups"
    form = RecordFormat(versions="int", metadata="msgpack")
    abilities = frozenset({Ability.WRITE, Ability.BRANCHES, Ability.TASK_PATHS})
    page = _PAGE
    has_flat_rows = False
    reads_whole_writes = True

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._images = Images(connection)
        self._expansion = Expansion(connection)

    def moment(self, look: Callable[[], T]) -> T:
        """Run `look`; each read is consistent by itself, but an application may write between two reads."""
        return self._connection.moment(look)

    def about(self) -> About:
        """The table as the service describes it; the size is some hours old."""
        description, address = self._connection.description, self._connection.address
        facts = {"region": self._connection.region}
        if description:
            billing = description.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED")
            facts |= {
                "table": f"{str(description.get('TableStatus', '')).lower()}, {billing.replace('_', ' ').lower()}"
            }
        facts |= {"large values": f"S3 bucket {address.s3_bucket}"} if address.s3_bucket else {}
        generation = "langgraph-checkpoint-aws (items with payloads apart)"
        size = description.get("TableSizeBytes") or None
        return About("DynamoDB", address.location, generation, "dynamodb", facts, size)

    def totals(self) -> Totals:
        """Count by a scan of all keys."""
        ids: list[str] = []
        threads: set[str] = set()
        writes = 0
        for item in self._connection.scan(CHECKPOINT, WRITES, columns=("PK", "SK")):
            if items.text(item, "PK").startswith(WRITES):
                writes += 1
            elif items.is_named(item):
                thread_id, _, checkpoint_id = items.place(item)
                threads.add(thread_id)
                ids.append(checkpoint_id)
        return Totals(len(threads), len(ids), writes, min(ids, default=None), max(ids, default=None))

    def threads(self) -> Iterator[Thread]:
        """Every thread, by a scan of all checkpoints' keys, because the service has no list of threads."""
        threads = _heads(self._connection.scan(CHECKPOINT, columns=("PK", "SK")))
        yield from sorted(threads, key=lambda thread: (thread.head.checkpoint_id, thread.thread_id), reverse=True)

    def thread(self, thread_id: str) -> Thread | None:
        """One thread, by its root graph's highest key; all keys of the thread are read only if it has no root graph."""
        root = self.newest(thread_id, "", 1)
        if root:
            return Thread(thread_id, root[0].ref)
        return next(iter(_heads(self._keys(thread_id))), None)

    def namespaces(self, thread_id: str) -> list[str]:
        """The namespaces in the keys of the thread's partition, in text order."""
        return sorted({items.place(item)[1] for item in self._keys(thread_id)})

    def count(self, thread_id: str) -> int:
        """How many keys the thread's partition has."""
        return sum(1 for _ in self._keys(thread_id))

    def rows(self, thread_id: str, ns: str | None = None) -> Iterator[CheckpointRow]:
        """The rows of a thread or a namespace, from the thread's partition, which holds no payloads."""
        if ns is not None:
            yield from map(items.row, self._items(thread_id, ns))
            return
        yield from _ordered(self._connection.query(f"{CHECKPOINT}{thread_id}", columns=_SKELETON))

    def rows_of(self, thread_ids: Collection[str]) -> Iterator[CheckpointRow]:
        """The rows of several threads. Each thread needs its own request; several requests run at once."""
        for page in pages([*thread_ids], _PAGE):
            for partition in self._connection.partitions([f"{CHECKPOINT}{thread_id}" for thread_id in page], _SKELETON):
                yield from _ordered(partition)

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointRow]:
        """The rows with the highest ids, highest first, read from the end of the namespace's keys."""
        newest = self._items(thread_id, ns, ScanIndexForward=False, Limit=limit)
        return [items.row(item) for item in islice(newest, limit)]

    def row(self, ref: Ref) -> CheckpointRow | None:
        """One skeleton row."""
        item = self._connection.item(items.keys(ref)[0], _SKELETON)
        return None if item is None else items.row(item)

    def metadata(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """The metadata, from whole checkpoints, because both are stored as one value."""
        yield from ((checkpoint.row.ref, checkpoint.metadata) for checkpoint in self.checkpoints(sorted(set(refs))))

    def checkpoints(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """These checkpoints, a page in each request."""
        remaining = iter(refs)
        while page := [*islice(remaining, _PAGE)]:
            stored = self._connection.stored(page)
            yield from (items.checkpoint(stored[ref]) for ref in page if ref in stored)

    def sample(self, limit: int) -> list[Ref]:
        """The first checkpoints that a scan gives."""
        scanned = filter(items.is_named, self._connection.scan(CHECKPOINT, columns=("PK", "SK")))
        return [Ref(*items.place(item)) for item in islice(scanned, limit)]

    def writes(
        self,
        thread_id: str,
        ns: str | None = None,
        checkpoint_ids: Collection[str] | None = None,
        *,
        values: int | None = None,
    ) -> Iterator[Write]:
        """Writes. Each checkpoint needs its own request for its writes; several requests are sent at the same time.

        Payloads are read even if `values` leaves them out: the service doesn't give a size without the payload.
        """
        yield from self.writes_on(self._refs(thread_id, ns, checkpoint_ids), values=values)

    def writes_on(self, refs: Collection[Ref], *, values: int | None = None) -> Iterator[Write]:
        """The writes of several checkpoints: a request for each checkpoint, and one for a page of payloads."""
        for some in pages([*dict.fromkeys(refs)], _PARTITIONS):
            parts = self._connection.partitions([f"{WRITES}{'#'.join(ref)}" for ref in some])
            named = [
                (ref, item)
                for ref, part in zip(some, parts, strict=True)
                for item in sorted(filter(items.is_named, part), key=items.order)
            ]
            for page in pages(named, _PAGE):
                read = self._connection.payloads(item for _, item in page)
                yield from (items.write(ref, stored, values) for (ref, _), stored in zip(page, read, strict=True))

    def writes_of(self, thread_ids: Collection[str], *, values: int | None = None) -> Iterator[Write]:
        """The writes of several threads' existing checkpoints, because only a checkpoint's name leads to its writes."""
        return self.writes_on([row.ref for row in self.rows_of(thread_ids)], values=values)

    @property
    def identity(self) -> str:
        """The table's ARN, or its region and name."""
        arn = str(self._connection.description.get("TableArn", ""))
        return self._connection.address.identity(arn, self._connection.region)

    def place(self) -> Place:
        """The table's id; a table that was created anew or restored has another id."""
        engine = table_id(self._connection.description)
        return Place(self.identity, engine, engine)

    def original(self, seen: Place, is_it: Callable[[Saver], bool]) -> bool | None:  # noqa: ARG002
        """Whether `seen` is another table that still exists; the service looks for its name in this region."""
        here = self.place()
        if seen.engine and seen.engine == here.engine:
            return False
        return self._connection.has(seen.engine, seen.address.rpartition("/")[2]) if seen.engine else None

    def must_be_writable(self, *, trying: bool) -> None:
        """If `trying`, try a transaction that can't succeed, because AWS shows a user's rights in no other way."""
        if trying:
            with unless_sent(self._connection.address.location):
                self._connection.moment(self._images.try_impossible_write, writing=True)

    def transaction(self, work: Callable[[], T]) -> T:
        """Run `work`; its changes are made in transactions, and only where items equal their before-images."""
        return self._connection.moment(work, writing=True)

    def expand(self, plan: Plan) -> Iterator[RowChange]:
        """A row for each record: an item with its payload's item."""
        return self._expansion.rows(plan)

    def record_of(self, relation: str, key: Row) -> Ref | WriteKey | None:
        """The record of a row; each row is one record."""
        return record_of(relation, key)

    def current(self, relation: str, key: Row) -> Row | None:
        """An item and its payload's item."""
        return self._images.current(record_of(relation, key))

    def currents(self, names: Sequence[tuple[str, Row]]) -> list[Row | None]:
        """Items and their payloads' items; each request names as many as the service takes."""
        return self._images.currents([record_of(relation, key) for relation, key in names])

    def written_columns(self, relation: str) -> frozenset[str] | None:  # noqa: ARG002 - all are alike
        """LangGraph's attributes."""
        return written_columns.WRITTEN

    def fields(self, relation: str, row: Row) -> Row:  # noqa: ARG002
        """Both items, attribute by attribute."""
        return written_columns.fields(row)

    def restored(self, relation: str, image: Row, now: Row | None) -> Row:  # noqa: ARG002
        """The image with other programs' attributes as they are now."""
        return written_columns.restored(image, now)

    def change(self, changes: Iterable[RowChange]) -> None:
        """Put and delete items, up to 100 in a transaction."""
        self._images.change(changes)

    def agent_rows(self) -> "AgentRows":
        """As many requests for each call as LangGraph's own saver sends, or fewer."""
        from ckpt_cli.savers.dynamodb.agent_rows import DynamoAgentRows

        return DynamoAgentRows(self, self._connection)

    def close(self) -> None:
        """Close the sockets."""
        self._connection.close()

    def _keys(self, thread_id: str) -> Iterator[Item]:
        return filter(items.is_named, self._connection.query(f"{CHECKPOINT}{thread_id}", columns=("PK", "SK")))

    def _items(self, thread_id: str, ns: str, **words: Any) -> Iterator[Item]:
        """The items of one namespace, without the items of namespaces whose name begins with this name and ``#``."""
        queried = self._connection.query(f"{CHECKPOINT}{thread_id}", f"{ns}#", columns=_SKELETON, **words)
        return (item for item in queried if items.is_named(item) and items.place(item)[1] == ns)

    def _refs(self, thread_id: str, ns: str | None, checkpoint_ids: Collection[str] | None) -> list[Ref]:
        """The checkpoints whose writes must be read."""
        if ns is not None and checkpoint_ids is not None:
            return [Ref(thread_id, ns, one) for one in sorted(set(checkpoint_ids))]
        refs = [row.ref for row in self.rows(thread_id, ns)]
        return refs if checkpoint_ids is None else [ref for ref in refs if ref.checkpoint_id in set(checkpoint_ids)]


def _ordered(some: Iterable[Item]) -> list[CheckpointRow]:
    """A thread's rows in text order. The order of the keys differs: in it, "a#" follows "a!"."""
    return sorted(map(items.row, filter(items.is_named, some)), key=lambda row: (row.ns, row.checkpoint_id))


def _heads(some: Iterable[Item]) -> Iterator[Thread]:
    """Threads with heads: the root graph's head or, without a root, the highest checkpoint of any namespace."""
    heads: dict[str, tuple[bool, str, str]] = {}
    for item in filter(items.is_named, some):
        thread_id, ns, checkpoint_id = items.place(item)
        one = (ns == "", checkpoint_id, ns)
        heads[thread_id] = max(heads.get(thread_id, one), one)
    yield from (Thread(thread_id, Ref(thread_id, ns, head)) for thread_id, (_, head, ns) in heads.items())
