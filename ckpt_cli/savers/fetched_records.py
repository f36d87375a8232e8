"""`FetchedRecords`: what hints fetched, of many threads or checkpoints at once."""

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain

from ckpt_cli.model import Checkpoint, CheckpointRow, Ref, Thread, Write
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.head_reads import HeadRead

_FEW = 2  # a hint about fewer checkpoints is ignored
_BYTES = 8 << 20  # after so many bytes of checkpoints, or of writes, a hint is ignored


class FetchedRecords:
    """What was fetched since the last `forget`, and how more is fetched.

    What `keep` got from head reads stays until `forget_all`, so that a closer look at some of those threads reads only
    the rest.

    Args:
        saver: where it is fetched from.
        note: passes rows on, and may note them.

    Attributes:
        rows: all rows of a thread, by thread id.
        checkpoints: checkpoints by their names.
        writes: all writes of a checkpoint, by its name.
    """

    def __init__(self, saver: Saver, note: Callable[[Iterable[CheckpointRow]], Iterator[CheckpointRow]]) -> None:
        self._saver = saver
        self._note = note
        self.forget_all()

    def forget_all(self) -> None:
        """Keep nothing."""
        self.forget()
        self._head_reads: dict[str, HeadRead] = {}

    def forget(self) -> None:
        """Keep only head reads."""
        self.rows: dict[str, list[CheckpointRow]] = {}
        self.checkpoints: dict[Ref, Checkpoint] = {}
        self.writes: dict[Ref, list[Write]] = {}
        self._threads_to_fetch: list[str] = []

    def keep(self, reads: Iterable[HeadRead]) -> Iterator[HeadRead]:
        """Pass head reads on; they are kept until the next ones come, with some megabytes of bodies and writes."""
        self._head_reads, weight = {}, 0
        for read in reads:
            weight += _weight(read)
            kept = read if weight <= _BYTES else read._replace(checkpoint=None, writes=None)
            self._head_reads[read.head.thread_id] = kept
            yield read

    def expect_threads(self, threads: Collection[Thread]) -> None:
        """Fetch the rows of these threads without values, and their heads and first checkpoints with writes."""
        self.expect_whole([thread.thread_id for thread in threads])
        self._threads_to_fetch = []
        heads = [thread.head for thread in threads]
        firsts = [next((r.ref for r in self.rows[head.thread_id] if r.ns == head.ns), head) for head in heads]
        self.expect(list(dict.fromkeys([*heads, *firsts])))

    def expect_whole(self, thread_ids: Collection[str]) -> None:
        """Fetch the rows of these threads without values. Each read of a thread then fetches a page of threads."""
        self.forget()
        rows: dict[str, list[CheckpointRow]] = {thread_id: [] for thread_id in thread_ids}
        known = [self._head_reads[thread_id].rows for thread_id in rows if thread_id in self._head_reads]
        others = [thread_id for thread_id in rows if thread_id not in self._head_reads]
        for row in self._note(chain(*known, self._saver.rows_of(others) if others else ())):
            rows[row.thread_id].append(row)
        self.rows, self._threads_to_fetch = rows, list(rows)

    def fetch_page_from(self, thread_id: str) -> None:
        """Fetch a hinted thread whole if it fits in a page, and as many of the next threads as fit in the same page."""
        if thread_id not in self._threads_to_fetch:
            return
        refs: list[Ref] = []
        self._threads_to_fetch = self._threads_to_fetch[self._threads_to_fetch.index(thread_id) :]
        while self._threads_to_fetch and len(refs) + len(self.rows[self._threads_to_fetch[0]]) <= self._saver.page:
            refs += [row.ref for row in self.rows[self._threads_to_fetch.pop(0)]]
        self._threads_to_fetch = [other for other in self._threads_to_fetch if other != thread_id]
        if refs:
            self.expect(refs)

    def expect(self, refs: Collection[Ref]) -> None:
        """Fetch these checkpoints and their writes, unless they are in memory; beyond a page the oldest are dropped.

        If values are large, only the first of these checkpoints are fetched, or none of the writes. What isn't fetched
        is read when somebody asks for it.
        """
        new = [ref for ref in refs if ref not in self.writes]
        if len(refs) < _FEW or not new:
            return
        new = self._fetch_checkpoints(new)
        self._fetch_writes(new)
        for ref in list(self.writes)[: -max(self._saver.page, len(refs))]:
            del self.writes[ref]
            self.checkpoints.pop(ref, None)

    def _fetch_checkpoints(self, refs: list[Ref]) -> list[Ref]:
        """Fetch some megabytes of checkpoints; returns those of `refs` that were fetched or don't exist."""
        places, weight = {ref: place for place, ref in enumerate(refs)}, 0
        reads = (self._head_reads.get(ref.thread_id) for ref in refs)
        known = {read.head: read.checkpoint for read in reads if read is not None and read.checkpoint is not None}
        self.checkpoints |= {ref: known[ref] for ref in refs if ref in known}
        unread = [ref for ref in refs if ref not in known]
        for checkpoint in self._saver.checkpoints(unread) if unread else ():
            ref = checkpoint.row.ref
            self.checkpoints[ref] = checkpoint
            weight += _size(checkpoint)
            if weight > _BYTES:
                return refs[: places[ref] + 1]
        return refs

    def _fetch_writes(self, refs: list[Ref]) -> None:
        writes: dict[Ref, list[Write]] = {ref: [] for ref in refs}
        reads = (self._head_reads.get(ref.thread_id) for ref in refs)
        known = {read.head: [*read.writes] for read in reads if read is not None and read.writes is not None}
        writes |= {ref: known[ref] for ref in refs if ref in known}
        unread = [ref for ref in refs if ref not in known]
        weight = 0
        for write in self._saver.writes_on(unread) if unread else ():
            writes[write.ref].append(write)
            weight += write.size
            if weight > _BYTES:
                return
        self.writes |= writes


def _weight(read: HeadRead) -> int:
    """The bytes of a head's body and writes."""
    size = 0 if read.checkpoint is None else _size(read.checkpoint)
    return size + sum(write.size for write in read.writes) if read.writes else size


def _size(checkpoint: Checkpoint) -> int:
    """The bytes of a checkpoint's body and channels."""
    size = len(checkpoint.body.data)
    for _, data in checkpoint.channels.values() if checkpoint.channels else ():
        size += len(data)
    return size
