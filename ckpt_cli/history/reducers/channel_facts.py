"""`ChannelFacts`: what a recorded step shows of one channel, whichever reducer the channel has.

A verdict needs the reducer, which may be learned from later steps. Facts are small and few of them are distinct, so a
long history is read once, and its verdicts are given at the end.
"""

from collections.abc import Callable, Collection, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from ckpt_cli.history.reducers.agreement import explains, is_empty, is_tie, is_undecided
from ckpt_cli.history.reducers.explaining import BITS
from ckpt_cli.history.reducers.forged_values import MUTABLE
from ckpt_cli.history.reducers.oddities import Oddity, oddity
from ckpt_cli.history.reducers.rebuilt import is_unproven
from ckpt_cli.history.reducers.reducers import ABSENT, ChannelStep, Reducer
from ckpt_cli.history.state.channels import INTERRUPT
from ckpt_cli.values.langgraph_values import items, overwrite
from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.same import same, sort_key
from ckpt_cli.values.write_forms import is_as_written

NOTHING: Mapping[str, list[Any]] = MappingProxyType({})


class Change(StrEnum):
    """How a channel changed in a step."""

    WRITTEN = "written"
    MOVED = "moved"
    """It has a new version and another value, and no stored write."""
    BUMPED = "bumped"
    """It has a new version, the same value and no stored write."""
    IN_PLACE = "in place"
    """It has another value, the same version and no stored write; the value is one that code can change in place."""
    GREW = "grew"
    """The same of a set that has more elements: a barrier gives its own set to a checkpoint that is stored late.

    langgraph 1.2 ``channels/named_barrier_value.py: checkpoint``.
    """
    ASKED = "asked"
    """The same of a dict that has, or no longer has, the questions of a run that began with it and was interrupted.

    LangGraph adds them to the output of that run, which is what an entrypoint returned before (1.2 ``pregel/_loop.py:
    _suppress_interrupt``); the checkpoint is stored with ``durability="exit"`` after that.
    """
    UNVERSIONED = "unversioned"
    """The same, and the value is one that code can't change in place."""
    STORED_WHOLE = "stored whole"
    """A delta channel's value is stored, and of the value before only the writes are known.

    Each fork begins so; `ckpt prune --snapshot` stores one under the version that the channel has.
    """
    EARLY = "early"
    """A list has the items that the next steps wrote, beside what this step made; see `early_values`."""
    PERHAPS_EARLY = "perhaps early"
    """The same, as far as it is known: steps that may have written some of the items may be gone."""
    LEFT_OUT = "left out"
    """It has no value any more, the same version and no stored write: of a graph without this channel, all have none.

    LangGraph keeps the version, and stores the values of its own channels (1.2 ``pregel/_checkpoint.py:
    create_checkpoint``).
    """
    CAME_BACK = "came back"
    """It has a value, under the same version as when it had none: a graph that has the channel again stores it again.

    After a deployment was taken back, langgraph 1.2.22 restores the value that the channel had before. LangGraph.js
    also stores the default of a channel that a deployment has added, without a version.
    """


class ChannelFacts(NamedTuple):
    """What one step shows of one channel.

    Attributes:
        empties: whether the step left the channel empty.
        fits: the bits of those reducers that make the recorded value of the writes, as `explaining.BITS` has them.
        ties: the bits of those reducers that may have kept another of several equal numbers; see `is_tie`.
        undecided: the bits of those reducers that leave open what they make of the writes.
        replaced: whether an ``Overwrite`` wrote the recorded value.
        not_replaced: whether an ``Overwrite`` wrote another value, which decides whatever the reducer.
        mutable: whether code can change the recorded value in place, also while it is being stored.
        recoded: whether the step stored the objects in another encoding: then equal objects may look different.
        odd: of a step from which nothing was learned, what would be odd in it if no reducer explains it.
        counted: whether the step is one of those that the evidence for a reducer counts.
    """

    change: Change
    empties: bool = False
    fits: int = 0
    ties: int = 0
    undecided: int = 0
    replaced: bool = False
    not_replaced: bool = False
    mutable: bool = False
    recoded: bool = False
    odd: Oddity | None = None
    counted: bool = True


def untouched(old: Any, new: Any) -> bool:
    """A quick check that a value is the same before and after a step; False also if it would take long to say."""
    return old is new or (type(old) in _SIMPLE and type(old) is type(new) and bool(old == new))


_SIMPLE = frozenset({str, int, bool})


def channel_step(
    channel: str,
    before: Mapping[str, Any],
    written: Mapping[str, list[Any]],
    after: Mapping[str, Any],
    by_command: Mapping[str, list[Any]],
    *,
    moved: Collection[str] = (),
    kept: Collection[str] = (),
) -> ChannelStep:
    """One channel's part of a step, from the states around it and the values that were written.

    `moved` are the channels that got a new version; only such a channel can have changed. `kept` have their old one.
    """
    old, new = before.get(channel, ABSENT), after.get(channel, ABSENT)
    return ChannelStep(
        old, written.get(channel, ()), new, by_command.get(channel, ()), channel in moved, channel in kept
    )


def channel_facts(
    step: ChannelStep, reducers: Collection[Reducer], fits: int | None = None, *, learned: bool = False
) -> ChannelFacts | None:
    """The facts; None if nothing wrote to the channel, and it didn't change or began as the empty value of its type.

    Args:
        step: the channel's part of a step.
        reducers: those that may be asked about later; if `fits` is known, only those that a person named.
        fits: the bits of the reducers that explain the step, if they are known.
        learned: whether the channel's `Tally` has the step, and so knows what is odd in it.
    """
    if step.writes or step.command:
        facts = _written(step, reducers, fits)
        return facts if learned else facts._replace(odd=oddity(step, ABSENT))
    empties = is_empty(step.after)
    if is_as_written(step.before, step.after):
        return ChannelFacts(Change.BUMPED) if step.moved and not empties else None
    if step.before is ABSENT and _is_empty_value(step.after):
        return None
    if is_unproven(step.before) and step.after is not ABSENT:
        return ChannelFacts(Change.STORED_WHOLE, empties)
    if step.moved:
        return ChannelFacts(Change.MOVED, empties)
    if step.after is ABSENT:
        return ChannelFacts(Change.LEFT_OUT, empties)
    if step.before is ABSENT and step.kept:
        return ChannelFacts(Change.CAME_BACK, empties)
    if _is_grown_set(step.before, step.after):
        return ChannelFacts(Change.GREW, empties)
    if _differ_in_questions(step.before, step.after):
        return ChannelFacts(Change.ASKED, empties)
    is_mutable = any(isinstance(value, MUTABLE) for value in (step.before, step.after))
    return ChannelFacts(Change.IN_PLACE if is_mutable else Change.UNVERSIONED, empties)


def _differ_in_questions(before: Any, after: Any) -> bool:
    """Whether two dicts differ in their questions alone; after two runs in a row that asked, both have some."""
    if not isinstance(before, dict) or not isinstance(after, dict) or INTERRUPT not in {**before, **after}:
        return False
    return same(*({key: value for key, value in one.items() if key != INTERRUPT} for one in (before, after)))


def _is_grown_set(before: Any, after: Any) -> bool:
    """Whether a set has all elements that it had; a barrier's set may be in a pair with whether the run has ended."""
    old, new = (value[0] if isinstance(value, list) and len(value) == 2 else value for value in (before, after))
    sets = [value.members for value in (old, new) if isinstance(value, Node)]
    if len(sets) != 2 or None in sets:
        return False
    fewer, more = ({repr(sort_key(one)) for one in members or ()} for members in sets)
    return fewer <= more


def _written(step: ChannelStep, reducers: Collection[Reducer], fits: int | None) -> ChannelFacts:
    replaced = [wrapped.value for write in step.writes if (wrapped := overwrite(write)) is not None]
    return ChannelFacts(
        Change.WRITTEN,
        fits=_bits(explains, reducers, step) if fits is None else fits,
        ties=_bits(is_tie, reducers, step) if reducers else 0,
        undecided=_bits(is_undecided, reducers, step) if reducers else 0,
        replaced=len(replaced) == 1 and is_as_written(replaced[0], step.after),
        not_replaced=_is_not_replaced(step),
        mutable=isinstance(step.after, list | dict | Node),
        recoded=_is_recoded(step),
    )


def _bits(holds: Callable[[Reducer, ChannelStep], bool], reducers: Collection[Reducer], step: ChannelStep) -> int:
    return sum(BITS[reducer.name] for reducer in reducers if holds(reducer, step))


def _is_not_replaced(step: ChannelStep) -> bool:
    """Whether an ``Overwrite`` decides the value, whatever the reducer, and the value is another one.

    A channel without a reducer keeps the ``Overwrite`` itself (langgraph 1.2 ``channels/binop.py``, ``last_value.py``).
    """
    last = step.writes or step.command
    replaced = [wrapped.value for write in last if (wrapped := overwrite(write)) is not None]
    return bool(replaced) and not any(is_as_written(value, step.after) for value in [*replaced, *last])


def _is_recoded(step: ChannelStep) -> bool:
    """Whether objects that were JSON or a pickle before are msgpack now: after an upgrade of LangGraph they are."""
    old, new = _encoding(step.before), _encoding(step.after)
    return bool(old and new) and old != new


def _encoding(value: Any) -> str:
    """How the first object of a list, or the object itself, is encoded; "" if it is no object."""
    first = value[0] if isinstance(value, list) and value else value
    return _ENCODINGS.get(first.form, "msgpack") if isinstance(first, Node) else ""


_ENCODINGS = {Form.LC1: "json", Form.LC2: "json", Form.UNDEFINED: "json", Form.PICKLE: "pickle"}


def _is_empty_value(value: Any) -> bool:
    """Whether a channel may begin with this value without a write: the empty value of its type."""
    return value in (0, "", [], {}) or (isinstance(value, Node) and items(value) == [])


def unreadable(value: Any) -> bool:
    """Whether a value, or an element of a list, can't be decoded."""
    parts = value if isinstance(value, list) else [value]
    return any(isinstance(part, Node) and part.form in (Form.BROKEN, Form.OPAQUE) for part in parts)
