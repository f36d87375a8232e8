"""A saver that keeps records in dicts: the model of the contract, whose results every saver must give."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, ClassVar, TypeVar

from ckpt_cli.model import (
    Checkpoint,
    CheckpointRow,
    Payload,
    Plan,
    Record,
    Ref,
    Row,
    RowChange,
    Thread,
    Write,
    WriteKey,
    name_of,
)
from ckpt_cli.savers.about import Ability, About, Totals
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.faults import already_exists, no_longer_exists

T = TypeVar("T")


class MemorySaver(Saver):
    """Records that exist only in this process."""

    name: ClassVar[str] = "memory"
    orders_writes_as_library: ClassVar[bool] = True
    abilities = frozenset(Ability)

    def __init__(self, records: Iterable[Checkpoint | Write] = ()) -> None:
        self._checkpoints: dict[Ref, Checkpoint] = {}
        self._writes: dict[WriteKey, Write] = {}
        if initial := tuple(records):
            self.apply(Plan("given", initial))

    def moment(self, look: Callable[[], T]) -> T:
        """Run `look`; no other program can write meanwhile."""
        return look()

    def about(self) -> About:
        """A database in memory."""
        return About("memory", "memory", "this version's records", "memory", {})

    def totals(self) -> Totals:
        """Count everything."""
        ids = [ref.checkpoint_id for ref in self._checkpoints]
        threads = len({ref.thread_id for ref in self._checkpoints})
        return Totals(threads, len(ids), len(self._writes), min(ids, default=None), max(ids, default=None))

    def threads(self) -> Iterator[Thread]:
        """Every thread, by the id of its head, highest first."""
        threads = [self._thread(thread_id) for thread_id in sorted({ref.thread_id for ref in self._checkpoints})]
        yield from sorted(threads, key=lambda thread: thread.head.checkpoint_id, reverse=True)

    def thread(self, thread_id: str) -> Thread | None:
        """One thread by its exact id."""
        return self._thread(thread_id) if self._refs(thread_id) else None

    def namespaces(self, thread_id: str) -> list[str]:
        """The namespaces of a thread, in text order."""
        return sorted({ref.ns for ref in self._refs(thread_id)})

    def count(self, thread_id: str) -> int:
        """How many checkpoints a thread has."""
        return len(self._refs(thread_id))

    def rows(self, thread_id: str, ns: str | None = None) -> Iterator[CheckpointRow]:
        """The rows of a thread or a namespace, ascending by namespace and id."""
        yield from [self._checkpoints[ref].row for ref in self._refs(thread_id, ns)]

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointRow]:
        """The rows with the highest ids, highest first."""
        return [self._checkpoints[ref].row for ref in self._refs(thread_id, ns)[::-1][:limit]]

    def row(self, ref: Ref) -> CheckpointRow | None:
        """One skeleton row."""
        return self._checkpoints[ref].row if ref in self._checkpoints else None

    def metadata(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """The metadata of those checkpoints that exist."""
        yield from [(ref, self._checkpoints[ref].metadata) for ref in refs if ref in self._checkpoints]

    def checkpoints(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """Those checkpoints that exist, in the order of `refs`."""
        for ref in refs:
            if ref in self._checkpoints:
                yield self._checkpoints[ref]

    def writes(
        self,
        thread_id: str,
        ns: str | None = None,
        checkpoint_ids: Collection[str] | None = None,
        *,
        values: int | None = None,
    ) -> Iterator[Write]:
        """Writes by namespace and checkpoint, then in canonical order."""
        writes = [
            write
            for write in self._writes.values()
            if write.thread_id == thread_id
            and (ns is None or write.ns == ns)
            and (checkpoint_ids is None or write.checkpoint_id in checkpoint_ids)
        ]
        for write in sorted(writes, key=lambda write: (write.ref, write.order)):
            yield write if values is None or write.size <= values else write._replace(payload=None)

    @property
    def identity(self) -> str:
        """An address of its own for each instance."""
        return f"memory:{id(self)}"

    def transaction(self, work: Callable[[], T]) -> T:
        """Run `work`; if it raises an error, restore the records from before it."""
        before = dict(self._checkpoints), dict(self._writes)
        try:
            return work()
        except BaseException:
            self._checkpoints, self._writes = before
            raise

    def expand(self, plan: Plan) -> Iterator[RowChange]:
        """One row for each record."""
        for name in plan.remove:
            yield RowChange(*_key(name), self._existing(name), None)
        for record in plan.replace:
            yield RowChange(*_key(name_of(record)), self._existing(name_of(record)), _row(record))
        for record in plan.add:
            if self.current(*_key(name_of(record))) is not None:
                raise already_exists(name_of(record))
            yield RowChange(*_key(name_of(record)), None, _row(record))

    def record_of(self, relation: str, key: Row) -> Ref | WriteKey | None:
        """The record of a row; here every row is a record."""
        return _from_key(relation, key)

    def current(self, relation: str, key: Row) -> Row | None:
        """A record as a row."""
        record = self._table(relation).get(_from_key(relation, key))
        return None if record is None else _row(record)

    def change(self, changes: Iterable[RowChange]) -> None:
        """Add, replace and remove records."""
        for change in changes:
            table, name = self._table(change.relation), _from_key(change.relation, change.key)
            if (name in table) is (change.before is None):
                raise (already_exists if name in table else no_longer_exists)(name)
            if change.after is None:
                del table[name]
            else:
                table[name] = _record(change.relation, change.after)

    def additions(self) -> Iterator[RowChange]:
        """The changes that add all records to an empty database, for a saver that stores them somewhere else."""
        records: list[Record] = [*self._checkpoints.values(), *self._writes.values()]
        for record in records:
            yield RowChange(*_key(name_of(record)), None, _row(record))

    def _table(self, relation: str) -> dict[Any, Any]:
        return self._checkpoints if relation == "checkpoints" else self._writes

    def _existing(self, name: Ref | WriteKey) -> Row:
        row = self.current(*_key(name))
        if row is None:
            raise no_longer_exists(name)
        return row

    def close(self) -> None:
        """Nothing to close."""

    def _refs(self, thread_id: str, ns: str | None = None) -> list[Ref]:
        return sorted(r for r in self._checkpoints if r.thread_id == thread_id and (ns is None or r.ns == ns))

    def _thread(self, thread_id: str) -> Thread:
        refs = self._refs(thread_id)
        heads = [ref for ref in refs if ref.ns == ""] or refs
        return Thread(thread_id, max(heads, key=lambda ref: ref.checkpoint_id))


_CHANNEL_PREFIX = "channel "


def _key(name: Ref | WriteKey) -> tuple[str, Row]:
    if isinstance(name, Ref):
        return "checkpoints", {"thread_id": name.thread_id, "ns": name.ns, "checkpoint_id": name.checkpoint_id}
    return "writes", {**_key(name.ref)[1], "task_id": name.task_id, "idx": name.idx}


def _from_key(relation: str, key: Row) -> Ref | WriteKey:
    columns: Any = key
    ref = Ref(columns["thread_id"], columns["ns"], columns["checkpoint_id"])
    return ref if relation == "checkpoints" else WriteKey(ref, columns["task_id"], columns["idx"])


def _row(record: Record) -> Row:
    """A record as the row that the operation log keeps."""
    if isinstance(record, Checkpoint):
        row, body, metadata = record.row, record.body, record.metadata
        own = {"parent": row.parent_id, "tag": body.tag, "data": body.data}
        columns = {**_key(row.ref)[1], **own, "metadata_tag": metadata.tag, "metadata": metadata.data}
        apart = {
            f"{_CHANNEL_PREFIX}{name}": f"{p.tag}:".encode() + p.data for name, p in (record.channels or {}).items()
        }
        return {**columns, "apart": record.channels is not None, **apart}
    if record.payload is None:
        raise ValueError(f"write {record.idx} of task {record.task_id} has no payload")
    channel = {"channel": record.channel, "task_path": record.task_path}
    return {**_key(name_of(record))[1], **channel, "tag": record.payload.tag, "data": record.payload.data}


def _record(relation: str, row: Row) -> Record:
    columns: Any = row
    place = (columns["thread_id"], columns["ns"], columns["checkpoint_id"])
    payload = Payload(columns["tag"], columns["data"])
    if relation == "writes":
        task = (columns["task_id"], columns["idx"], columns["channel"], columns["task_path"])
        return Write(*place, *task, payload, len(payload.data))
    skeleton = CheckpointRow(*place, columns["parent"], len(payload.data))
    metadata = Payload(columns["metadata_tag"], columns["metadata"])
    return Checkpoint(skeleton, payload, metadata, _channels(columns) if columns["apart"] else None)


def _channels(columns: Mapping[str, Any]) -> dict[str, Payload]:
    """The payloads of the channels that are stored apart from the body."""
    parts = {
        name.removeprefix(_CHANNEL_PREFIX): data.partition(b":")
        for name, data in columns.items()
        if name.startswith(_CHANNEL_PREFIX)
    }
    return {name: Payload(tag.decode(), data) for name, (tag, _, data) in parts.items()}
