"""Sets of known reducers as numbers with a bit for each: those that explain a step with writes."""

from collections.abc import Callable
from functools import cache, lru_cache

from ckpt_cli.history.reducers.agreement import agree, explains, folds_to
from ckpt_cli.history.reducers.message_merging import Merging
from ckpt_cli.history.reducers.reducers import ANY, EPHEMERAL, LAST, MESSAGES, REDUCERS, ChannelStep, Reducer
from ckpt_cli.values.langgraph_values import overwrite

BITS = {reducer.name: 1 << place for place, reducer in enumerate(REDUCERS)}
"""The name of each reducer that is tried: to its bit."""

_BY_BIT = [(1 << place, reducer) for place, reducer in enumerate(REDUCERS)]
_KEEPING = (LAST, ANY, EPHEMERAL)
_ANY_NUMBER = BITS[ANY.name] | BITS[EPHEMERAL.name]


def explaining_bits(step: ChannelStep, merging: Merging) -> int:
    """The bits of the reducers that explain a step with writes; `merging` tells whether a message merge does."""
    if is_plain(step):
        fits: Callable[[Reducer, ChannelStep], bool] = folds_to
        tried = _that_fold(type(step.after))  # type: ignore[arg-type]
        bits = _that_keep_the_last(step)
    else:
        fits, tried, bits = explains, _BY_BIT, 0
    for bit, reducer in tried:
        if merging.explains(step) if reducer is MESSAGES else fits(reducer, step):
            bits |= bit
    return bits


@lru_cache(maxsize=1000)
def reducers_of(bits: int) -> list[Reducer]:
    """The reducers with these bits, in the order of `REDUCERS`."""
    return [reducer for bit, reducer in _BY_BIT if bits & bit]


def is_plain(step: ChannelStep) -> bool:
    """Whether only writes of tasks made the value, without an ``Overwrite``."""
    return not step.command and not any(overwrite(write) is not None for write in step.writes)


@cache
def _that_fold(kind: type) -> list[tuple[int, Reducer]]:
    """The reducers that may give a value of this type, each with its bit, but for those that keep the last write."""
    others = (one for one in _BY_BIT if one[1] not in _KEEPING)
    return [(bit, reducer) for bit, reducer in others if reducer.makes is None or kind in reducer.makes]


def _that_keep_the_last(step: ChannelStep) -> int:
    """The bits of those of `_KEEPING` that explain a plain step; a last value takes one write."""
    if not agree(step.writes[-1], step.after):
        return 0
    return _ANY_NUMBER | BITS[LAST.name] if len(step.writes) == 1 else _ANY_NUMBER
