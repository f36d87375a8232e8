"""The methods of `SqliteSaver` that measure all threads: groups and the largest threads in one pass."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from heapq import heappush, heappushpop
from itertools import chain

from ckpt_cli.savers.measures import Group, Part, ThreadSize
from ckpt_cli.savers.period_case import period_case
from ckpt_cli.savers.spelling import text_of
from ckpt_cli.savers.sqlite import columns
from ckpt_cli.savers.sqlite import measure_statements as sql
from ckpt_cli.savers.sqlite.driver import ResultRow, Statement
from ckpt_cli.savers.sqlite.measure_methods import CHECKPOINTS, WRITES, MeasureMethods, cases_of

_LARGE = 300  # threads whose checkpoints are the largest, and whose writes are added up first
_CANDIDATES = 10_000  # further threads whose writes are added up


class WholeMethods(MeasureMethods):
    """The method that measures all threads at once; `SqliteSaver` adds the others."""

    def measure(self, bounds: Sequence[str], since: str, largest: int) -> Iterator[Group | ThreadSize]:
        """One pass over the checkpoints for groups and threads; two over the writes, beside it if nobody writes."""
        names = self._few_names(CHECKPOINTS)
        if not names or self._odd.names:
            yield from super().measure(bounds, since, largest)
            return
        self._enlarge_cache()
        times = sorted({*bounds, since})
        write_names = self._few_names(WRITES) if self._schema.writes else []
        with self._connection.beside(self._of_writes(bounds, write_names)) as rows_of:
            large, busy = _Most(max(_LARGE, largest)), _Most(largest)
            sums = dict[int, tuple[int, int]]()
            recent_numbers = _recent_numbers(since, times, names)
            for thread_id, size, recent in _threads(self._numbers(names, times), sums, recent_numbers):
                if size >= large.least:
                    large.add(size, thread_id)
                if recent and recent >= busy.least:
                    busy.add(recent, thread_id)
            yield from self._groups_of(sums, names, times, bounds)
            if write_names:
                yield from self._groups_of_writes(self._by_their_names(WRITES, bounds, write_names, rows_of(0)))
            else:
                yield from self._write_groups(bounds)
            yield from self._sizes_of(large, busy.thread_ids, since, largest, lambda: rows_of(-1))

    def _of_writes(self, bounds: Sequence[str], names: Sequence[ResultRow]) -> list[Statement]:
        """What finds the groups of writes with these names, if any, and last the threads with most of them."""
        if not self._schema.writes:
            return []
        by_thread = self._schema.sql(sql.MOST_WRITTEN), [_CANDIDATES + 1]
        if not names:
            return [by_thread]
        parameters, parts = self._numbered(WRITES, bounds, names)
        return [(self._schema.sql(WRITES.by_number, **parts), parameters), by_thread]

    def _numbers(self, names: Sequence[ResultRow], times: Sequence[str]) -> Iterator[ResultRow]:
        """The threads in order; for each the numbers of its names and periods, with records and bytes."""
        when, bounds = period_case(self._schema.columns[CHECKPOINTS.checkpoint_id], times, "?")
        parts = {"cases": cases_of(CHECKPOINTS, names), "unnamed": str(len(names))}
        parts |= {"period": when, "periods": str(len(times) + 2)}
        return self._rows(sql.NUMBERS_OF_THREADS, [*chain(*names), *bounds], **parts)

    def _groups_of(
        self, sums: dict[int, tuple[int, int]], names: Sequence[ResultRow], times: Sequence[str], bounds: Sequence[str]
    ) -> Iterator[Group]:
        are_all = True
        for number, (count, size) in sums.items():
            place, period = divmod(number, len(times) + 2)
            if place == len(names):
                are_all = False
                continue
            tag, ns = names[place]
            begun = sum(1 for time in bounds if time in times[:period]) if period <= len(times) else None
            yield Group(Part.CHECKPOINT, count, size, text_of(ns), "", columns.tag(tag), "", begun)
        others = () if are_all else self._without_number(CHECKPOINTS, bounds, names)
        for tag, ns, begun, count, size in others:
            yield Group(Part.CHECKPOINT, count, size, text_of(ns), "", columns.tag(tag), "", begun)

    def _sizes_of(
        self,
        large: "_Most",
        busy: Collection[str],
        since: str,
        largest: int,
        most_written: Callable[[], Iterable[ResultRow]],
    ) -> Iterator[ThreadSize]:
        """The threads with most bytes, and more; of the others none has as many as `largest` of these.

        Checkpoints of the others aren't larger than those of `large`. So their writes would have to be.
        """
        sizes = [*self.thread_sizes(since, large.thread_ids)]
        more: Collection[str] | None = ()
        if large.is_full and self._schema.writes:
            so_many = sorted((one.bytes or 0 for one in sizes), reverse=True)[largest - 1]
            more = self._much_written(so_many - large.least, most_written)
        if more is None:
            more = self._largest(since, largest)
        yield from sizes
        yield from self.thread_sizes(since, {*more, *busy}.difference(large.thread_ids))

    def _much_written(self, least: int, most_written: Callable[[], Iterable[ResultRow]]) -> list[str] | None:
        """The threads whose writes have so many bytes; None if they are very many, or have no writes."""
        if least <= 0:
            return None
        found = [self._name(raw) for raw, size in most_written() if size >= least]
        return found if len(found) <= _CANDIDATES else None


class _Most:
    """The threads with the largest numbers, so many at most.

    Attributes:
        least: a thread that was left out has no larger number.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._heap: list[tuple[int, str]] = []
        self.least = 0

    def add(self, number: int, thread_id: str) -> None:
        """Add a thread whose number isn't below `least`."""
        if len(self._heap) < self._most:
            heappush(self._heap, (number, thread_id))
        else:
            heappushpop(self._heap, (number, thread_id))
            self.least = self._heap[0][0]

    @property
    def is_full(self) -> bool:
        """Whether a thread may have been left out."""
        return len(self._heap) == self._most

    @property
    def thread_ids(self) -> list[str]:
        """The threads."""
        return [thread_id for _, thread_id in self._heap]


def _recent_numbers(since: str, times: Sequence[str], names: Sequence[ResultRow]) -> frozenset[int]:
    """The numbers of the periods that aren't before a time, for all names."""
    periods = range(times.index(since) + 1, len(times) + 1)
    return frozenset(place * (len(times) + 2) + period for place in range(len(names) + 1) for period in periods)


def _threads(
    rows: Iterator[ResultRow], sums: dict[int, tuple[int, int]], recent: Collection[int]
) -> Iterator[tuple[str, int, int]]:
    """Each thread with its bytes and its recent checkpoints; `sums` gets the records and bytes of each number."""
    thread_id, total, lately = None, 0, 0
    for own_id, number, count, size in rows:
        if own_id != thread_id:
            if thread_id is not None:
                yield thread_id, total, lately
            thread_id, total, lately = own_id, 0, 0
        total += size
        if number in recent:
            lately += count
        known = sums.get(number)
        sums[number] = (count, size) if known is None else (known[0] + count, known[1] + size)
    if thread_id is not None:
        yield thread_id, total, lately
