"""What a step changed, told from what its tasks wrote, without the state before or after it.

A write says what a task gave to a channel, not what the channel made of it: whether a list was appended or replaced is
for the channel's reducer, which is not recorded. `Habit` holds what one decoded state proved of it; where nothing is
proved, that it was written is told and no more.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from math import isclose
from types import MappingProxyType
from typing import Any, NamedTuple

from ckpt_cli.history import channels
from ckpt_cli.history.channels import CONTROL_WRITES, NO_WRITES, PREVIOUS, RETURN, START, TASKS, unwrapped
from ckpt_cli.values.known import js_send, message, messages, overwrite, spelled_out
from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.same import same
from ckpt_cli.values.state import TaskWrite

UNKNOWN = object()
"""Stands for a value before the step that was not read."""
NOTHING = object()
"""Stands for no value before the step: the line was read to its beginning, and nobody wrote."""

Before = Callable[[str], Any]
"""What stood in a channel before a step."""

_REMOVE_ALL = "__remove_all__"
_PROOF = 3  # steps that wrote to a channel, of which it is proved what it does with lists
_SEVERAL = 2
_NOBODY: Mapping[str, int] = MappingProxyType({})


class Kind(StrEnum):
    """How a channel was changed."""

    ADDED = "added"
    """Items went into a list: `Change.added`, and `Change.removed` for messages taken out."""
    EDITED = "edited"
    """`Change.edited` items of a list became others in their places; items may have gone in and out, too."""
    SET = "set"
    """A value was written and stands there; what did before isn't known."""
    WROTE = "wrote"
    """A value was given to a reducer, or to what may be one: what the channel made of it isn't known."""
    SUMMED = "summed"
    """A number was added to what stood there."""
    SAME = "same"
    """A value was written that stood there already."""
    CHANGED = "changed"
    """A value was written in place of another."""
    REPLACED = "replaced"
    """What a reducer had gathered was thrown away for a new value."""
    SEVERAL = "several"
    """Several tasks wrote to it, `Change.added` times."""
    SENT = "sent"
    """Nodes were called with arguments of their own."""
    UNREADABLE = "unreadable"
    """The value can't be decoded, for want of a key or because it is damaged."""
    UNREAD = "unread"
    """The value is too long to be read for this; `Change.size` tells its bytes."""


class Change(NamedTuple):
    """What one step did to one channel.

    Attributes:
        after: what was written; for SUMMED the sum of that, for ADDED the new items, for EDITED those and the edited,
            for SEVERAL each task's.
        before: what it replaced, for CHANGED.
        to: node to number of Sends, for SENT.
        size: bytes written.
        unsure: for SET, that it may have stood there already.
    """

    channel: str
    kind: Kind
    after: Any = None
    before: Any = None
    added: int = 0
    removed: int = 0
    to: Mapping[str, int] = _NOBODY
    size: int = 0
    edited: int = 0
    unsure: bool = False


class Habit(StrEnum):
    """What a channel does with what is written to it, as far as a decoded state proved."""

    APPENDS = "appends"
    FIRST = "first"
    """It holds the one list that was written: it may append or keep the last."""
    SUMS = "sums"
    REPLACES = "replaces"
    REDUCES = "reduces"
    TALKS = "talks"
    """It holds messages, for which texts and pairs of role and text stand when they are written."""


def is_output(write: TaskWrite) -> bool:
    """Whether a write is a change of the user's state or a Send, not the graph's own affair."""
    channel = write.channel
    if channel in CONTROL_WRITES or channel in (NO_WRITES, PREVIOUS, RETURN, START) or channel.startswith("join:"):
        return False
    return channels.target(channel) is None


def changes(
    writes: Sequence[TaskWrite],
    habits: Mapping[str, Habit],
    before: Before = lambda _: NOTHING,
) -> list[Change]:
    """What these outputs changed, one `Change` a channel, in the order of the writes.

    `before` gives what was last written to a channel on this line, `NOTHING`, or `UNKNOWN`.
    """
    by_channel: dict[str, list[TaskWrite]] = {}
    for write in writes:
        by_channel.setdefault(write.channel, []).append(write)
    found = []
    for channel, some in by_channel.items():
        size = sum(write.row.size for write in some)
        if not all(write.read for write in some):
            found.append(Change(channel, Kind.UNREAD, added=len(some), size=size))
        elif (bad := next((write.value for write in some if is_broken(write.value)), None)) is not None:
            found.append(Change(channel, Kind.UNREADABLE, bad, added=len(some), size=size))
        elif channel == TASKS:
            found.append(_sent([write.value for write in some], size))
        else:
            found += changed(channel, [write.value for write in some], habits.get(channel), before, size)
    return found


def changed(
    channel: str,
    values: list[Any],
    habit: Habit | None,
    before: Before = lambda _: NOTHING,
    size: int = 0,
) -> list[Change]:
    """What values written to one channel changed: nothing, one thing, or messages on top of a fresh start."""
    replaced = [known.value for value in values if (known := overwrite(value)) is not None]
    if replaced:
        return [Change(channel, Kind.REPLACED, replaced[-1], size=size)]
    if habit is not Habit.REPLACES and (spoken := _messages(values, habit)) is not None:
        return _spoken(channel, spoken, size)
    lists = [value for value in values if isinstance(value, list)]
    if len(lists) == len(values) and (habit is Habit.APPENDS or (len(values) > 1 and habit in (None, Habit.FIRST))):
        items = [item for value in lists for item in value]
        return [Change(channel, Kind.ADDED, items, added=len(items), size=size)] if items else []
    if habit is Habit.SUMS and numeric(values):
        return [Change(channel, Kind.SUMMED, sum(values), size=size)]
    if len(values) > 1:
        return [Change(channel, Kind.SEVERAL, values, added=len(values), size=size)]
    if not lasting(habit):
        return [Change(channel, Kind.SET if habit is Habit.FIRST else Kind.WROTE, values[0], size=size)]
    old = before(channel)
    if old is NOTHING or old is UNKNOWN:
        return [Change(channel, Kind.SET, values[0], size=size, unsure=old is UNKNOWN)]
    if not same(old, values[0]):
        return [Change(channel, Kind.CHANGED, values[0], old, size=size)]
    return [Change(channel, Kind.SAME, values[0], size=size)]


def lasting(habit: Habit | None) -> bool:
    """Whether what was written to a channel last is what stands there: a reducer makes something else of it."""
    return habit is Habit.REPLACES


def _messages(values: list[Any], habit: Habit | None) -> list[Any] | None:
    """All of the values as one list of messages, None if anything in them is none."""
    if habit is Habit.TALKS:
        items = [item for value in values for item in spelled_out(value)]
    else:
        items = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return items if items and all(message(item) is not None for item in items) else None


def _spoken(channel: str, items: list[Any], size: int) -> list[Change]:
    said = [(item, known) for item in items if (known := message(item)) is not None]
    fresh = max(
        (at + 1 for at, (_, one) in enumerate(said) if one.role == "remove" and one.id == _REMOVE_ALL), default=0
    )
    new = [item for item, one in said[fresh:] if one.role != "remove"]
    if fresh:
        return [Change(channel, Kind.REPLACED, new, size=size)]
    return [Change(channel, Kind.ADDED, new, added=len(new), removed=len(said) - len(new), size=size)]


def _sent(values: list[Any], size: int) -> Change:
    to: dict[str, int] = {}
    for value in values:
        known = js_send(value)
        name = known.node if known is not None else "?"
        to[name] = to.get(name, 0) + 1
    return Change(TASKS, Kind.SENT, to=to, added=len(values), size=size)


def is_broken(value: Any) -> bool:
    """Whether a value could not be decoded."""
    return isinstance(value, Node) and value.form is Form.BROKEN


def numeric(values: Iterable[Any]) -> bool:
    """Whether all are numbers: true and false are none here."""
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def habits(
    values: Mapping[str, Any], written: Mapping[str, list[list[Any]]], whole: Collection[str] = ()
) -> dict[str, Habit]:
    """What channels do with writes, proved by a state and what each step on its line wrote, newest first.

    Of those that are `whole`, it is all that was ever written.
    """
    known = [channel for channel, some in written.items() if some and channel in values]
    found = {channel: _habit(values[channel], written[channel], channel in whole) for channel in known}
    return {channel: habit for channel, habit in found.items() if habit is not None}


def _habit(value: Any, written: list[list[Any]], whole: bool) -> Habit | None:
    value = unwrapped(value)
    proved = _proved(value, written)
    if proved is not Habit.REPLACES and messages(value) is not None:
        return Habit.TALKS
    if not whole or not _summed(value, written):
        return proved
    return None if proved is Habit.REPLACES else Habit.SUMS


def _summed(value: Any, written: list[list[Any]]) -> bool:
    """Whether a number is the sum of several: of one alone, any reducer may have left it."""
    some = [part for step in reversed(written) for part in step]
    if not numeric([value, *some]) or sum(1 for part in some if part) < _SEVERAL:
        return False
    return isclose(value, sum(some), rel_tol=1e-9) if isinstance(value, float) else bool(value == sum(some))


def _proved(value: Any, written: list[list[Any]]) -> Habit | None:
    last = written[0]
    if any(overwrite(part) is not None for part in last):
        return None
    if isinstance(value, list) and all(isinstance(part, list) for part in last):
        items = [item for part in last for item in part]
        if same(value, items):
            before = any(part not in ([], None) for step in written[1:_PROOF] for part in step)
            return (Habit.REPLACES if before else Habit.FIRST) if len(last) == 1 else None
        return Habit.APPENDS if not items or same(value[-len(items) :], items) else Habit.REDUCES
    return Habit.REPLACES if len(last) == 1 and same(value, last[0]) else Habit.REDUCES


def agreed(near: Mapping[str, Habit], far: Mapping[str, Habit]) -> dict[str, Habit]:
    """What two states of one graph prove together: the nearer one counts.

    Yet one write that is the value may be so by chance, and one that isn't disproves that the last is kept.
    """
    found = {**far, **near}
    for channel, habit in far.items():
        known = found[channel]
        disproved = known is Habit.REPLACES and habit in (Habit.REDUCES, Habit.SUMS)
        more = known is Habit.REDUCES and habit not in (Habit.REPLACES, Habit.FIRST)
        if disproved or more or known is Habit.FIRST:
            found[channel] = habit
    return found


def between(channel: str, before: Any, after: Any) -> Change:
    """What became of a channel whose values before and after a step are known."""
    if isinstance(before, list) and isinstance(after, list) and (found := _edited(channel, before, after)):
        return found
    if isinstance(after, list) and before is not UNKNOWN:
        return Change(channel, Kind.REPLACED, after)
    return Change(channel, Kind.SET, after) if before is UNKNOWN else Change(channel, Kind.CHANGED, after, before)


def _edited(channel: str, before: list[Any], after: list[Any]) -> Change | None:
    """What happened to the items of a list; None where nothing stayed in its place."""
    from ckpt_cli.history.align import align

    found = align(before, after)
    edited = [j for i, j in found.pairs if not same(before[i], after[j])]
    named = any((said := message(after[j])) is not None and said.id for j in edited)
    if found.moved or not (named or len(edited) < len(found.pairs) or not before or not after):
        return None
    new = [after[j] for j in sorted([*edited, *found.added])]
    kind = Kind.EDITED if edited else Kind.ADDED
    added, removed = len(found.added), len(found.removed)
    return Change(channel, kind, new, added=added, removed=removed, edited=len(edited))
