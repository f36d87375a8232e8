"""The rails beside a ``log`` of several branches, newest first: one lane for each line, joined at forks."""

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from ckpt_cli.history.lineage.lineage import Lineage

LANES = 40
"""At most so many lanes are drawn; the others are only hinted at by ``…``."""


class Rail(NamedTuple):
    """The drawing at the left of one checkpoint, as in ``git log --graph``.

    Attributes:
        joins: the signs of an extra line above the checkpoint, if lanes come together there (``├─╯``); else "".
        lanes: the signs in the checkpoint's line: ``●`` in its own lane, ``│`` in each lane that passes by.
    """

    joins: str
    lanes: str


def rails(lineage: Lineage, checkpoint_ids: Sequence[str]) -> Iterator[Rail]:
    """One `Rail` for each of these checkpoints, which must come newest first, children before their parents."""
    lanes = _Lanes()
    for checkpoint_id in checkpoint_ids:
        mine = lanes.waiting_for(checkpoint_id)
        joins = _joins(lanes.next_ids, mine) if len(mine) > 1 else ""
        lane = lanes.enter(checkpoint_id, mine)
        yield Rail(joins, _lanes(lanes.next_ids, lane))
        lanes.leave(lane, lineage.parent(checkpoint_id))


class _Lanes:
    """The lanes at one checkpoint; work doesn't grow with their number.

    Attributes:
        next_ids: for each lane, the checkpoint that comes next in it; None for a free lane.
    """

    def __init__(self) -> None:
        self.next_ids: list[str | None] = []
        self._by_next_id: dict[str, list[int]] = {}
        self._free: list[int] = []

    def waiting_for(self, checkpoint_id: str) -> list[int]:
        """The lanes that lead to a checkpoint, from left to right."""
        return sorted(self._by_next_id.get(checkpoint_id, ()))

    def enter(self, checkpoint_id: str, mine: Sequence[int]) -> int:
        """The lane of a checkpoint: the first of those that lead to it, the others become free; else a free lane."""
        for at in mine[1:]:
            self._set(at, None)
        lane = mine[0] if mine else self._first_free()
        self._by_next_id.pop(checkpoint_id, None)
        self.next_ids[lane] = checkpoint_id
        self._trim()
        return lane

    def leave(self, lane: int, parent_id: str | None) -> None:
        """Lead a lane on to a parent; without a parent it becomes free."""
        self._set(lane, parent_id)
        self._trim()

    def _set(self, lane: int, next_id: str | None) -> None:
        self.next_ids[lane] = next_id
        if next_id is None:
            heappush(self._free, lane)
        else:
            self._by_next_id.setdefault(next_id, []).append(lane)

    def _first_free(self) -> int:
        while self._free and (self._free[0] >= len(self.next_ids) or self.next_ids[self._free[0]] is not None):
            heappop(self._free)
        if self._free:
            return heappop(self._free)
        self.next_ids.append(None)
        return len(self.next_ids) - 1

    def _trim(self) -> None:
        while self.next_ids and self.next_ids[-1] is None:
            self.next_ids.pop()


def _lanes(next_ids: Sequence[str | None], lane: int) -> str:
    drawn = "".join(_cell(next_id, at == lane) for at, next_id in enumerate(next_ids[:LANES]))
    if len(next_ids) <= LANES:
        return drawn
    return f"{drawn}… ● " if lane >= LANES else f"{drawn}… "


def _cell(next_id: str | None, own: bool) -> str:
    return "● " if own else "│ " if next_id is not None else "  "


def _joins(next_ids: Sequence[str | None], mine: Sequence[int]) -> str:
    """The line that joins the lanes `mine` into the first of them and crosses the others."""
    cells, joined = [], set(mine)
    for at, next_id in enumerate(next_ids[:LANES]):
        within = mine[0] <= at < mine[-1]
        if at == mine[0]:
            sign = "├"
        elif at in joined:
            sign = "┴" if within else "╯"
        elif next_id is not None:
            sign = "┼" if within else "│"
        else:
            sign = "─" if within else " "
        cells.append(sign + ("─" if within else " "))
    return "".join(cells) + ("…" if len(next_ids) > LANES else "")
