"""`DynamoSaver`: the items of one table behind the contract."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, ClassVar, TypeVar

from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Plan, Ref, Row, RowChange, Thread, Write, WriteKey
from ckpt_cli.savers.about import Ability, About, Form, Place, Totals
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.dynamodb import items, own_fields
from ckpt_cli.savers.dynamodb.address import parsed
from ckpt_cli.savers.dynamodb.images import Images, record_of
from ckpt_cli.savers.dynamodb.items import CHECKPOINT, WRITES, Item
from ckpt_cli.savers.dynamodb.table import Table, table_number
from ckpt_cli.savers.faults import unless_sent
from ckpt_cli.savers.paging import pages

T = TypeVar("T")

_SKELETON = ("PK", "SK", "parent_checkpoint_id")
_PARTITIONS = 100  # of writes that are asked for before their payloads are
_PAGE = 25  # checkpoints that are read at once; each is 400 KB at most, and the service gives 16 MB


def open_saver(url: str) -> "DynamoSaver":
    """Open an existing table for reading.

    Raises:
        UsageError: the URL names no table, or has an option that nobody knows.
        DatabaseUnreachable: no region, no credentials, no such table, or the service can't be reached.
    """
    return DynamoSaver(Table(parsed(url)))


class DynamoSaver(Saver):
    """A table of the official saver."""

    name: ClassVar[str] = "dynamodb"
    out_of_reach: ClassVar[str] = "the table's stream, point-in-time recovery, replicas and backups"
    form = Form(versions="int", metadata="msgpack")
    abilities = frozenset({Ability.WRITE, Ability.BRANCHES, Ability.TASK_PATHS})
    page = _PAGE

    def __init__(self, table: Table) -> None:
        self._table = table
        self._images = Images(table)

    def moment(self, look: Callable[[], T]) -> T:
        """Every read is consistent by itself; an application may write between two."""
        return self._table.moment(look)

    def about(self) -> About:
        """The table as the service describes it; its sizes are some hours old."""
        told, address = self._table.description, self._table.address
        facts = {"region": self._table.region}
        if told:
            billing = told.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED")
            facts |= {"table": f"{str(told.get('TableStatus', '')).lower()}, {billing.replace('_', ' ').lower()}"}
        facts |= {"large values": f"S3 bucket {address.s3_bucket}"} if address.s3_bucket else {}
        generation = "langgraph-checkpoint-aws (items with payloads apart)"
        return About("DynamoDB", address.location, generation, "dynamodb", facts, told.get("TableSizeBytes") or None)

    def totals(self) -> Totals:
        """Scan the keys of everything."""
        ids: list[str] = []
        threads: set[str] = set()
        writes = 0
        for item in self._table.scan(CHECKPOINT, WRITES, columns=("PK", "SK")):
            if items.text(item, "PK").startswith(WRITES):
                writes += 1
            elif items.is_named(item):
                thread_id, _, checkpoint_id = items.place(item)
                threads.add(thread_id)
                ids.append(checkpoint_id)
        return Totals(len(threads), len(ids), writes, min(ids, default=None), max(ids, default=None))

    def threads(self) -> Iterator[Thread]:
        """Scan the keys of all checkpoints: the service has no list of threads."""
        found = _heads(self._table.scan(CHECKPOINT, columns=("PK", "SK")))
        yield from sorted(found, key=lambda thread: (thread.head.checkpoint_id, thread.thread_id), reverse=True)

    def thread(self, thread_id: str) -> Thread | None:
        """The root graph's highest key; all keys of the thread only where it has none."""
        root = self.newest(thread_id, "", 1)
        if root:
            return Thread(thread_id, root[0].ref)
        return next(iter(_heads(self._keys(thread_id))), None)

    def namespaces(self, thread_id: str) -> list[str]:
        """The keys of the thread's partition."""
        return sorted({items.place(item)[1] for item in self._keys(thread_id)})

    def count(self, thread_id: str) -> int:
        """The keys of the thread's partition."""
        return sum(1 for _ in self._keys(thread_id))

    def rows(self, thread_id: str, ns: str | None = None) -> Iterator[CheckpointRow]:
        """The items of the thread's partition; payloads are in others."""
        if ns is not None:
            yield from map(items.row, self._items(thread_id, ns))
            return
        yield from _ordered(self._table.query(f"{CHECKPOINT}{thread_id}", columns=_SKELETON))

    def rows_of(self, thread_ids: Collection[str]) -> Iterator[CheckpointRow]:
        """A request for each thread, several at a time: each is a partition, and a request reads one of these."""
        for page in pages([*thread_ids], _PAGE):
            for found in self._table.partitions([f"{CHECKPOINT}{thread_id}" for thread_id in page], _SKELETON):
                yield from _ordered(found)

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointRow]:
        """The namespace's keys from the end."""
        found = self._items(thread_id, ns, ScanIndexForward=False, Limit=limit)
        return [items.row(item) for item in islice(found, limit)]

    def row(self, ref: Ref) -> CheckpointRow | None:
        """One skeleton row."""
        found = self._table.item(items.keys(ref)[0], _SKELETON)
        return None if found is None else items.row(found)

    def metadata(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """Out of the checkpoints: both are one value here."""
        yield from ((checkpoint.row.ref, checkpoint.metadata) for checkpoint in self.checkpoints(sorted(set(refs))))

    def checkpoints(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """Some in a request, each with its payload."""
        asked = iter(refs)
        while page := [*islice(asked, _PAGE)]:
            found = self._table.stored(page)
            yield from (items.checkpoint(found[ref]) for ref in page if ref in found)

    def sample(self, limit: int) -> list[Ref]:
        """The first that a scan comes upon."""
        found = filter(items.is_named, self._table.scan(CHECKPOINT, columns=("PK", "SK")))
        return [Ref(*items.place(item)) for item in islice(found, limit)]

    def writes(
        self,
        thread_id: str,
        ns: str | None = None,
        checkpoint_ids: Collection[str] | None = None,
        *,
        values: int | None = None,
    ) -> Iterator[Write]:
        """A request for each checkpoint, several at a time: its writes have a partition of their own.

        Payloads come with them whatever `values` says, since the service doesn't tell their sizes without sending them.
        """
        yield from self.writes_on(self._bearers(thread_id, ns, checkpoint_ids), values=values)

    def writes_on(self, refs: Collection[Ref], *, values: int | None = None) -> Iterator[Write]:
        """As `writes`: a request for each checkpoint, several at a time, and one for a page of their payloads."""
        for some in pages([*dict.fromkeys(refs)], _PARTITIONS):
            parts = self._table.partitions([f"{WRITES}{'#'.join(ref)}" for ref in some])
            found = [
                (ref, item)
                for ref, part in zip(some, parts, strict=True)
                for item in sorted(filter(items.is_named, part), key=items.order)
            ]
            for page in pages(found, _PAGE):
                read = self._table.payloads(item for _, item in page)
                yield from (items.write(ref, stored, values) for (ref, _), stored in zip(page, read, strict=True))

    def writes_of(self, thread_ids: Collection[str], *, values: int | None = None) -> Iterator[Write]:
        """Those of the checkpoints that there are, as writes are found by these alone."""
        return self.writes_on([row.ref for row in self.rows_of(thread_ids)], values=values)

    @property
    def identity(self) -> str:
        """The table's ARN, or its region and name."""
        arn = str(self._table.description.get("TableArn", ""))
        return self._table.address.identity(arn, self._table.region)

    def place(self) -> Place:
        """The table's id, which a table that is made anew or restored doesn't share."""
        number = table_number(self._table.description)
        return Place(self.identity, number, number)

    def original(self, seen: Place, is_it: Callable[[Saver], bool]) -> bool | None:  # noqa: ARG002
        """Ask for the table of that name, in this region."""
        here = self.place()
        if seen.engine and seen.engine == here.engine:
            return False
        return self._table.has(seen.engine, seen.address.rpartition("/")[2]) if seen.engine else None

    def must_be_writable(self, *, trying: bool) -> None:
        """Ask for the right to write by a transaction that can't come about, as there is no other way to ask."""
        if trying:
            with unless_sent(self._table.address.location):
                self._table.moment(self._images.try_nothing, writing=True)

    def transaction(self, work: Callable[[], T]) -> T:
        """Every change is made only where an item is as it was; as many as one transaction takes, together."""
        return self._table.moment(work, writing=True)

    def expand(self, plan: Plan) -> Iterator[RowChange]:
        """An item with its payload's item is one row."""
        return self._images.expand(plan)

    def record_of(self, relation: str, key: Row) -> Ref | WriteKey | None:
        """Every row is a record."""
        return record_of(relation, key)

    def current(self, relation: str, key: Row) -> Row | None:
        """An item and its payload's."""
        return self._images.current(record_of(relation, key))

    def currents(self, names: Sequence[tuple[str, Row]]) -> list[Row | None]:
        """Items and their payloads', as many in a request as it takes."""
        return self._images.currents([record_of(relation, key) for relation, key in names])

    def written_columns(self, relation: str) -> frozenset[str] | None:  # noqa: ARG002 - all are alike
        """LangGraph's attributes."""
        return own_fields.WRITTEN

    def fields(self, relation: str, row: Row) -> Row:  # noqa: ARG002
        """Both items attribute by attribute."""
        return own_fields.fields(row)

    def restored(self, relation: str, image: Row, now: Row | None) -> Row:  # noqa: ARG002
        """With the attributes of others."""
        return own_fields.restored(image, now)

    def change(self, changes: Iterable[RowChange]) -> None:
        """Put and delete items, up to 100 of them in a transaction."""
        self._images.change(changes)

    def close(self) -> None:
        """Close the sockets."""
        self._table.close()

    def _keys(self, thread_id: str) -> Iterator[Item]:
        return filter(items.is_named, self._table.query(f"{CHECKPOINT}{thread_id}", columns=("PK", "SK")))

    def _items(self, thread_id: str, ns: str, **words: Any) -> Iterator[Item]:
        """The items of one namespace; another whose name goes on with ``#`` begins alike."""
        found = self._table.query(f"{CHECKPOINT}{thread_id}", f"{ns}#", columns=_SKELETON, **words)
        return (item for item in found if items.is_named(item) and items.place(item)[1] == ns)

    def _bearers(self, thread_id: str, ns: str | None, checkpoint_ids: Collection[str] | None) -> list[Ref]:
        """The checkpoints whose writes are asked for."""
        if ns is not None and checkpoint_ids is not None:
            return [Ref(thread_id, ns, one) for one in sorted(set(checkpoint_ids))]
        refs = [row.ref for row in self.rows(thread_id, ns)]
        return refs if checkpoint_ids is None else [ref for ref in refs if ref.checkpoint_id in set(checkpoint_ids)]


def _ordered(found: Iterable[Item]) -> list[CheckpointRow]:
    """A thread's rows; the keys have "a#" after "a!"."""
    return sorted(map(items.row, filter(items.is_named, found)), key=lambda row: (row.ns, row.checkpoint_id))


def _heads(found: Iterable[Item]) -> Iterator[Thread]:
    """Threads with their heads: in the root namespace, or the highest id of any where root has none."""
    best: dict[str, tuple[bool, str, str]] = {}
    for item in filter(items.is_named, found):
        thread_id, ns, checkpoint_id = items.place(item)
        one = (ns == "", checkpoint_id, ns)
        best[thread_id] = max(best.get(thread_id, one), one)
    yield from (Thread(thread_id, Ref(thread_id, ns, head)) for thread_id, (_, head, ns) in best.items())
