"""`PassingSaver`: passes every call on to another saver; a subclass overrides what it adds to."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from ckpt_cli.model import Checkpoint, Insertion, Plan, Record, Ref, Row, RowChange, Thread, Write, WriteKey
from ckpt_cli.savers.about import About, Place, RecordFormat, SideEffect, Totals
from ckpt_cli.savers.arrivals import Arrivals, Floor
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.head_reads import HeadRead, LoneWrites
from ckpt_cli.savers.measures import Advice, Figures, Group, Space, StoredSizes, ThreadSize, Vacuum
from ckpt_cli.savers.selection import Selection

if TYPE_CHECKING:
    from ckpt_cli.savers.agent_rows import AgentRows


class PassingSaver(Saver):
    """The methods of `Saver` that a subclass leaves as they are in another saver."""

    def __init__(self, saver: Saver) -> None:
        self._saver = saver
        self.name = saver.name  # type: ignore[misc]
        self.out_of_reach = saver.out_of_reach  # type: ignore[misc]
        self.unit, self.shrinks = saver.unit, saver.shrinks  # type: ignore[misc]
        self.foresees_sizes = saver.foresees_sizes  # type: ignore[misc]
        self.form, self.abilities, self.page = saver.form, saver.abilities, saver.page
        self.lost_differences = saver.lost_differences
        self.has_flat_rows = saver.has_flat_rows
        self.makes_digests = saver.makes_digests
        self.reads_whole_writes = saver.reads_whole_writes  # type: ignore[misc]
        self.orders_writes_as_library = saver.orders_writes_as_library  # type: ignore[misc]
        self.lists_before = saver.lists_before  # type: ignore[misc]
        self.finds_writes_by_path = saver.finds_writes_by_path
        self.rewrites_numbers = saver.rewrites_numbers

    def one_scan(self) -> AbstractContextManager[None]:
        """See `Saver.one_scan`."""
        return self._saver.one_scan()

    def threads_with(self, channels: Collection[str]) -> Iterator[Thread]:
        """See `Selector.threads_with`."""
        return self._saver.threads_with(channels)

    def threads_having(
        self, key: str, value: str | float | None, *, or_without: bool = False
    ) -> Iterator[Thread] | None:
        """See `Selector.threads_having`."""
        return self._saver.threads_having(key, value, or_without=or_without)

    def arrivals(self, floor: Floor, mark: Any = None, thread_ids: Collection[str] | None = None) -> Arrivals:
        """See `ArrivalMethods.arrivals`."""
        return self._saver.arrivals(floor, mark, thread_ids)

    def await_change(self, seconds: float) -> None:
        """See `ArrivalMethods.await_change`."""
        self._saver.await_change(seconds)

    def head_reads(self, heads: Collection[Ref]) -> Iterator[HeadRead]:
        """See `HeadReader.head_reads`."""
        return self._saver.head_reads(heads)

    def lone_writes(
        self, refs: Collection[Ref], task_path: str, *, without: str, values: int
    ) -> Iterator[tuple[Ref, LoneWrites | None]]:
        """See `HeadReader.lone_writes`."""
        return self._saver.lone_writes(refs, task_path, without=without, values=values)

    def with_channels(self, refs: Iterable[Ref], channels: Collection[str]) -> Iterator[Checkpoint]:
        """See `Selector.with_channels`."""
        return self._saver.with_channels(refs, channels)

    def form_of(self, thread_id: str) -> RecordFormat:
        """See `Saver.form_of`."""
        return self._saver.form_of(thread_id)

    def about(self) -> About:
        """See `Saver.about`."""
        return self._saver.about()

    def totals(self) -> Totals:
        """See `Saver.totals`."""
        return self._saver.totals()

    def count_threads(self) -> int | None:
        """See `Saver.count_threads`."""
        return self._saver.count_threads()

    def sizes(self, thread_ids: Collection[str]) -> Mapping[str, int] | None:
        """See `Saver.sizes`."""
        return self._saver.sizes(thread_ids)

    def groups(self, bounds: Sequence[str], thread_ids: Collection[str] | None = None) -> Iterator[Group]:
        """See `Measurer.groups`."""
        return self._saver.groups(bounds, thread_ids)

    def measure(self, bounds: Sequence[str], since: str, largest: int) -> Iterator[Group | ThreadSize]:
        """See `Measurer.measure`."""
        return self._saver.measure(bounds, since, largest)

    def plan_vacuum(self) -> Vacuum:
        """See `Measurer.plan_vacuum`."""
        return self._saver.plan_vacuum()

    def vacuum(self) -> str:
        """See `Measurer.vacuum`."""
        return self._saver.vacuum()

    def stored_sizes(self, thread_id: str) -> StoredSizes:
        """See `Measurer.stored_sizes`."""
        return self._saver.stored_sizes(thread_id)

    def thread_sizes(
        self, since: str, thread_ids: Collection[str] | None = None, *, largest: int | None = None
    ) -> Iterator[ThreadSize]:
        """See `Measurer.thread_sizes`."""
        return self._saver.thread_sizes(since, thread_ids, largest=largest)

    def heads_by(self, keys: Sequence[str]) -> Iterator[tuple[tuple[str | None, ...], int]] | None:
        """See `Measurer.heads_by`."""
        return self._saver.heads_by(keys)

    def space(self) -> Space:
        """See `Measurer.space`."""
        return self._saver.space()

    def advice(self, space: Space, figures: Figures) -> Iterator[Advice]:
        """See `Measurer.advice`."""
        return self._saver.advice(space, figures)

    def having(self, key: str, text: str, thread_ids: Collection[str] | None = None) -> Iterator[str] | None:
        """See `Saver.having`."""
        return self._saver.having(key, text, thread_ids)

    def runs(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, str]]:
        """See `Saver.runs`."""
        return self._saver.runs(refs)

    def select(self, selection: Selection) -> Iterator[Ref] | None:
        """See `Saver.select`."""
        return self._saver.select(selection)

    def sample(self, limit: int) -> list[Ref]:
        """See `Saver.sample`."""
        return self._saver.sample(limit)

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

    def expand(self, plan: Plan) -> Iterator[RowChange]:
        """See `Saver.expand`."""
        return self._saver.expand(plan)

    def insertions(self, records: Iterable[Record], *, images: bool) -> Iterator[Insertion]:
        """See `Saver.insertions`."""
        return self._saver.insertions(records, images=images)

    def record_of(self, relation: str, key: Row) -> Ref | WriteKey | None:
        """See `Saver.record_of`."""
        return self._saver.record_of(relation, key)

    def beside(self, ref: Ref) -> Iterable[tuple[str, Row]]:
        """See `Saver.beside`."""
        return self._saver.beside(ref)

    def added(self, change: RowChange) -> Collection[Ref | WriteKey]:
        """See `Saver.added`."""
        return self._saver.added(change)

    def written(self, change: RowChange) -> Collection[Ref | WriteKey]:
        """See `Saver.written`."""
        return self._saver.written(change)

    def current(self, relation: str, key: Row) -> Row | None:
        """See `Saver.current`."""
        return self._saver.current(relation, key)

    def currents(self, names: Sequence[tuple[str, Row]]) -> list[Row | None]:
        """See `Saver.currents`."""
        return self._saver.currents(names)

    def proofs(self, names: Sequence[tuple[str, Row]]) -> list[Row | None]:
        """See `Saver.proofs`."""
        return self._saver.proofs(names)

    def has_rows(self, thread_id: str) -> bool:
        """See `Saver.has_rows`."""
        return self._saver.has_rows(thread_id)

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

    def agent_rows(self) -> "AgentRows":
        """See `Saver.agent_rows`."""
        return self._saver.agent_rows()

    def close(self) -> None:
        """See `Saver.close`."""
        self._saver.close()
