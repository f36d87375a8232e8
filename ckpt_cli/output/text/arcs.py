"""Arcs at the right of a drawn list: a lane for each target, from the lines that lead to it to its own line."""

from collections.abc import Mapping, Sequence

from ckpt_cli.output.theme import ACROSS, CROSSING, LANE, LANE_BEGINS, LANE_ENDS, LANE_JOINS


def arcs(targets: Mapping[int, Sequence[int]], rows: int) -> list[str]:
    """For each line of a list the signs at its right; "" for none. They begin with blanks or with a connection.

    Lines and lanes cross, so each lane leads to one target only, and short lanes are the inner ones.

    Args:
        targets: the line of each target, to the lines that lead to it.
        rows: the number of lines.
    """
    spans = {to: (min(to, *sources), max(to, *sources)) for to, sources in targets.items() if sources}
    lanes = _lanes(spans)
    width = 2 * (max(lanes.values(), default=-1) + 1)
    joints = {row: to for to, sources in targets.items() if sources for row in (to, *sources)}
    return ["".join(_line(row, joints.get(row), spans, lanes, width)).rstrip() for row in range(rows)]


def _lanes(spans: Mapping[int, tuple[int, int]]) -> dict[int, int]:
    """A lane for each target, so that no two spans in a lane share a line."""
    lanes: dict[int, int] = {}
    for to, (first, last) in sorted(spans.items(), key=lambda one: (one[1][1] - one[1][0], one[1])):
        taken = {lanes[other] for other in lanes if spans[other][0] <= last and first <= spans[other][1]}
        lanes[to] = next(lane for lane in range(len(spans)) if lane not in taken)
    return lanes


def _line(
    row: int, joint: int | None, spans: Mapping[int, tuple[int, int]], lanes: Mapping[int, int], width: int
) -> list[str]:
    signs = [" "] * width
    for to, (first, last) in spans.items():
        if first <= row <= last:
            signs[2 * lanes[to] + 1] = LANE
    if joint is None:
        return signs
    end = 2 * lanes[joint] + 1
    for at in range(end):
        signs[at] = CROSSING if signs[at] == LANE else ACROSS
    first, last = spans[joint]
    signs[end] = LANE_BEGINS if row == first else LANE_ENDS if row == last else LANE_JOINS
    return signs
