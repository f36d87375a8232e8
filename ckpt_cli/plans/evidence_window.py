"""`EvidenceWindow`: reads the newest steps of other threads, until as much was read as is allowed.

Plans for many threads that are made in one moment need nearly the same other threads, so each is read once. It counts
for each plan: a thread has the same plan alone and among many.
"""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field

from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.model import Checkpoint, CheckpointRow, Ref
from ckpt_cli.plans.history_reading import read_history
from ckpt_cli.plans.same_graph import Shape, shape_of
from ckpt_cli.plans.thread_history import ThreadHistory
from ckpt_cli.reading import Reader
from ckpt_cli.values.state import State, TaskWrite

STEPS = 300
"""At most this many checkpoints of other threads are read."""
STEPS_OF_THREAD = 100
"""At most this many checkpoints of one thread are read, the newest ones."""
_PAGE = 25  # checkpoints that are read together, each with its writes
_MOST_BYTES = 16_000_000  # bytes of checkpoints and writes that are read; a page may go beyond it
_LARGEST_WRITE = 1_000_000  # bytes; a thread is read up to the first longer write


class _Enough(Exception):
    """As much of other threads was read as is allowed."""


@dataclass(frozen=True, slots=True)
class _ReadThread:
    """A history that was read whole, with what it took from the limits.

    Attributes:
        ids: its newest checkpoints, at `most` so many.
        size: the bytes of these checkpoints and their writes.
    """

    history: ThreadHistory
    ids: Collection[str]
    most: int
    size: int


@dataclass(slots=True)
class _Read:
    """What was read of other threads in this moment.

    Attributes:
        shapes: head to its shape, and the bytes of the head.
        threads: namespace and thread id to the thread's history.
    """

    shapes: dict[Ref, tuple[Shape, int]] = field(default_factory=dict)
    threads: dict[tuple[str, str], _ReadThread] = field(default_factory=dict)


class EvidenceWindow(Reader):
    """Reads the newest checkpoints of one namespace of each thread, until as much was read as is allowed."""

    def __init__(self, reader: Reader, ns: str) -> None:
        super().__init__(reader.saver, reader.codec, reader.clock)
        self.saver = reader.saver
        self._ns = ns
        self._steps_left, self._bytes_left = STEPS, _MOST_BYTES
        self._newest: dict[str, list[CheckpointRow]] = {}
        self._read: _Read = reader.of_moment.setdefault(EvidenceWindow, _Read())

    def history(self, thread_id: str, counted: set[str]) -> tuple[ThreadHistory, bool]:
        """The history of a thread, and whether no limit left a part of it unread.

        The checkpoints in `counted` are no steps of it, and its own are added there.
        """
        most, left = min(STEPS_OF_THREAD, self._steps_left), self._bytes_left
        if most <= 0 or left <= 0:
            return ThreadHistory(), False
        if (known := self._known(thread_id, counted, most)) is not None:
            self._bytes_left -= known.size
            self._count(known.ids, counted)
            return known.history, len(known.ids) < STEPS_OF_THREAD
        ids = [row.checkpoint_id for row in self.rows(thread_id)]
        copied, history = counted.intersection(ids), ThreadHistory()
        self._count(ids, counted)
        try:
            read_history(self, thread_id, self._ns, history, page=_PAGE, counted=copied)
        except _Enough:
            return history, False
        if not copied:
            self._read.threads[self._ns, thread_id] = _ReadThread(history, ids, most, left - self._bytes_left)
        return history, len(ids) < STEPS_OF_THREAD

    def _known(self, thread_id: str, counted: set[str], most: int) -> _ReadThread | None:
        """The thread as it was read for another plan, if these limits would give the same."""
        known = self._read.threads.get((self._ns, thread_id))
        if known is None or known.size >= self._bytes_left or not counted.isdisjoint(known.ids):
            return None
        return known if known.most == most or len(known.ids) < min(known.most, most) else None

    def _count(self, ids: Collection[str], counted: set[str]) -> None:
        self._steps_left -= len(ids)
        counted.update(ids)

    def shapes(self, refs: Collection[Ref]) -> dict[Ref, Shape]:
        """The shapes of these checkpoints, in their order, as far as they can be read."""
        known = self._read.shapes
        for checkpoint in self.saver.headers([ref for ref in refs if ref not in known]):
            before = self._bytes_left
            with suppress(PayloadCorrupt):
                shape = shape_of(self.decode(checkpoint))
                known[checkpoint.row.ref] = shape, before - self._bytes_left
            if self._bytes_left <= 0:
                break
        shapes, left = dict[Ref, Shape](), _MOST_BYTES
        for ref in refs:
            if ref in known and left > 0:
                shapes[ref] = known[ref][0]
                left -= known[ref][1]
        return shapes

    def rows(self, thread_id: str) -> list[CheckpointRow]:
        """See `Reader.rows`; only the newest rows of the namespace."""
        if thread_id not in self._newest:
            rows = self.saver.newest(thread_id, self._ns, min(STEPS_OF_THREAD, self._steps_left))
            self._newest = {thread_id: rows[::-1]}
        return self._newest[thread_id]

    def decode(self, checkpoint: Checkpoint) -> State:
        """See `Reader.decode`.

        Raises:
            _Enough: too many bytes were read before.
        """
        if self._bytes_left <= 0:
            raise _Enough
        channels = (checkpoint.channels or {}).values()
        self._bytes_left -= sum(len(payload.data) for payload in (checkpoint.body, checkpoint.metadata, *channels))
        return super().decode(checkpoint)

    def writes_by_checkpoint(
        self, thread_id: str, ns: str, checkpoint_ids: Collection[str] | None = None, *, values: int | None = None
    ) -> dict[str, list[TaskWrite]]:
        """See `Reader.writes_by_checkpoint`.

        Raises:
            _Enough: a write is very long, or too many bytes were read.
        """
        limit = _LARGEST_WRITE if values is None else values
        by_checkpoint = super().writes_by_checkpoint(thread_id, ns, checkpoint_ids, values=limit)
        rows = [write.row for writes in by_checkpoint.values() for write in writes]
        self._bytes_left -= sum(len(row.payload.data) for row in rows if row.payload is not None)
        if self._bytes_left <= 0 or (values is None and any(row.payload is None for row in rows)):
            raise _Enough
        return by_checkpoint
