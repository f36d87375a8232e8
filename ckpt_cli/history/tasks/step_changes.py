"""What a step changed, computed from what its tasks wrote, without the state before or after it.

A write says what a task gave to a channel, not what the channel made of it: whether a list was appended or replaced is
for the channel's reducer, which is not recorded. `Habit` holds what one decoded state proved of it; where nothing is
proved, that it was written is told and no more.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from ckpt_cli.history.reducers.write_semantics import Habit, lasting, numeric
from ckpt_cli.history.state import channels
from ckpt_cli.history.state.channels import CONTROL_WRITES, NO_WRITES, PREVIOUS, RETURN, START, TASKS
from ckpt_cli.values.known import js_send, message, overwrite, spelled_out
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
_NOBODY: Mapping[str, int] = MappingProxyType({})


class ChangeKind(StrEnum):
    """How a channel was changed."""

    ADDED = "added"
    """Items went into a list: `Change.added`, and `Change.removed` for messages taken out."""
    EDITED = "edited"
    """`Change.edited` items of a list became others in their places; items may have gone in and out, too."""
    SET = "set"
    """A value was written and is now the state; the value before it is unknown."""
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
    kind: ChangeKind
    after: Any = None
    before: Any = None
    added: int = 0
    removed: int = 0
    to: Mapping[str, int] = _NOBODY
    size: int = 0
    edited: int = 0
    unsure: bool = False


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
            found.append(Change(channel, ChangeKind.UNREAD, added=len(some), size=size))
        elif (bad := next((write.value for write in some if is_broken(write.value)), None)) is not None:
            found.append(Change(channel, ChangeKind.UNREADABLE, bad, added=len(some), size=size))
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
        return [Change(channel, ChangeKind.REPLACED, replaced[-1], size=size)]
    if habit is not Habit.REPLACES and (spoken := _messages(values, habit)) is not None:
        return _spoken(channel, spoken, size)
    lists = [value for value in values if isinstance(value, list)]
    if len(lists) == len(values) and (habit is Habit.APPENDS or (len(values) > 1 and habit in (None, Habit.FIRST))):
        items = [item for value in lists for item in value]
        return [Change(channel, ChangeKind.ADDED, items, added=len(items), size=size)] if items else []
    if habit is Habit.SUMS and numeric(values):
        return [Change(channel, ChangeKind.SUMMED, sum(values), size=size)]
    if len(values) > 1:
        return [Change(channel, ChangeKind.SEVERAL, values, added=len(values), size=size)]
    if not lasting(habit):
        return [Change(channel, ChangeKind.SET if habit is Habit.FIRST else ChangeKind.WROTE, values[0], size=size)]
    old = before(channel)
    if old is NOTHING or old is UNKNOWN:
        return [Change(channel, ChangeKind.SET, values[0], size=size, unsure=old is UNKNOWN)]
    if not same(old, values[0]):
        return [Change(channel, ChangeKind.CHANGED, values[0], old, size=size)]
    return [Change(channel, ChangeKind.SAME, values[0], size=size)]


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
        return [Change(channel, ChangeKind.REPLACED, new, size=size)]
    return [Change(channel, ChangeKind.ADDED, new, added=len(new), removed=len(said) - len(new), size=size)]


def _sent(values: list[Any], size: int) -> Change:
    to: dict[str, int] = {}
    for value in values:
        known = js_send(value)
        name = known.node if known is not None else "?"
        to[name] = to.get(name, 0) + 1
    return Change(TASKS, ChangeKind.SENT, to=to, added=len(values), size=size)


def is_broken(value: Any) -> bool:
    """Whether a value could not be decoded."""
    return isinstance(value, Node) and value.form is Form.BROKEN


def between(channel: str, before: Any, after: Any) -> Change:
    """What became of a channel whose values before and after a step are known."""
    if isinstance(before, list) and isinstance(after, list) and (found := _edited(channel, before, after)):
        return found
    if isinstance(after, list) and before is not UNKNOWN:
        return Change(channel, ChangeKind.REPLACED, after)
    return (
        Change(channel, ChangeKind.SET, after)
        if before is UNKNOWN
        else Change(channel, ChangeKind.CHANGED, after, before)
    )


def _edited(channel: str, before: list[Any], after: list[Any]) -> Change | None:
    """What happened to the items of a list; None where nothing stayed in its place."""
    from ckpt_cli.history.diff.align import align

    found = align(before, after)
    edited = [j for i, j in found.pairs if not same(before[i], after[j])]
    named = any((said := message(after[j])) is not None and said.id for j in edited)
    if found.moved or not (named or len(edited) < len(found.pairs) or not before or not after):
        return None
    new = [after[j] for j in sorted([*edited, *found.added])]
    kind = ChangeKind.EDITED if edited else ChangeKind.ADDED
    added, removed = len(found.added), len(found.removed)
    return Change(channel, kind, new, added=added, removed=removed, edited=len(edited))
