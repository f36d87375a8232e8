"""`WatchCounts`: rates and statuses since a watch began, for its status line and for conditions."""

from collections import OrderedDict, deque
from collections.abc import Collection, Sequence
from itertools import takewhile

from ckpt_cli.parameters.conditions import NAMES, Condition, Unit

NAMED = {
    name: NAMES[name]
    for name in ("checkpoints", "waiting", "failed", "unfinished", "done", "unknown", "unreadable", "idle", "rate")
}
"""The numbers that conditions of a watch can name. Each counts what was seen since the watch began."""

THREADS = 10_000
"""The statuses of so many threads are counted, those that were active last."""
_MINUTE = 60.0
_MOST = 100_000  # times of checkpoints that are kept for the rate
_MEAN_OF = 20  # checkpoints


class WatchCounts:
    """What was seen.

    Args:
        begun: when the watch began, in seconds since 1970.
        conditions: those whose rates are going to be asked for.
    """

    def __init__(self, begun: float, conditions: Collection[Condition]) -> None:
        self.checkpoints = 0
        self._begun = self._latest = begun
        self._longest = max([_MINUTE, *(_window(one) for one in conditions)])
        self._times = deque[float](maxlen=_MOST)
        self._between = deque[float](maxlen=_MEAN_OF)
        self._statuses: OrderedDict[str, Sequence[str]] = OrderedDict()

    def add(self, thread_id: str, statuses: Sequence[str], now: float, *, is_new: bool, between: float | None) -> None:
        """Count an event."""
        if statuses or thread_id not in self._statuses:
            self._statuses[thread_id] = statuses
            self._statuses.move_to_end(thread_id)
        if len(self._statuses) > THREADS:
            self._statuses.popitem(last=False)
        if is_new:
            self.checkpoints += 1
            self._latest = now
            self._times.append(now)
            self._between.extend([] if between is None else [between])
        while self._times and self._times[0] < now - self._longest:
            self._times.popleft()

    def rate(self, now: float) -> int:
        """How many checkpoints were seen in the last minute."""
        return self._count(now, _MINUTE)

    def _count(self, now: float, seconds: float) -> int:
        return sum(1 for _ in takewhile(lambda when: when > now - seconds, reversed(self._times)))

    def holds(self, condition: Condition, now: float) -> float | None:
        """The value that meets a condition; None if it doesn't, or if the watch is too young to know."""
        seconds = _window(condition)
        is_early = condition.unit is Unit.RATE and now - self._begun < seconds and condition.comparison[0] != ">"
        value = self._value(condition.name, now, seconds)
        return value if not is_early and condition.holds(value) else None

    def _value(self, name: str, now: float, seconds: float) -> float:
        if name == "checkpoints":
            return self.checkpoints
        if name == "idle":
            return now - self._latest
        if name == "rate":
            return self._count(now, seconds) * 3600 / seconds
        return sum(name in statuses for statuses in self._statuses.values())

    def line(self, now: float) -> str:
        """The numbers in words."""
        parts = [f"{self.checkpoints:,} checkpoint{'' if self.checkpoints == 1 else 's'}", f"{self.rate(now)}/m"]
        if self._between:
            parts.append(f"{_seconds(sum(self._between) / len(self._between))} between checkpoints")
        parts.append(f"{len(self._statuses):,} thread{'' if len(self._statuses) == 1 else 's'}")
        for status in ("waiting", "failed"):
            count = sum(status in statuses for statuses in self._statuses.values())
            parts += [f"{count:,} {status}"] if count else []
        return " · ".join(parts)


def in_words(condition: Condition, value: float) -> str:
    """A condition, and the value that meets it."""
    if condition.unit is Unit.RATE:
        number = f"{value:.3g}/h" if value < 60 else f"{value / 60:.3g}/m"
    else:
        number = _seconds(value) if condition.unit is Unit.SECONDS else f"{value:.0f}"
    return f"{condition.text}: {condition.name} is {number}"


def _window(condition: Condition) -> float:
    """Over how many seconds a rate is counted: a minute, or the time in which the limit allows one checkpoint."""
    slow = condition.unit is Unit.RATE and 0 < condition.limit < 60
    return 3600 / condition.limit if slow else _MINUTE


def _seconds(seconds: float) -> str:
    return (
        f"{seconds:.1f}s" if seconds < 100 else f"{seconds / 60:.0f}m" if seconds < 6000 else f"{seconds / 3600:.1f}h"
    )
