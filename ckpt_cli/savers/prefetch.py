"""If each read is a round trip, fetches the records of many threads or checkpoints at once, by hints.

Commands read thread by thread, which would need several round trips for each thread. So they give hints about their
next reads. These reads are then answered from memory; all other reads are passed on to the real saver.

Within a moment a namespace keeps the head that was read first, also on servers where an application may write between
two reads: otherwise a plan might be computed from one head, and its basis from the next.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain, islice
from typing import TypeVar

from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Ref, RowChange, Thread, Write
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.head_reads import HeadRead, HeadReader, LoneWrites
from ckpt_cli.savers.passing import PassingSaver

T = TypeVar("T")

_FEW = 2  # a hint about fewer checkpoints is ignored
_HEADS = 1000  # heads that a moment keeps
_BYTES = 8 << 20  # after so many bytes of checkpoints, or of writes, a hint is ignored


class PrefetchingSaver(PassingSaver):
    """Keeps the records that hints fetched until the next call of `moment`, the next hint about threads or a write.

    What `head_reads` gave is kept until its next call, so that a closer look at some of its threads reads the rest.
    """

    def __init__(self, saver: Saver) -> None:
        super().__init__(saver)
        self._heads: dict[tuple[str, str], list[CheckpointRow]] | None = None  # None outside of moments
        self._head_reads: dict[str, HeadRead] = {}
        self._forget()

    def _forget_all(self) -> None:
        self._forget()
        self._head_reads = {}

    def _forget(self) -> None:
        self._rows: dict[str, list[CheckpointRow]] = {}
        self._threads_to_fetch: list[str] = []
        self._checkpoints: dict[Ref, Checkpoint] = {}
        self._writes: dict[Ref, list[Write]] = {}

    def expect_threads(self, threads: Collection[Thread]) -> None:
        """Fetch the rows of these threads without values, and their heads and first checkpoints with writes."""
        self.expect_whole([thread.thread_id for thread in threads])
        self._threads_to_fetch = []
        heads = [thread.head for thread in threads]
        firsts = [next((r.ref for r in self._rows[head.thread_id] if r.ns == head.ns), head) for head in heads]
        self.expect(list(dict.fromkeys([*heads, *firsts])))

    def expect_whole(self, thread_ids: Collection[str]) -> None:
        """Fetch the rows of these threads without values. Each read of a thread then fetches a page of threads."""
        self._forget()
        rows: dict[str, list[CheckpointRow]] = {thread_id: [] for thread_id in thread_ids}
        known = [self._head_reads[thread_id].rows for thread_id in rows if thread_id in self._head_reads]
        others = [thread_id for thread_id in rows if thread_id not in self._head_reads]
        for row in self._noting_heads(chain(*known, self._saver.rows_of(others) if others else ())):
            rows[row.thread_id].append(row)
        self._rows, self._threads_to_fetch = rows, list(rows)

    def _fetch_page_from(self, thread_id: str) -> None:
        """Fetch a hinted thread whole if it fits in a page, and as many of the next threads as fit in the same page."""
        if thread_id not in self._threads_to_fetch:
            return
        refs: list[Ref] = []
        self._threads_to_fetch = self._threads_to_fetch[self._threads_to_fetch.index(thread_id) :]
        while self._threads_to_fetch and len(refs) + len(self._rows[self._threads_to_fetch[0]]) <= self.page:
            refs += [row.ref for row in self._rows[self._threads_to_fetch.pop(0)]]
        self._threads_to_fetch = [other for other in self._threads_to_fetch if other != thread_id]
        if refs:
            self.expect(refs)

    def expect(self, refs: Collection[Ref]) -> None:
        """Fetch these checkpoints and their writes, unless they are in memory; beyond a page the oldest are dropped.

        If values are large, only the first of these checkpoints are fetched, or none of the writes. What isn't fetched
        is read when somebody asks for it.
        """
        new = [ref for ref in refs if ref not in self._writes]
        if len(refs) < _FEW or not new:
            return
        new = self._fetch_checkpoints(new)
        self._fetch_writes(new)
        for ref in list(self._writes)[: -max(self.page, len(refs))]:
            del self._writes[ref]
            self._checkpoints.pop(ref, None)

    def _fetch_checkpoints(self, refs: list[Ref]) -> list[Ref]:
        """Fetch some megabytes of checkpoints; returns those of `refs` that were fetched or don't exist."""
        places, weight = {ref: place for place, ref in enumerate(refs)}, 0
        reads = (self._head_reads.get(ref.thread_id) for ref in refs)
        known = {read.head: read.checkpoint for read in reads if read is not None and read.checkpoint is not None}
        self._checkpoints |= {ref: known[ref] for ref in refs if ref in known}
        unread = [ref for ref in refs if ref not in known]
        for checkpoint in self._saver.checkpoints(unread) if unread else ():
            ref = checkpoint.row.ref
            self._checkpoints[ref] = checkpoint
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
        self._writes |= writes

    def moment(self, look: Callable[[], T]) -> T:
        """See `Saver.moment`; nothing is kept from one moment to the next."""

        is_outermost = self._heads is None

        def fresh() -> T:
            self._forget_all()
            if is_outermost:
                self._heads = {}
            return look()

        try:
            return self._saver.moment(fresh)
        finally:
            if is_outermost:
                self._heads = None

    def threads(self) -> Iterator[Thread]:
        """See `Saver.threads`."""
        return self._saver.threads()

    def thread(self, thread_id: str) -> Thread | None:
        """See `Saver.thread`."""
        return self._saver.thread(thread_id)

    def namespaces(self, thread_id: str) -> list[str]:
        """See `Saver.namespaces`."""
        cached = self._rows.get(thread_id)
        return self._saver.namespaces(thread_id) if cached is None else sorted({row.ns for row in cached})

    def count(self, thread_id: str) -> int:
        """See `Saver.count`."""
        cached = self._rows.get(thread_id)
        return self._saver.count(thread_id) if cached is None else len(cached)

    def rows(self, thread_id: str, ns: str | None = None) -> Iterator[CheckpointRow]:
        """See `Saver.rows`."""
        cached = self._rows.get(thread_id)
        if cached is None:
            return self._noting_heads(self._saver.rows(thread_id, ns))
        return (r for r in cached if ns is None or r.ns == ns)

    def _noting_heads(self, rows: Iterable[CheckpointRow]) -> Iterator[CheckpointRow]:
        last: CheckpointRow | None = None
        for row in rows:
            if last is not None and (last.thread_id, last.ns) != (row.thread_id, row.ns):
                self._keep_head(last)
            last = row
            yield row
        if last is not None:
            self._keep_head(last)

    def _keep_head(self, row: CheckpointRow) -> None:
        if self._heads is not None and len(self._heads) < _HEADS:
            self._heads.setdefault((row.thread_id, row.ns), [row])

    def rows_of(self, thread_ids: Collection[str]) -> Iterator[CheckpointRow]:
        """See `Saver.rows_of`; the rows that are in memory come first."""
        for thread_id in thread_ids:
            yield from self._rows.get(thread_id, ())
        yield from self._saver.rows_of([thread_id for thread_id in thread_ids if thread_id not in self._rows])

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointRow]:
        """See `Saver.newest`."""
        if limit == 1 and self._heads is not None and (head := self._heads.get((thread_id, ns))) is not None:
            return head
        rows = self._saver.newest(thread_id, ns, limit)
        if rows:
            self._keep_head(rows[0])
        return rows

    def row(self, ref: Ref) -> CheckpointRow | None:
        """See `Saver.row`."""
        cached = self._rows.get(ref.thread_id)
        return self._saver.row(ref) if cached is None else next((row for row in cached if row.ref == ref), None)

    def metadata(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """See `Saver.metadata`."""
        if all(ref in self._checkpoints for ref in refs):
            return ((ref, self._checkpoints[ref].metadata) for ref in refs)
        return self._saver.metadata(refs)

    def checkpoints(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """See `Saver.checkpoints`."""
        left = iter(refs)
        while page := list(islice(left, self.page)):
            self._fetch_page_from(page[0].thread_id)
            cached = {ref: self._checkpoints[ref] for ref in page if ref in self._checkpoints}
            missing = [ref for ref in page if ref not in cached]
            fetched = self._saver.checkpoints(missing) if missing else iter(())
            if not cached:
                yield from fetched
                continue
            upcoming = next(fetched, None)
            for ref in page:
                if ref in cached:
                    yield cached.pop(ref)
                elif upcoming is not None and upcoming.row.ref == ref:
                    yield upcoming
                    upcoming = next(fetched, None)

    def headers(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """See `Saver.headers`."""
        return self._saver.headers(refs)

    def writes(
        self,
        thread_id: str,
        ns: str | None = None,
        checkpoint_ids: Collection[str] | None = None,
        *,
        values: int | None = None,
    ) -> Iterator[Write]:
        """See `Saver.writes`."""
        if ns is None or checkpoint_ids is None:
            return self._saver.writes(thread_id, ns, checkpoint_ids, values=values)
        self._fetch_page_from(thread_id)
        refs = [Ref(thread_id, ns, checkpoint_id) for checkpoint_id in sorted(set(checkpoint_ids))]
        if not all(ref in self._writes for ref in refs):
            return self._saver.writes(thread_id, ns, checkpoint_ids, values=values)
        return self._cached_writes(refs, values)

    def writes_on(self, refs: Collection[Ref], *, values: int | None = None) -> Iterator[Write]:
        """See `Saver.writes_on`."""
        if not all(ref in self._writes for ref in refs):
            return self._saver.writes_on(refs, values=values)
        return self._cached_writes(refs, values)

    def head_reads(self, heads: Collection[Ref]) -> Iterator[HeadRead]:
        """See `HeadReader.head_reads`; some megabytes of bodies and writes are kept."""
        self._head_reads, weight = {}, 0
        for read in self._saver.head_reads(heads):
            weight += _weight(read)
            kept = read if weight <= _BYTES else read._replace(checkpoint=None, writes=None)
            self._head_reads[read.head.thread_id] = kept
            yield read

    def lone_writes(
        self, refs: Collection[Ref], task_path: str, *, without: str, values: int
    ) -> Iterator[tuple[Ref, LoneWrites | None]]:
        """See `HeadReader.lone_writes`."""
        where = HeadReader if all(ref in self._writes for ref in refs) else PassingSaver
        return where.lone_writes(self, refs, task_path, without=without, values=values)

    def _cached_writes(self, refs: Iterable[Ref], values: int | None) -> Iterator[Write]:
        cached = (write for ref in dict.fromkeys(refs) for write in self._writes[ref])
        return (w if values is None or w.size <= values else w._replace(payload=None) for w in cached)

    def transaction(self, work: Callable[[], T]) -> T:
        """See `Saver.transaction`; nothing that was fetched before is used inside it."""
        self._forget_all()
        try:
            return self._saver.transaction(work)
        finally:
            self._forget_all()

    def change(self, changes: Iterable[RowChange]) -> None:
        """See `Saver.change`."""
        self._forget_all()
        self._saver.change(changes)


def _weight(read: HeadRead) -> int:
    """The bytes of a head's body and writes."""
    size = 0 if read.checkpoint is None else _size(read.checkpoint)
    return size + sum(write.size for write in read.writes or ())


def _size(checkpoint: Checkpoint) -> int:
    """The bytes of a checkpoint's body and channels."""
    return sum(len(payload.data) for payload in (checkpoint.body, *(checkpoint.channels or {}).values()))
