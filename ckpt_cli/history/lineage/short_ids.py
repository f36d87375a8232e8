"""Short ids: the shortest form of an id that fits no other of its thread; which ids a typed form fits."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import groupby

from ckpt_cli.history.lineage import ids

SHORTEST = 6
"""The least number of characters, so that a short id stays unique while the thread grows."""
EMPTY = '""'
"""The text for an empty checkpoint id (langgraph 0.0.26 stored one state for each thread, without any id)."""


class ShortIds:
    """The short form of each id of a thread: the shortest form that fits no other id of the thread.

    uuid6 ids begin with the time, and the ids of one run have the same first characters. So the beginning of the last
    group, which is random, is used instead. No other id and no other last group begins with a short form, because a
    person may type the beginning of either.
    """

    def __init__(self, checkpoint_ids: Iterable[str]) -> None:
        self._ids = [own_id for own_id, _ in groupby(sorted(checkpoint_ids))]  # a set of many ids takes megabytes
        # ids in the order of their last groups; the ids themselves are shared with the rows, because there may be many
        self._owners = sorted((i for i in self._ids if ids.is_uuid6(i)), key=_last_group)
        self._groups = [_last_group(i) for i in self._owners]

    def __call__(self, checkpoint_id: str) -> str:
        """The short form of an id; the id needn't be in the thread: it may be a parent that was never stored."""
        if not checkpoint_id:
            return EMPTY
        for name in _names(checkpoint_id):
            needed = self._needed(name, checkpoint_id)
            if needed <= len(name):
                return name[:needed]
        return checkpoint_id

    def find(self, prefix: str) -> list[str]:
        """The ids that begin with `prefix` or whose last group begins with `prefix`, ascending."""
        matching = set[str]()
        for names, owners in self._orders:
            at = bisect_left(names, prefix)
            while at < len(names) and names[at].startswith(prefix):
                matching.add(owners[at])
                at += 1
        return sorted(matching)

    @property
    def _orders(self) -> tuple[tuple[list[str], list[str]], ...]:
        """Both lists of names, ascending, each with the ids that have these names."""
        return (self._groups, self._owners), (self._ids, self._ids)

    def _needed(self, name: str, checkpoint_id: str) -> int:
        """The number of first characters of a name that no name of another id has."""
        return 1 + max(SHORTEST - 1, *(_shared(name, checkpoint_id, *order) for order in self._orders))


def _shared(name: str, checkpoint_id: str, names: Sequence[str], owners: Sequence[str]) -> int:
    """How many first characters a name shares with the nearest names of other ids, before and after it."""
    at = bisect_left(names, name)
    after = next((i for i in range(at, len(names)) if owners[i] != checkpoint_id), None)
    before = next((i for i in range(at - 1, -1, -1) if owners[i] != checkpoint_id), None)
    return max((_common(name, names[i]) for i in (before, after) if i is not None), default=0)


def _names(checkpoint_id: str) -> list[str]:
    """The texts that a short form may be the beginning of, the preferred one first: the last group, the whole id."""
    return [_last_group(checkpoint_id), checkpoint_id] if ids.is_uuid6(checkpoint_id) else [checkpoint_id]


def _last_group(checkpoint_id: str) -> str:
    return checkpoint_id[24:]


def _common(a: str, b: str) -> int:
    length = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        length += 1
    return length
