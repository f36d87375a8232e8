"""Which reducers explain a step if its writes came in another order, or without those of Sends."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any

from ckpt_cli.history.reducers.agreement import explains
from ckpt_cli.history.reducers.explaining import BITS
from ckpt_cli.history.reducers.reducers import REDUCERS, ChannelStep
from ckpt_cli.history.reducers.step_verdicts import ORDERED

ALL = sum(BITS.values())
"""The bits of all reducers, where there are too many orders to try them."""


def fits_without_sends(
    channel: str, step: ChannelStep, without: Iterable[tuple[str, Mapping[str, list[Any]]]]
) -> Iterator[tuple[str, int]]:
    """The bits of the reducers that explain a value without what tasks of Sends wrote to it.

    `without`: why tasks of Sends may have been left out, each with the writes that stay, by channel.
    """
    for why, written in without:
        if len(rest := written.get(channel, [])) < len(step.writes):
            yield why, _fitting(step._replace(writes=rest))


def fits_in_other_orders(channel: str, step: ChannelStep, by_task: Sequence[Mapping[str, list[Any]]]) -> int:
    """The bits of the reducers that explain a value if the tasks' writes are applied in some other order."""
    tasks: list[list[Any]] = [task[channel] for task in by_task if channel in task]
    if len(tasks) > ORDERED:
        return ALL
    bits = 0
    for order in permutations(tasks):
        bits |= _fitting(step._replace(writes=[value for values in order for value in values]))
    return bits


def _fitting(step: ChannelStep) -> int:
    return sum(BITS[reducer.name] for reducer in REDUCERS if explains(reducer, step))
