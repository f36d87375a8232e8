"""If each read is a round trip, fetches the records of many threads or checkpoints at once, by hints.

Commands read thread by thread, which would need several round trips for each thread. So they give hints about their
next reads. These reads are then answered from memory; all other reads are passed on to the real saver.

Within a moment a namespace keeps the head that was read first (`moment_heads`).
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from typing import TypeVar

from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Ref, RowChange, Thread, Write
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.fetched_records import FetchedRecords
from ckpt_cli.savers.head_reads import HeadRead, HeadReader, LoneWrites
from ckpt_cli.savers.moment_heads import MomentHeads
from ckpt_cli.savers.passing import PassingSaver

T = TypeVar("T")


class PrefetchingSaver(PassingSaver):
    """Keeps the records that hints fetched until the next call of `moment`, the next hint about threads or a write.

    What `head_reads` gave is kept until its next call, so that a closer look at some of its threads reads the rest.
    """

    def __init__(self, saver: Saver) -> None:
        super().__init__(saver)
        self._heads = MomentHeads()
        self._fetched = FetchedRecords(saver, self._heads.note)

    def expect_threads(self, threads: Collection[Thread]) -> None:
        """See `FetchedRecords.expect_threads`."""
        self._fetched.expect_threads(threads)

    def expect_whole(self, thread_ids: Collection[str]) -> None:
        """See `FetchedRecords.expect_whole`."""
        self._fetched.expect_whole(thread_ids)

    def expect(self, refs: Collection[Ref]) -> None:
        """See `FetchedRecords.expect`."""
        self._fetched.expect(refs)

    def moment(self, look: Callable[[], T]) -> T:
        """See `Saver.moment`; nothing is kept from one moment to the next."""

        is_outermost = not self._heads.is_open

        def fresh() -> T:
            self._fetched.forget_all()
            if is_outermost:
                self._heads.begin()
            return look()

        try:
            return self._saver.moment(fresh)
        finally:
            if is_outermost:
                self._heads.end()

    def threads(self) -> Iterator[Thread]:
        """See `Saver.threads`."""
        return self._saver.threads()

    def thread(self, thread_id: str) -> Thread | None:
        """See `Saver.thread`."""
        return self._saver.thread(thread_id)

    def namespaces(self, thread_id: str) -> list[str]:
        """See `Saver.namespaces`."""
        cached = self._fetched.rows.get(thread_id)
        return self._saver.namespaces(thread_id) if cached is None else sorted({row.ns for row in cached})

    def count(self, thread_id: str) -> int:
        """See `Saver.count`."""
        cached = self._fetched.rows.get(thread_id)
        return self._saver.count(thread_id) if cached is None else len(cached)

    def rows(self, thread_id: str, ns: str | None = None) -> Iterator[CheckpointRow]:
        """See `Saver.rows`."""
        cached = self._fetched.rows.get(thread_id)
        if cached is None:
            return self._heads.note(self._saver.rows(thread_id, ns))
        return (r for r in cached if ns is None or r.ns == ns)

    def rows_of(self, thread_ids: Collection[str]) -> Iterator[CheckpointRow]:
        """See `Saver.rows_of`; the rows that are in memory come first."""
        for thread_id in thread_ids:
            yield from self._fetched.rows.get(thread_id, ())
        yield from self._saver.rows_of([thread_id for thread_id in thread_ids if thread_id not in self._fetched.rows])

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointRow]:
        """See `Saver.newest`."""
        if limit == 1 and (head := self._heads.get(thread_id, ns)) is not None:
            return head
        rows = self._saver.newest(thread_id, ns, limit)
        if rows:
            self._heads.keep(rows[0])
        return rows

    def row(self, ref: Ref) -> CheckpointRow | None:
        """See `Saver.row`."""
        cached = self._fetched.rows.get(ref.thread_id)
        return self._saver.row(ref) if cached is None else next((row for row in cached if row.ref == ref), None)

    def metadata(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """See `Saver.metadata`."""
        if all(ref in self._fetched.checkpoints for ref in refs):
            return ((ref, self._fetched.checkpoints[ref].metadata) for ref in refs)
        return self._saver.metadata(refs)

    def checkpoints(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """See `Saver.checkpoints`."""
        left = iter(refs)
        while page := list(islice(left, self.page)):
            self._fetched.fetch_page_from(page[0].thread_id)
            cached = {ref: self._fetched.checkpoints[ref] for ref in page if ref in self._fetched.checkpoints}
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
        self._fetched.fetch_page_from(thread_id)
        refs = [Ref(thread_id, ns, checkpoint_id) for checkpoint_id in sorted(set(checkpoint_ids))]
        if not all(ref in self._fetched.writes for ref in refs):
            return self._saver.writes(thread_id, ns, checkpoint_ids, values=values)
        return self._cached_writes(refs, values)

    def writes_on(self, refs: Collection[Ref], *, values: int | None = None) -> Iterator[Write]:
        """See `Saver.writes_on`."""
        if not all(ref in self._fetched.writes for ref in refs):
            return self._saver.writes_on(refs, values=values)
        return self._cached_writes(refs, values)

    def head_reads(self, heads: Collection[Ref]) -> Iterator[HeadRead]:
        """See `HeadReader.head_reads`."""
        return self._fetched.keep(self._saver.head_reads(heads))

    def lone_writes(
        self, refs: Collection[Ref], task_path: str, *, without: str, values: int
    ) -> Iterator[tuple[Ref, LoneWrites | None]]:
        """See `HeadReader.lone_writes`."""
        where = HeadReader if all(ref in self._fetched.writes for ref in refs) else PassingSaver
        return where.lone_writes(self, refs, task_path, without=without, values=values)

    def _cached_writes(self, refs: Iterable[Ref], values: int | None) -> Iterator[Write]:
        cached = (write for ref in dict.fromkeys(refs) for write in self._fetched.writes[ref])
        return (w if values is None or w.size <= values else w._replace(payload=None) for w in cached)

    def transaction(self, work: Callable[[], T]) -> T:
        """See `Saver.transaction`; nothing that was fetched before is used inside it."""
        self._fetched.forget_all()
        try:
            return self._saver.transaction(work)
        finally:
            self._fetched.forget_all()

    def change(self, changes: Iterable[RowChange]) -> None:
        """See `Saver.change`."""
        self._fetched.forget_all()
        self._saver.change(changes)
