"""What writes did to a channel in one step: added, edited, set, same, unread; `steps` collects them.

This is computed without the state before or after the step. A write records the value that a task gave to a channel,
not the channel's new value. The channel's reducer decides whether a list is appended or replaces the old one, and the
reducer is not recorded. A `Habit` says what the channel does with its writes, as a decoded state proved. Without a
habit, a `Change` only says that the value was written.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from ckpt_cli.history.reducers.write_semantics import Habit, keeps_last_write, numeric
from ckpt_cli.history.state import channels
from ckpt_cli.history.state.channels import CONTROL_WRITES, NO_WRITES, PREVIOUS, RETURN, START, TASKS
from ckpt_cli.values.known import js_send, message, overwrite, spelled_out
from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.same import same
from ckpt_cli.values.state import TaskWrite

UNKNOWN = object()
"""The value before the step, if it was not read."""
NOTHING = object()
"""The value before the step, if there was none: all older steps were read, and none wrote to the channel."""

Before = Callable[[str], Any]
"""Gives the value of a channel before a step."""

_REMOVE_ALL = "__remove_all__"
_NO_SENDS: Mapping[str, int] = MappingProxyType({})


class ChangeKind(StrEnum):
    """How a channel was changed."""

    ADDED = "added"
    """`Change.added` items were added to a list, and `Change.removed` messages removed."""
    EDITED = "edited"
    """`Change.edited` items of a list were replaced in their places; items may also have been added and removed."""
    SET = "set"
    """A value was written and is now the state; the value before it is unknown."""
    WROTE = "wrote"
    """A value was written, and the channel has or may have a reducer. The channel's new value isn't known."""
    SUMMED = "summed"
    """A number was added to the number in the channel."""
    SAME = "same"
    """The value that was written was in the channel already."""
    CHANGED = "changed"
    """A value was written in place of another."""
    REPLACED = "replaced"
    """A new value replaced everything that a reducer had gathered."""
    SEVERAL = "several"
    """Several values were written to it; `Change.added` is their number."""
    SENT = "sent"
    """Sends called nodes with arguments of their own."""
    UNREADABLE = "unreadable"
    """The value can't be decoded, because a key is missing or because it is damaged."""
    UNREAD = "unread"
    """The value was not read because it is too long; it has `Change.size` bytes."""


class Change(NamedTuple):
    """What one step did to one channel.

    Attributes:
        after: the value that was written; the sum for SUMMED, the new items for ADDED, the new and the edited items for
            EDITED, a list of all values for SEVERAL.
        before: the value that was replaced, for CHANGED.
        to: node to number of Sends, for SENT.
        size: bytes written.
        unsure: for SET, whether the channel may have had the same value already.
    """

    channel: str
    kind: ChangeKind
    after: Any = None
    before: Any = None
    added: int = 0
    removed: int = 0
    to: Mapping[str, int] = _NO_SENDS
    size: int = 0
    edited: int = 0
    unsure: bool = False


def is_output(write: TaskWrite) -> bool:
    """Whether a write changes the user's state or is a Send; other writes are for the graph itself."""
    channel = write.channel
    if channel in CONTROL_WRITES or channel in (NO_WRITES, PREVIOUS, RETURN, START) or channel.startswith("join:"):
        return False
    return channels.target(channel) is None


def step_changes(
    writes: Sequence[TaskWrite],
    habits: Mapping[str, Habit],
    before: Before = lambda _: NOTHING,
) -> list[Change]:
    """The changes that these outputs made, channel by channel, in the order of the writes.

    `before` gives the value that was last written to a channel before this step, or `NOTHING`, or `UNKNOWN`.
    """
    by_channel: dict[str, list[TaskWrite]] = {}
    for write in writes:
        by_channel.setdefault(write.channel, []).append(write)
    result = []
    for channel, own in by_channel.items():
        size = sum(write.row.size for write in own)
        if not all(write.read for write in own):
            result.append(Change(channel, ChangeKind.UNREAD, added=len(own), size=size))
        elif (bad := next((write.value for write in own if is_broken(write.value)), None)) is not None:
            result.append(Change(channel, ChangeKind.UNREADABLE, bad, added=len(own), size=size))
        elif channel == TASKS:
            result.append(_sent([write.value for write in own], size))
        else:
            result += channel_changes(channel, [write.value for write in own], habits.get(channel), before, size)
    return result


def channel_changes(
    channel: str,
    values: list[Any],
    habit: Habit | None,
    before: Before = lambda _: NOTHING,
    size: int = 0,
) -> list[Change]:
    """The changes that the values written to one channel made; [] if they changed nothing."""
    replaced = [wrapped.value for value in values if (wrapped := overwrite(value)) is not None]
    if replaced:
        return [Change(channel, ChangeKind.REPLACED, replaced[-1], size=size)]
    if habit is not Habit.REPLACES and (new_messages := _messages(values, habit)) is not None:
        return _message_changes(channel, new_messages, size)
    lists = [value for value in values if isinstance(value, list)]
    if len(lists) == len(values) and (habit is Habit.APPENDS or (len(values) > 1 and habit in (None, Habit.FIRST))):
        items = [item for value in lists for item in value]
        return [Change(channel, ChangeKind.ADDED, items, added=len(items), size=size)] if items else []
    if habit is Habit.SUMS and numeric(values):
        return [Change(channel, ChangeKind.SUMMED, sum(values), size=size)]
    if len(values) > 1:
        return [Change(channel, ChangeKind.SEVERAL, values, added=len(values), size=size)]
    if not keeps_last_write(habit):
        return [Change(channel, ChangeKind.SET if habit is Habit.FIRST else ChangeKind.WROTE, values[0], size=size)]
    previous = before(channel)
    if previous is NOTHING or previous is UNKNOWN:
        return [Change(channel, ChangeKind.SET, values[0], size=size, unsure=previous is UNKNOWN)]
    if not same(previous, values[0]):
        return [Change(channel, ChangeKind.CHANGED, values[0], previous, size=size)]
    return [Change(channel, ChangeKind.SAME, values[0], size=size)]


def _messages(values: list[Any], habit: Habit | None) -> list[Any] | None:
    """All the values as one list of messages; None if the list is empty or some item is no message."""
    if habit is Habit.MERGES_MESSAGES:
        items = [item for value in values for item in spelled_out(value)]
    else:
        items = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return items if items and all(message(item) is not None for item in items) else None


def _message_changes(channel: str, items: list[Any], size: int) -> list[Change]:
    parsed = [(item, parsed_item) for item in items if (parsed_item := message(item)) is not None]
    start = max(
        (at + 1 for at, (_, one) in enumerate(parsed) if one.role == "remove" and one.id == _REMOVE_ALL), default=0
    )
    new = [item for item, one in parsed[start:] if one.role != "remove"]
    if start:
        return [Change(channel, ChangeKind.REPLACED, new, size=size)]
    return [Change(channel, ChangeKind.ADDED, new, added=len(new), removed=len(parsed) - len(new), size=size)]


def _sent(values: list[Any], size: int) -> Change:
    to: dict[str, int] = {}
    for value in values:
        send = js_send(value)
        name = send.node if send is not None else "?"
        to[name] = to.get(name, 0) + 1
    return Change(TASKS, ChangeKind.SENT, to=to, added=len(values), size=size)


def is_broken(value: Any) -> bool:
    """Whether a value could not be decoded."""
    return isinstance(value, Node) and value.form is Form.BROKEN


def compare_values(channel: str, before: Any, after: Any) -> Change:
    """The change that a step made in a channel, from the values before and after the step."""
    if isinstance(before, list) and isinstance(after, list) and (edited := _edited(channel, before, after)):
        return edited
    if isinstance(after, list) and before is not UNKNOWN:
        return Change(channel, ChangeKind.REPLACED, after)
    return (
        Change(channel, ChangeKind.SET, after)
        if before is UNKNOWN
        else Change(channel, ChangeKind.CHANGED, after, before)
    )


def _edited(channel: str, before: list[Any], after: list[Any]) -> Change | None:
    """The change of a list's items; None if the list was replaced as a whole."""
    from ckpt_cli.history.diff.align import align

    alignment = align(before, after)
    if not alignment.exact:
        return None
    edited = [j for i, j in alignment.pairs if not same(before[i], after[j])]
    has_id = any((parsed := message(after[j])) is not None and parsed.id for j in edited)
    if alignment.moved or not (has_id or len(edited) < len(alignment.pairs) or not before or not after):
        return None
    new = [after[j] for j in sorted([*edited, *alignment.added])]
    kind = ChangeKind.EDITED if edited else ChangeKind.ADDED
    added, removed = len(alignment.added), len(alignment.removed)
    return Change(channel, kind, new, added=added, removed=removed, edited=len(edited))
