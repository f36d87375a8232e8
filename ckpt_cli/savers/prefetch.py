"""If each read is a round trip, fetches the records of many threads or checkpoints at once, by hints.

Commands read thread by thread, which would need several round trips for each thread. So they give hints about their
next reads. These reads are then answered from memory; all other reads are passed on to the real saver.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from typing import TypeVar

from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Plan, Ref, Row, RowChange, Thread, Write, WriteKey
from ckpt_cli.savers.about import About, Place, SideEffect, Totals
from ckpt_cli.savers.contract import Saver

T = TypeVar("T")

_FEW = 2  # a hint about fewer checkpoints is ignored


class PrefetchingSaver(Saver):
    """Keeps the records that hints fetched until the next call of `moment`, the next hint about threads or a write."""

    def __init__(self, saver: Saver) -> None:
        self._saver = saver
        self.name = saver.name  # type: ignore[misc]
        self.out_of_reach = saver.out_of_reach  # type: ignore[misc]
        self.form, self.abilities, self.page = saver.form, saver.abilities, saver.page
        self._forget()

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
        for row in self._saver.rows_of(list(rows)):
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
        """Fetch these checkpoints and their writes, unless they are in memory; beyond a page the oldest are dropped."""
        new = [ref for ref in refs if ref not in self._writes]
        if len(refs) < _FEW or not new:
            return
        self._checkpoints |= {checkpoint.row.ref: checkpoint for checkpoint in self._saver.checkpoints(new)}
        self._writes |= {ref: [] for ref in new}
        for write in self._saver.writes_on(new):
            self._writes[write.ref].append(write)
        for ref in list(self._writes)[: -max(self.page, len(refs))]:
            del self._writes[ref]
            self._checkpoints.pop(ref, None)

    def one_scan(self) -> AbstractContextManager[None]:
        """See `Saver.one_scan`."""
        return self._saver.one_scan()

    def moment(self, look: Callable[[], T]) -> T:
        """See `Saver.moment`; nothing is kept from one moment to the next."""

        def fresh() -> T:
            self._forget()
            return look()

        return self._saver.moment(fresh)

    def about(self) -> About:
        """See `Saver.about`."""
        return self._saver.about()

    def totals(self) -> Totals:
        """See `Saver.totals`."""
        return self._saver.totals()

    def threads(self) -> Iterator[Thread]:
        """See `Saver.threads`."""
        return self._saver.threads()

    def count_threads(self) -> int | None:
        """See `Saver.count_threads`."""
        return self._saver.count_threads()

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
        return self._saver.rows(thread_id, ns) if cached is None else (r for r in cached if ns is None or r.ns == ns)

    def rows_of(self, thread_ids: Collection[str]) -> Iterator[CheckpointRow]:
        """See `Saver.rows_of`; the rows that are in memory come first."""
        for thread_id in thread_ids:
            yield from self._rows.get(thread_id, ())
        yield from self._saver.rows_of([thread_id for thread_id in thread_ids if thread_id not in self._rows])

    def sizes(self, thread_ids: Collection[str]) -> Mapping[str, int] | None:
        """See `Saver.sizes`."""
        return self._saver.sizes(thread_ids)

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointRow]:
        """See `Saver.newest`."""
        return self._saver.newest(thread_id, ns, limit)

    def row(self, ref: Ref) -> CheckpointRow | None:
        """See `Saver.row`."""
        cached = self._rows.get(ref.thread_id)
        return self._saver.row(ref) if cached is None else next((row for row in cached if row.ref == ref), None)

    def metadata(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """See `Saver.metadata`."""
        if all(ref in self._checkpoints for ref in refs):
            return ((ref, self._checkpoints[ref].metadata) for ref in refs)
        return self._saver.metadata(refs)

    def having(self, key: str, text: str, thread_ids: Collection[str] | None = None) -> Iterator[str] | None:
        """See `Saver.having`."""
        return self._saver.having(key, text, thread_ids)

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
            cached |= {checkpoint.row.ref: checkpoint for checkpoint in fetched}
            yield from (cached[ref] for ref in page if ref in cached)

    def headers(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """See `Saver.headers`."""
        return self._saver.headers(refs)

    def sample(self, limit: int) -> list[Ref]:
        """See `Saver.sample`."""
        return self._saver.sample(limit)

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
        cached = (write for ref in refs for write in self._writes[ref])
        return (w if values is None or w.size <= values else w._replace(payload=None) for w in cached)

    def writes_on(self, refs: Collection[Ref], *, values: int | None = None) -> Iterator[Write]:
        """See `Saver.writes_on`."""
        return self._saver.writes_on(refs, values=values)

    def writes_of(self, thread_ids: Collection[str], *, values: int | None = None) -> Iterator[Write]:
        """See `Saver.writes_of`."""
        return self._saver.writes_of(thread_ids, values=values)

    @property
    def identity(self) -> str:
        """See `Saver.identity`."""
        return self._saver.identity

    def place(self) -> Place:
        """See `Saver.place`."""
        return self._saver.place()

    def original(self, seen: Place, is_it: Callable[[Saver], bool]) -> bool | None:
        """See `Saver.original`."""
        return self._saver.original(seen, is_it)

    def must_be_writable(self, *, trying: bool) -> None:
        """See `Saver.must_be_writable`."""
        self._saver.must_be_writable(trying=trying)

    def transaction(self, work: Callable[[], T]) -> T:
        """See `Saver.transaction`; nothing that was fetched before is used inside it."""
        self._forget()
        try:
            return self._saver.transaction(work)
        finally:
            self._forget()

    def expand(self, plan: Plan) -> Iterator[RowChange]:
        """See `Saver.expand`."""
        return self._saver.expand(plan)

    def record_of(self, relation: str, key: Row) -> Ref | WriteKey | None:
        """See `Saver.record_of`."""
        return self._saver.record_of(relation, key)

    def beside(self, ref: Ref) -> Iterable[tuple[str, Row]]:
        """See `Saver.beside`."""
        return self._saver.beside(ref)

    def added(self, change: RowChange) -> Collection[Ref | WriteKey]:
        """See `Saver.added`."""
        return self._saver.added(change)

    def current(self, relation: str, key: Row) -> Row | None:
        """See `Saver.current`."""
        return self._saver.current(relation, key)

    def currents(self, names: Sequence[tuple[str, Row]]) -> list[Row | None]:
        """See `Saver.currents`."""
        return self._saver.currents(names)

    def written_columns(self, relation: str) -> frozenset[str] | None:
        """See `Saver.written_columns`."""
        return self._saver.written_columns(relation)

    def fields(self, relation: str, row: Row) -> Row:
        """See `Saver.fields`."""
        return self._saver.fields(relation, row)

    def restored(self, relation: str, image: Row, now: Row | None) -> Row:
        """See `Saver.restored`."""
        return self._saver.restored(relation, image, now)

    def side_effects(self) -> Sequence[SideEffect]:
        """See `Saver.side_effects`."""
        return self._saver.side_effects()

    def permit(self, side_effects: Collection[SideEffect]) -> None:
        """See `Saver.permit`."""
        self._saver.permit(side_effects)

    def caveats(self) -> Sequence[str]:
        """See `Saver.caveats`."""
        return self._saver.caveats()

    def change(self, changes: Iterable[RowChange]) -> None:
        """See `Saver.change`."""
        self._forget()
        self._saver.change(changes)

    def close(self) -> None:
        """See `Saver.close`."""
        self._saver.close()
