"""Short ids: the shortest form of an id that fits no other of its thread; which ids a typed form fits."""

from bisect import bisect_left
from collections.abc import Iterable

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
        self._ids = set(checkpoint_ids)
        self._names = sorted((name, i) for i in self._ids for name in _names(i))

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
        at = bisect_left(self._names, (prefix, ""))
        matching = set()
        while at < len(self._names) and self._names[at][0].startswith(prefix):
            matching.add(self._names[at][1])
            at += 1
        return sorted(matching)

    def _needed(self, name: str, checkpoint_id: str) -> int:
        at = bisect_left(self._names, (name, checkpoint_id))
        return 1 + max(
            SHORTEST - 1, self._shared(name, checkpoint_id, at, -1), self._shared(name, checkpoint_id, at, 1)
        )

    def _shared(self, name: str, checkpoint_id: str, at: int, way: int) -> int:
        """How many first characters a name shares with the nearest name of another id, before or after `at`."""
        place = at - 1 if way < 0 else at
        while 0 <= place < len(self._names):
            other, owner = self._names[place]
            if owner != checkpoint_id:
                return _common(name, other)
            place += way
        return 0


def _names(checkpoint_id: str) -> list[str]:
    """The texts that a short form may be the beginning of, the preferred one first: the last group, the whole id."""
    if ids.is_uuid6(checkpoint_id):
        return [checkpoint_id[24:], checkpoint_id]
    return [checkpoint_id]


def _common(a: str, b: str) -> int:
    length = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        length += 1
    return length
