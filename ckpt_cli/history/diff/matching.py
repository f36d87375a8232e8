"""Matches equal keys of two lists in bounded work, even if many repeat; `align` makes the keys.

The keys are matched in their order, as by ``difflib.SequenceMatcher``.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

WORK = 2_000_000
"""Comparisons that difflib may take for two lists; beyond it only keys that occur once in both are matched."""

Block = tuple[int, int, int, int]
"""A range of the first list and one of the second: from, to, from, to."""


class Matching(NamedTuple):
    """Which keys of two lists are matched.

    Attributes:
        pairs: the places of matched keys, ascending in both lists.
        exact: False if keys that occur several times were left out, because matching them takes too much work.
    """

    pairs: list[tuple[int, int]]
    exact: bool = True

    def loose(self, old: int, new: int) -> Iterator[Block]:
        """The blocks between the pairs, if they have unmatched keys in both lists; `old` and `new` are the lengths."""
        for (i, j), (end, last) in pairwise([(-1, -1), *self.pairs, (old, new)]):
            if end > i + 1 and last > j + 1:
                yield i + 1, end, j + 1, last


def match(old: Sequence[Hashable], new: Sequence[Hashable]) -> Matching:
    """The matched keys: the longest blocks first, until the work reaches `WORK`; after that, the unique keys."""
    from difflib import SequenceMatcher

    often = Counter(new)
    work = [0, *accumulate(1 + often[key] for key in old)]  # of one search, up to each place
    left, exact, pairs = WORK, True, list[tuple[int, int]]()
    matcher = SequenceMatcher[Hashable](None, old, new, autojunk=False)
    todo = [(0, len(old), 0, len(new))]
    while todo:
        i, end, j, last = todo.pop()
        if i == end or j == last:
            continue
        left -= work[end] - work[i]
        if left < 0:
            unique = _unique(old[i:end], new[j:last])
            pairs += [(i + x, j + y) for x, y in unique.pairs]
            exact = exact and unique.exact
            continue
        x, y, size = matcher.find_longest_match(i, end, j, last)
        if size:
            pairs += zip(range(x, x + size), range(y, y + size), strict=True)
            todo += [(i, x, j, y), (x + size, end, y + size, last)]
    return Matching(sorted(pairs), exact)


def _unique(old: Sequence[Hashable], new: Sequence[Hashable]) -> Matching:
    """The longest matching of keys that occur once in both lists; it is exact if no shared key occurs twice."""
    times_old, times_new = Counter(old), Counter(new)
    places = {key: j for j, key in enumerate(new)}
    shared = [(i, places[key]) for i, key in enumerate(old) if times_old[key] == times_new[key] == 1]
    return Matching(_ascending(shared), all(times_old[key] == times_new[key] == 1 for key in times_old & times_new))


def _ascending(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The most pairs whose second numbers ascend; the first numbers ascend already."""
    ends: list[int] = []  # the lowest second number that a part of each length can end with
    chosen: list[int] = []  # the pair with that number
    before: list[int | None] = []
    for at, (_, j) in enumerate(pairs):
        length = bisect_left(ends, j)
        before.append(chosen[length - 1] if length else None)
        ends[length : length + 1], chosen[length : length + 1] = [j], [at]
    part = []
    at_pair = chosen[-1] if chosen else None
    while at_pair is not None:
        part.append(pairs[at_pair])
        at_pair = before[at_pair]
    return part[::-1]
