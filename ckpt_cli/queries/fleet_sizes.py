"""What the records of a database take (``stats``): groups, periods, the largest threads."""

from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime, timedelta
from heapq import nlargest

from ckpt_cli.history.lineage import ids
from ckpt_cli.history.tasks.task_ids import pulled, sent
from ckpt_cli.output.quantities import iso
from ckpt_cli.reading import Reader
from ckpt_cli.savers.measures import Group, Part, ThreadSize
from ckpt_cli.views.stats import PeriodLine, SizeLine, StatsView, ThreadLine

_DAYS = 7  # days that have a line of their own; earlier days have lines of 30 and 60 days
_LARGEST = 10  # threads that are named
_NAMES = 2000  # different names of one kind that are kept apart; others are one line
_OTHERS = "(others)"
_HOUR, _DAY = 3600.0, 86400.0
Name = str | None


class Sums:
    """Numbers and bytes of records; the bytes are None as soon as those of one record aren't known."""

    def __init__(self) -> None:
        self.numbers = dict.fromkeys(Part, 0)
        self.bytes: int | None = 0

    def add(self, group: Group) -> None:
        """Add a group."""
        self.numbers[group.part] += group.number
        self.bytes = None if self.bytes is None or group.bytes is None else self.bytes + group.bytes


class Periods:
    """The periods of a list: the last hour, days, and longer ones before; in local time.

    Attributes:
        bounds: the beginnings of ids between them, ascending.
    """

    def __init__(self, newest: float, now: float) -> None:
        day = datetime.fromtimestamp(newest).replace(hour=0, minute=0, second=0, microsecond=0)
        backwards = [*range(-1, _DAYS), 30, 90]
        midnights = {(day - timedelta(days=days)).timestamp() for days in backwards}
        self._hour = now - _HOUR
        self.times = sorted({*midnights, self._hour})
        self.bounds = [ids.lowest_id(when) for when in self.times]

    def recent(self, period: int | None) -> bool:
        """Whether a period is in the last hour."""
        return period is not None and period > 0 and self.times[period - 1] >= self._hour

    def lines(self, sums: dict[int | None, Sums]) -> Iterator[PeriodLine]:
        """A line for each period with records, the newest first; the last hour belongs to its day."""
        edges: list[float | None] = [None, *self.times, None]
        joined: dict[tuple[float | None, float | None, bool], list[Sums]] = {}
        hour = self.times.index(self._hour)
        for period, own in sums.items():
            if period is None:
                joined.setdefault((None, None, False), []).append(own)
                continue
            low = edges[period - 1] if period == hour + 1 else edges[period]
            high = edges[period + 2] if period == hour else edges[period + 1]
            joined.setdefault((low, high, True), []).append(own)
        for (low, high, dated), some in sorted(joined.items(), key=_newest_first):
            numbers = {part: sum(one.numbers[part] for one in some) for part in Part}
            known = [one.bytes for one in some if one.bytes is not None]
            size = sum(known) if len(known) == len(some) else None
            yield PeriodLine(
                iso(low), iso(high), dated, numbers[Part.CHECKPOINT], numbers[Part.CHANNEL], numbers[Part.WRITE], size
            )


def _newest_first(item: tuple[tuple[float | None, float | None, bool], list[Sums]]) -> tuple[bool, float]:
    low, _, dated = item[0]
    return not dated, -(low or 0.0)


def add_sizes(
    reader: Reader, view: StatsView, pages: Iterable[Collection[str]] | None, periods: Periods, now: float
) -> None:
    """Add the records of some threads to a view, or of all if there are no pages, and the threads that take most."""
    since = ids.lowest_id(now - _DAY)
    groups, threads = _GroupSums(), _TopThreads()
    for one in _measured(reader, pages, periods, since):
        if isinstance(one, Group):
            groups.add(one)
        else:
            threads.add(one)
    groups.fill(view, periods)
    threads.fill(view)


def _measured(
    reader: Reader, pages: Iterable[Collection[str]] | None, periods: Periods, since: str
) -> Iterator[Group | ThreadSize]:
    saver = reader.saver
    if pages is None:
        yield from saver.measure(periods.bounds, since, _LARGEST)
        return
    for page in pages:
        yield from saver.groups(periods.bounds, page)
        yield from saver.thread_sizes(since, page)


class _GroupSums:
    """Groups added up by each of their names."""

    def __init__(self) -> None:
        self._by: dict[Callable[[Group], Name], dict[Name, Sums]] = {_ns: {}, _channel: {}, _node: {}, _tag: {}}
        self._by_period: dict[int | None, Sums] = {}
        self._total = Sums()

    def add(self, group: Group) -> None:
        """Add a group."""
        self._total.add(group)
        self._by_period.setdefault(group.period, Sums()).add(group)
        for name_of, sums in self._by.items():
            name = name_of(group)
            known = name if name in sums or len(sums) < _NAMES else _OTHERS
            sums.setdefault(known, Sums()).add(group)

    def fill(self, view: StatsView, periods: Periods) -> None:
        """Write the sums into a view."""
        total = self._total
        view.checkpoints, view.writes = total.numbers[Part.CHECKPOINT], total.numbers[Part.WRITE]
        view.bytes = total.bytes
        dated = [(period, sums) for period, sums in self._by_period.items() if period is not None]
        view.rate = sum(one.numbers[Part.CHECKPOINT] for at, one in dated if periods.recent(at)) if dated else None
        view.by_period = [*periods.lines(self._by_period)]
        view.by_namespace, view.by_channel, view.by_node, view.by_type = (_lines(sums) for sums in self._by.values())


def _ns(group: Group) -> Name:
    return group.ns


def _channel(group: Group) -> Name:
    return group.channel if group.part is not Part.CHECKPOINT else ""


def _tag(group: Group) -> Name:
    return group.tag


def _node(group: Group) -> Name:
    """The node whose task wrote; "" for what no task wrote, None if the path doesn't name the node."""
    if group.part is not Part.WRITE:
        return ""
    node = pulled(group.task_path)
    return "(tasks of Sends)" if node is None and sent(group.task_path) is not None else node


def _lines(sums: dict[Name, Sums]) -> list[SizeLine]:
    lines = [
        SizeLine(name, one.numbers[Part.CHECKPOINT], one.numbers[Part.CHANNEL], one.numbers[Part.WRITE], one.bytes)
        for name, one in sums.items()
    ]
    return sorted(lines, key=lambda one: (-(one.bytes or 0), -one.checkpoints - one.writes, one.name or ""))


class _TopThreads:
    """The threads that take most, and those that got most checkpoints in the last day."""

    def __init__(self) -> None:
        self._largest, self._talkers = _Top(_by_size), _Top(lambda one: (one.recent, one.thread_id))

    def add(self, one: ThreadSize) -> None:
        """Add a thread."""
        self._largest.add(one)
        if one.recent:
            self._talkers.add(one)

    def fill(self, view: StatsView) -> None:
        """Write their names and sizes into a view."""
        view.largest = [ThreadLine(*one) for one in self._largest.found()]
        view.talkers = [ThreadLine(*one) for one in self._talkers.found()]


def _by_size(one: ThreadSize) -> tuple[int, int, str]:
    return (one.bytes or 0, one.checkpoints, one.thread_id)


class _Top:
    """The few largest of many; holds a few more than it gives."""

    def __init__(self, key: Callable[[ThreadSize], tuple[int | str, ...]]) -> None:
        self._key = key
        self._some: list[ThreadSize] = []

    def add(self, one: ThreadSize) -> None:
        self._some.append(one)
        if len(self._some) >= 100 * _LARGEST:
            self._some = self.found()

    def found(self) -> list[ThreadSize]:
        return nlargest(_LARGEST, self._some, key=self._key)
