"""`Bisection`: finds the first bad checkpoint of a line by halving it; skips; more tests to doubt it."""

from collections.abc import Callable, Iterator
from enum import StrEnum


class Verdict(StrEnum):
    """What a test says about a checkpoint."""

    GOOD = "good"
    BAD = "bad"
    SKIP = "skip"
    """The checkpoint can't be tested."""


class Bisection:
    """The search between a good checkpoint and a bad one behind it; both are numbers of places on a line.

    Attributes:
        good: the newest place that is known to be good.
        bad: the oldest place that is known to be bad.
        skipped: the places that can't be tested.
    """

    def __init__(self, good: int, bad: int) -> None:
        self.good = good
        self.bad = bad
        self.skipped: set[int] = set()

    @property
    def next(self) -> int | None:
        """The place to test next: the one nearest to the middle; None if there is none left."""
        left = [place for place in range(self.good + 1, self.bad) if place not in self.skipped]
        middle = (self.good + self.bad) / 2
        return min(left, key=lambda place: abs(place - middle), default=None)

    @property
    def left(self) -> int:
        """The number of places that may still have to be tested."""
        return self.bad - self.good - 1 - sum(self.good < place < self.bad for place in self.skipped)

    @property
    def steps_left(self) -> int:
        """About how many tests are still needed."""
        return self.left.bit_length()

    @property
    def candidates(self) -> list[int]:
        """The places of which one is the first bad one: a single one, if none before it was skipped."""
        return list(range(self.good + 1, self.bad + 1))

    def take(self, place: int, verdict: Verdict) -> None:
        """Take the verdict on a place that `next` named."""
        if verdict is Verdict.GOOD:
            self.good = place
        elif verdict is Verdict.BAD:
            self.bad = place
        else:
            self.skipped.add(place)

    def run(self, test: Callable[[int], Verdict]) -> Iterator[tuple[int, Verdict]]:
        """Test one place after the other until the first bad one is found; gives each place and its verdict."""
        while (place := self.next) is not None:
            verdict = test(place)
            self.take(place, verdict)
            yield place, verdict


def doubling(first: int, last: int) -> Iterator[int]:
    """Places on both sides of the first bad one, at doubling distances: where a contrary verdict may be found.

    Args:
        first: the place of the first bad one.
        last: the place of the last one of the line.
    """
    distance = 1
    while first - 1 - distance > 0 or first + distance < last:
        if first - 1 - distance > 0:
            yield first - 1 - distance
        if first + distance < last:
            yield first + distance
        distance *= 2
