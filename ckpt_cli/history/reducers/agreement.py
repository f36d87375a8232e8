"""Whether a reducer explains a recorded step: what it makes of the writes is the recorded value."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from ckpt_cli.history.reducers.reducers import (
    ABSENT,
    MAX,
    MIN,
    SUM,
    ChannelStep,
    Reducer,
    Shorthand,
    Undecided,
    Unfit,
    as_message,
)
from ckpt_cli.history.reducers.selections import may_be_extreme
from ckpt_cli.values.langgraph_values import message, overwrite
from ckpt_cli.values.node import Form, Node, Opened
from ckpt_cli.values.ordering import is_equal
from ckpt_cli.values.same import same, unlike
from ckpt_cli.values.sums import is_summable
from ckpt_cli.values.write_forms import is_as_written


def explains(reducer: Reducer, step: ChannelStep, *, replayed: bool = False) -> bool:
    """Whether a reducer gives the recorded value of a step."""
    if step.before is not ABSENT or not reducer.starts:
        return _explains(reducer, step, replayed=replayed)
    if len(step.writes) == 1 and not step.command and agree(step.writes[0], step.after):
        return _may_begin(reducer, step.after)
    return any(_explains(reducer, one, replayed=replayed) for one in [step, *_begun(reducer, step)])


def _may_begin(reducer: Reducer, value: Any) -> bool:
    """Whether a channel of this reducer may take a first value as it is."""
    if reducer.makes is not None and type(value) not in reducer.makes:
        return False
    if reducer is SUM and isinstance(value, Node):
        return is_summable(value)
    return reducer.supposes is None or may_be_extreme(value)


def _begun(reducer: Reducer, step: ChannelStep) -> Iterator[ChannelStep]:
    """The step from each value with which its channel may have begun, and from its first write, if it held nothing.

    A channel whose type has no value to begin with takes the first write as it is (1.2 ``channels/binop.py: update``).
    """
    yield from (step._replace(before=start) for start in reducer.starts)
    if len(step.writes) > 1 and not step.command and overwrite(step.writes[0]) is None:
        yield step._replace(before=step.writes[0], writes=step.writes[1:])


def _explains(reducer: Reducer, step: ChannelStep, *, replayed: bool) -> bool:
    try:
        step_by = partial(reducer.step, supposing=True)
        value = step_by(step.before, step.command) if step.command else step.before
        if step.writes or not step.command:
            value = (reducer.replay if replayed else step_by)(value, step.writes)
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
    if step.before is ABSENT and reducer.starts:
        return explains(reducer, step)
    try:
        return agree((reducer.supposes or reducer.fold)(step.before, step.writes), step.after)
    except Unfit:
        return False


def is_tie(reducer: Reducer, step: ChannelStep) -> bool:
    """Whether ``max`` or ``min`` kept one of several equal values, as 1 and 1.0: which one is up to its code."""
    kept, parts = step.after, [step.before, *step.command, *step.writes]
    if reducer not in (MAX, MIN) or not any(same(kept, part) for part in parts):
        return False
    try:
        return is_equal(reducer.fold(parts[0], parts[1:]), kept)
    except Unfit:
        return False


def is_undecided(reducer: Reducer, step: ChannelStep) -> bool:
    """Whether a reducer leaves open what it makes of a step's writes; each value it may begin with decides that."""
    if reducer.starts and (step.before is ABSENT or reducer.supposes is None):
        return False
    try:
        value = reducer.step(step.before, step.command) if step.command else step.before
        if step.writes:
            reducer.step(value, step.writes)
    except Unfit as error:
        return isinstance(error, Undecided)
    return False


def agree(computed: Any, recorded: Any) -> bool:
    """Whether two values are equal; a recorded message may have an id that the computed one doesn't have."""
    if type(computed) is not list or type(recorded) is not list:
        return is_as_written(computed, recorded)
    if len(computed) != len(recorded):
        return False
    return all(is_as_written(a, b) or _same_but_id(a, b) for a, b in unlike(computed, recorded))


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
    if computed.form is recorded.form and computed.type == recorded.type:  # as nearly all are
        a, b = computed.fields or {}, recorded.fields or {}
        return same({**a, "id": None}, {**b, "id": None})
    return same(_without_id(computed), _without_id(recorded))


def _without_id(node: Node) -> Node:
    form = Form.LC1 if node.form is Form.LC1 else Form.KWARGS
    return Node(Opened(node.module, node.name, form, {**(node.fields or {}), "id": None}))
