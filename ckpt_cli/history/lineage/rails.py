"""The rails beside a ``log`` of several branches, newest first: one lane for each line, joined at forks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ckpt_cli.history.lineage.lineage import Lineage


@dataclass(frozen=True, slots=True)
class Rail:
    """The drawing at the left of one checkpoint, as in ``git log --graph``.

    Attributes:
        joins: the signs of an extra line above the checkpoint, if lanes come together there (``├─╯``); else "".
        lanes: the signs in the checkpoint's line: ``●`` in its own lane, ``│`` in each lane that passes by.
    """

    joins: str
    lanes: str


def rails(lineage: Lineage, checkpoint_ids: Sequence[str]) -> Iterator[Rail]:
    """One `Rail` for each of these checkpoints, which must come newest first, children before their parents."""
    lanes: list[str | None] = []
    for checkpoint_id in checkpoint_ids:
        mine = [at for at, next_id in enumerate(lanes) if next_id == checkpoint_id]
        joins = _joins(lanes, mine) if len(mine) > 1 else ""
        for at in mine[1:]:
            lanes[at] = None
        lane = mine[0] if mine else _free(lanes)
        lanes[lane] = checkpoint_id
        _trim(lanes)
        yield Rail(joins, "".join(_cell(next_id, at == lane) for at, next_id in enumerate(lanes)))
        lanes[lane] = lineage.parent(checkpoint_id)
        _trim(lanes)


def _free(lanes: list[str | None]) -> int:
    if None not in lanes:
        lanes.append(None)
    return lanes.index(None)


def _trim(lanes: list[str | None]) -> None:
    while lanes and lanes[-1] is None:
        lanes.pop()


def _cell(next_id: str | None, own: bool) -> str:
    return "● " if own else "│ " if next_id is not None else "  "


def _joins(lanes: list[str | None], mine: list[int]) -> str:
    """The line that joins the lanes `mine` into the first of them and crosses the others."""
    cells = []
    for at, next_id in enumerate(lanes):
        within = mine[0] <= at < mine[-1]
        if at == mine[0]:
            sign = "├"
        elif at in mine:
            sign = "┴" if within else "╯"
        elif next_id is not None:
            sign = "┼" if within else "│"
        else:
            sign = "─" if within else " "
        cells.append(sign + ("─" if within else " "))
    return "".join(cells)
