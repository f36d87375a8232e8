"""The memory saver: what the contract means, in dicts. Every other saver must do what this one does."""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import ClassVar, TypeVar

from ckpt_cli.errors import Refused
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Plan, Ref, Thread, Write
from ckpt_cli.savers.contract import Ability, About, Saver, Totals

T = TypeVar("T")

_WriteKey = tuple[Ref, str, int]


class MemorySaver(Saver):
    """Records in this process and nowhere else."""

    name: ClassVar[str] = "memory"
    abilities = frozenset({Ability.WRITE, Ability.ATOMIC, Ability.BRANCHES, Ability.TASK_PATHS})

    def __init__(self, records: Iterable[Checkpoint | Write] = ()) -> None:
        self._checkpoints: dict[Ref, Checkpoint] = {}
        self._writes: dict[_WriteKey, Write] = {}
        self.apply(Plan("given", tuple(records)))

    def moment(self, look: Callable[[], T]) -> T:
        """Nobody else is here."""
        return look()

    def about(self) -> About:
        """Says so."""
        return About("memory", "memory", "this version's records", "memory", {})

    def totals(self) -> Totals:
        """Count everything."""
        ids = [ref.checkpoint_id for ref in self._checkpoints]
        threads = len({ref.thread_id for ref in self._checkpoints})
        return Totals(threads, len(ids), len(self._writes), min(ids, default=None), max(ids, default=None))

    def threads(self) -> Iterator[Thread]:
        """Every thread, newest head first."""
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
        """Ascending by namespace and id."""
        yield from [self._checkpoints[ref].row for ref in self._refs(thread_id, ns)]

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointRow]:
        """The highest ids, highest first."""
        return [self._checkpoints[ref].row for ref in self._refs(thread_id, ns)[::-1][:limit]]

    def row(self, ref: Ref) -> CheckpointRow | None:
        """One skeleton row."""
        return self._checkpoints[ref].row if ref in self._checkpoints else None

    def metadata(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """The metadata of those that are there."""
        yield from [(ref, self._checkpoints[ref].metadata) for ref in refs if ref in self._checkpoints]

    def checkpoints(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """Those that are there, in the order asked."""
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
        """By namespace and checkpoint, then in canonical order."""
        found = [
            write
            for write in self._writes.values()
            if write.thread_id == thread_id
            and (ns is None or write.ns == ns)
            and (checkpoint_ids is None or write.checkpoint_id in checkpoint_ids)
        ]
        for write in sorted(found, key=lambda write: (write.ref, write.order)):
            yield write if values is None or write.size <= values else write._replace(payload=None)

    def apply(self, plan: Plan) -> None:
        """Add the records, all or none."""
        checkpoints, writes = dict(self._checkpoints), dict(self._writes)
        for record in plan.add:
            if isinstance(record, Checkpoint):
                _add(checkpoints, record.row.ref, _sized(record))
            else:
                _add(writes, (record.ref, record.task_id, record.idx), _measured(record))
        self._checkpoints, self._writes = checkpoints, writes

    def close(self) -> None:
        """Nothing to let go of."""

    def _refs(self, thread_id: str, ns: str | None = None) -> list[Ref]:
        return sorted(r for r in self._checkpoints if r.thread_id == thread_id and (ns is None or r.ns == ns))

    def _thread(self, thread_id: str) -> Thread:
        refs = self._refs(thread_id)
        heads = [ref for ref in refs if ref.ns == ""] or refs
        return Thread(thread_id, max(heads, key=lambda ref: ref.checkpoint_id))


K = TypeVar("K")


def _add(records: dict[K, T], key: K, record: T) -> None:
    if key in records:
        raise Refused(f"{key} exists already; nothing was written")
    records[key] = record


def _sized(checkpoint: Checkpoint) -> Checkpoint:
    return checkpoint._replace(row=checkpoint.row._replace(size=len(checkpoint.body.data)))


def _measured(write: Write) -> Write:
    if write.payload is None:
        raise ValueError(f"write {write.idx} of task {write.task_id} has no payload")
    return write._replace(size=len(write.payload.data))
