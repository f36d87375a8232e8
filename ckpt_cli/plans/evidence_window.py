"""`EvidenceWindow`: reads the newest steps of other threads, until as much was read as is allowed."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress

from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.model import Checkpoint, CheckpointRow, Ref
from ckpt_cli.plans.thread_history import ThreadHistory, read_history
from ckpt_cli.reading import Reader
from ckpt_cli.values.state import State, TaskWrite

STEPS = 300
"""At most this many checkpoints of other threads are read."""
STEPS_OF_THREAD = 100
"""At most this many checkpoints of one thread are read, the newest ones."""
_PAGE = 25  # checkpoints that are read together, each with its writes
_MOST_BYTES = 16_000_000  # bytes of checkpoints and writes that are read; a page may go beyond it
_LARGEST_WRITE = 1_000_000  # bytes; a thread is read up to the first longer write


class ReadEnough(Exception):
    """As much of other threads was read as is allowed."""


class EvidenceWindow(Reader):
    """Reads the newest checkpoints of one namespace of each thread, until as much was read as is allowed."""

    def __init__(self, reader: Reader, ns: str) -> None:
        super().__init__(reader.saver, reader.codec, reader.clock)
        self.saver = reader.saver
        self._ns = ns
        self._steps_left, self._bytes_left = STEPS, _MOST_BYTES
        self._newest: dict[str, list[CheckpointRow]] = {}

    def fill(self, history: ThreadHistory, thread_id: str, counted: set[str]) -> None:
        """Read the history of a thread; the checkpoints in `counted` are no steps of it, and its own are added there.

        Raises:
            ReadEnough: the history has a part of the steps.
        """
        if self._steps_left <= 0 or self._bytes_left <= 0:
            raise ReadEnough
        ids = [row.checkpoint_id for row in self.rows(thread_id)]
        self._steps_left -= len(ids)
        known = counted.intersection(ids)
        counted.update(ids)
        read_history(self, thread_id, self._ns, history, page=_PAGE, counted=known)

    def last_rows(self, thread_id: str) -> int:
        """The number of checkpoints that were read of this thread if it was the last one; 0 if it wasn't read."""
        return len(self._newest.get(thread_id, ()))

    def headers(self, refs: Iterable[Ref]) -> Iterator[State]:
        """These checkpoints as far as they can be read, without channels that are stored apart."""
        for checkpoint in self.saver.headers(refs):
            with suppress(PayloadCorrupt):
                yield self.decode(checkpoint)
            if self._bytes_left <= 0:
                return

    def rows(self, thread_id: str) -> list[CheckpointRow]:
        """See `Reader.rows`; only the newest rows of the namespace."""
        if thread_id not in self._newest:
            rows = self.saver.newest(thread_id, self._ns, min(STEPS_OF_THREAD, self._steps_left))
            self._newest = {thread_id: rows[::-1]}
        return self._newest[thread_id]

    def decode(self, checkpoint: Checkpoint) -> State:
        """See `Reader.decode`.

        Raises:
            ReadEnough: too many bytes were read before.
        """
        if self._bytes_left <= 0:
            raise ReadEnough
        channels = (checkpoint.channels or {}).values()
        self._bytes_left -= sum(len(payload.data) for payload in (checkpoint.body, checkpoint.metadata, *channels))
        return super().decode(checkpoint)

    def writes_by_checkpoint(
        self, thread_id: str, ns: str, checkpoint_ids: Collection[str] | None = None, *, values: int | None = None
    ) -> dict[str, list[TaskWrite]]:
        """See `Reader.writes_by_checkpoint`.

        Raises:
            ReadEnough: a write is very long, or too many bytes were read.
        """
        limit = _LARGEST_WRITE if values is None else values
        by_checkpoint = super().writes_by_checkpoint(thread_id, ns, checkpoint_ids, values=limit)
        rows = [write.row for writes in by_checkpoint.values() for write in writes]
        self._bytes_left -= sum(len(row.payload.data) for row in rows if row.payload is not None)
        if self._bytes_left <= 0 or (values is None and any(row.payload is None for row in rows)):
            raise ReadEnough
        return by_checkpoint
