"""`Tally`: how many values were replaced, left, or couldn't be looked into, by place."""

from collections.abc import Iterator
from typing import NamedTuple

Place = tuple[str, ...]
"""What kind of record it is (state, writes, metadata, names), then the first names of the path."""

LEVELS = 5
"""A place has at most so many names; what is deeper is counted there."""
_PLACES = 2000  # further places are counted together


class Count(NamedTuple):
    """What became of the values at one place.

    Attributes:
        replaced: of which all or a part was replaced.
        opaque: which were replaced because they can't be looked into.
        kept: which were looked into, and left.
    """

    replaced: int = 0
    opaque: int = 0
    kept: int = 0


class Tally:
    """Counts values by place; the places of a tally that is added are inside the place where it is added."""

    def __init__(self) -> None:
        self._counts: dict[Place, list[int]] = {}
        self._parts: dict[tuple[Place, int], int] = {}
        self._tallies: dict[int, Tally] = {}

    def replaced(self, place: Place, number: int = 1) -> None:
        """Count a value that was replaced, or of which a part was."""
        self._at(place)[0] += number

    def opaque(self, place: Place, number: int = 1) -> None:
        """Count a value that was replaced because it can't be looked into."""
        self._at(place)[1] += number

    def kept(self, place: Place, number: int = 1) -> None:
        """Count a value that was looked into and left."""
        self._at(place)[2] += number

    def add(self, place: Place, other: "Tally") -> None:
        """Count everything in another tally once more, at this place; the other one must not change any more."""
        if not other:
            return
        key = place, id(other)
        self._tallies[id(other)] = other
        self._parts[key] = self._parts.get(key, 0) + 1
        if len(self._parts) > _PLACES:
            self._settle()

    def counts(self) -> Iterator[tuple[Place, Count]]:
        """The places in ascending order, each with its count."""
        self._settle()
        yield from ((place, Count(*numbers)) for place, numbers in sorted(self._counts.items()))

    def __bool__(self) -> bool:
        return bool(self._counts or self._parts)

    def _at(self, place: Place) -> list[int]:
        place = place[:LEVELS]
        numbers = self._counts.get(place)
        if numbers is None:
            if len(self._counts) >= _PLACES:
                place = (*place[:1], "…")
            numbers = self._counts.setdefault(place, [0, 0, 0])
        return numbers

    def _settle(self) -> None:
        parts, self._parts = self._parts, {}
        tallies, self._tallies = self._tallies, {}
        for (place, number), times in parts.items():
            for inner, count in tallies[number].counts():
                numbers = self._at((*place, *inner))
                for at, one in enumerate(count):
                    numbers[at] += one * times
