"""Whether a reducer explains a recorded step: what it makes of the writes is the recorded value."""

from typing import Any

from ckpt_cli.history.reducers.reducers import ABSENT, ChannelStep, Reducer, Shorthand, Unfit, as_message
from ckpt_cli.values.langgraph_values import message
from ckpt_cli.values.node import Node
from ckpt_cli.values.same import same, unlike


def explains(reducer: Reducer, step: ChannelStep, *, replayed: bool = False) -> bool:
    """Whether a reducer gives the recorded value of a step."""
    try:
        value = reducer.step(step.before, step.command) if step.command else step.before
        if step.writes or not step.command:
            value = (reducer.replay if replayed else reducer.step)(value, step.writes)
        elif reducer.fades:
            return is_empty(step.after)
    except Unfit:
        return False
    return agree(value, step.after)


def is_empty(value: Any) -> bool:
    """Whether a channel holds nothing, or an empty list, as an emptied topic does."""
    return value is ABSENT or value == []


def folds_to(reducer: Reducer, step: ChannelStep) -> bool:
    """Like `explains`, but faster, for a step without an ``Overwrite`` and without a Command."""
    if reducer.makes is not None and type(step.after) not in reducer.makes:
        return False
    try:
        return agree(reducer.fold(step.before, step.writes), step.after)
    except Unfit:
        return False


def agree(computed: Any, recorded: Any) -> bool:
    """Whether two values are equal; a recorded message may have an id that the computed one doesn't have."""
    if type(computed) is not list or type(recorded) is not list:
        return same(computed, recorded)
    if len(computed) != len(recorded):
        return False
    return all(same(a, b) or _same_but_id(a, b) for a, b in unlike(computed, recorded))


def _same_but_id(computed: Any, recorded: Any) -> bool:
    parsed = as_message(computed.given if isinstance(computed, Shorthand) else computed)
    if parsed is None or not isinstance(recorded, Node):
        return False
    if isinstance(computed, Shorthand):
        stored = message(recorded)
        if stored is None or (stored.role, stored.text) != (parsed.role, parsed.text):
            return False
        return parsed.id in (None, stored.id)
    if parsed.id is not None or not isinstance(computed, Node):
        return False
    a, b = computed.fields or {}, recorded.fields or {}
    return computed.type == recorded.type and same({**a, "id": None}, {**b, "id": None})
