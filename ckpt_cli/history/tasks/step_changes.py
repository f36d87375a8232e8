"""A channel's change in a step: added, edited, set, changed, same, wrote; `steps` has both states.

A write is what a task gave to a channel. What the channel made of it is the work of the channel's reducer, which is
recorded nowhere. So a `Change` speaks of the state only if the values on both sides of the step were read; if they
were not, it says what was written.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from math import isclose
from types import MappingProxyType
from typing import Any, NamedTuple

from ckpt_cli.history.state import channels
from ckpt_cli.history.state.channels import CONTROL_WRITES, NO_WRITES, PREVIOUS, RETURN, START, TASKS
from ckpt_cli.history.tasks.write_makers import is_command
from ckpt_cli.values.langgraph_values import js_send, message, messages, overwrite
from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.same import same
from ckpt_cli.values.state import TaskWrite
from ckpt_cli.values.write_forms import is_kept, is_part_kept

UNKNOWN = object()
"""The value on one side of a step, if it was not read or can't be decoded."""
NOTHING = object()
"""The value on one side of a step, if the channel holds nothing there."""

_NO_SENDS: Mapping[str, int] = MappingProxyType({})
_LARGEST = 2.0**63


class Sides(NamedTuple):
    """The value of a channel before and after a step; each may be `UNKNOWN` or `NOTHING`.

    `has_kept_version` says that the step made no new version of the channel.
    """

    before: Any
    after: Any
    has_kept_version: bool = False


_UNREAD = Sides(UNKNOWN, UNKNOWN)


class ChangeKind(StrEnum):
    """How a channel was changed."""

    ADDED = "added"
    """`Change.added` items were added to a list, and `Change.removed` items removed."""
    EDITED = "edited"
    """`Change.edited` items of a list were replaced in their places; items may also have been added and removed."""
    SET = "set"
    """The channel has this value now; before, it held nothing, or its value is unknown (`Change.unsure`)."""
    WROTE = "wrote"
    """A value was written. What the channel made of it was not read."""
    GIVEN = "given"
    """A value was given as input. The next step takes it in."""
    SUMMED = "summed"
    """The number in the channel grew by the sum of the numbers that were written."""
    SAME = "same"
    """The channel has the value that it had before, whatever was written."""
    CHANGED = "changed"
    """The channel had another value before."""
    REPLACED = "replaced"
    """A list has nothing left of what it was before, or an ``Overwrite`` replaced a value."""
    SEVERAL = "several"
    """Several values were written; `Change.added` is their number. What the channel made of them was not read."""
    CLEARED = "cleared"
    """The channel held a value before and holds nothing now, as a topic or an ephemeral value does after a step."""
    CORRECTED = "corrected"
    """The task `Change.task`, or the entrypoint if it is "", is to run with another argument."""
    SENT = "sent"
    """Sends called nodes with arguments of their own."""
    UNREADABLE = "unreadable"
    """The value that was written can't be decoded, because a key is missing or because it is damaged."""
    UNSTORED = "unstored"
    """The channel was changed by writes that are not stored."""
    UNREAD = "unread"
    """The value was not read because it is too long; it has `Change.size` bytes."""


class Change(NamedTuple):
    """What one step did to one channel.

    Attributes:
        after: the state's value after the step; the sum for SUMMED, the new items for ADDED, the new and the edited
            items for EDITED; the new argument for CORRECTED; what was written for WROTE and GIVEN, and a list of it for
            SEVERAL.
        before: the state's value before the step, for CHANGED, CLEARED and SAME; the old argument for CORRECTED.
        to: node to number of Sends, for SENT.
        size: bytes written.
        unsure: for SET, whether the channel may have had the same value already.
        task: for CORRECTED, the task's node, with the number of its Send.
        unwritten: whether the channel changed without a new version, so that nothing wrote to it.
        by_command: for SENT, whether a ``Command`` given as input sent them, so that they ran in this step.
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
    task: str = ""
    unwritten: bool = False
    by_command: bool = False


def is_output(write: TaskWrite) -> bool:
    """Whether a write changes the user's state or is a Send; other writes are for the graph itself."""
    return is_for_state(write.channel)


@lru_cache(maxsize=1000)
def is_for_state(channel: str) -> bool:
    """Whether a write to this channel changes the user's state or is a Send; asked of the same few names again."""
    if channel in CONTROL_WRITES or channel in (NO_WRITES, PREVIOUS, RETURN, START) or channel.startswith("join:"):
        return False
    is_old_inbox = channel.endswith(":inbox") and channels.target(channel) is None
    return is_old_inbox or channels.any_target(channel) is None  # where an inbox triggers a node, no writes are stored


def step_changes(writes: Sequence[TaskWrite], sides: Mapping[str, Sides], *, given: bool = False) -> list[Change]:
    """The changes that these outputs made, channel by channel, in the order of the writes.

    Args:
        writes: the outputs of one step.
        sides: channel to its values before and after the step, if they were read.
        given: whether the writes are an input.
    """
    by_channel: dict[str, list[TaskWrite]] = {}
    for write in writes:
        by_channel.setdefault(write.channel, []).append(write)
    changes = list[Change]()
    for channel, own in by_channel.items():
        size = sum(write.row.size for write in own)
        values = [write.value for write in own] if all(write.read for write in own) else None
        if channel == TASKS and values is not None and not any(map(is_broken, values)):
            changes += _sends(own)
            continue
        change = channel_change(channel, values, sides.get(channel, _UNREAD), given=given)
        unread = change.kind is ChangeKind.UNREAD
        changes.append(change._replace(size=size, added=len(own) if unread else change.added))
    return changes


def channel_change(
    channel: str, written: Sequence[Any] | None, sides: Sides = _UNREAD, *, given: bool = False
) -> Change:
    """The change of one channel; `written` are the values that were written to it, None if they were not read."""
    return state_change(channel, written or (), sides) or _written_change(channel, written, given)


def _written_change(channel: str, written: Sequence[Any] | None, given: bool) -> Change:
    """What was written to a channel, if the state doesn't show what the channel made of it."""
    if written is None:
        return Change(channel, ChangeKind.UNREAD)
    bad = next((value for value in written if is_broken(value)), None)
    if bad is not None:
        return Change(channel, ChangeKind.UNREADABLE, bad, added=len(written))
    if len(written) > 1:
        return Change(channel, ChangeKind.SEVERAL, list(written), added=len(written))
    return Change(channel, ChangeKind.GIVEN if given else ChangeKind.WROTE, written[0])


def state_change(channel: str, written: Sequence[Any], sides: Sides) -> Change | None:
    """The change of a channel's value; None if the sides don't show it. `written` is empty if no writes are known."""
    before, after, has_kept_version = sides
    if after is UNKNOWN or after is NOTHING:
        return None
    if before is UNKNOWN:
        is_plain = not written or (len(written) == 1 and same(written[0], after))
        return Change(channel, ChangeKind.SET, after, unsure=True) if is_plain else None
    if before is NOTHING:
        return _first_value(channel, written, after)
    if (is_kept if has_kept_version else same)(before, after):
        return Change(channel, ChangeKind.SAME, after, before)
    if any((wrapped := overwrite(value)) is not None and same(wrapped.value, after) for value in written):
        return Change(channel, ChangeKind.REPLACED, after)
    if isinstance(before, list) and isinstance(after, list):
        return _list_change(channel, before, after, is_kept if has_kept_version else is_part_kept)
    if _is_sum(before, after, written):
        return Change(channel, ChangeKind.SUMMED, sum(written))
    return Change(channel, ChangeKind.CHANGED, after, before)


def _first_value(channel: str, written: Sequence[Any], after: Any) -> Change:
    """The change of a channel that held nothing; messages count as added, and so do lists of several tasks."""
    joined = [item for value in written for item in value] if _are_lists(written) and len(written) > 1 else None
    if isinstance(after, list) and (messages(after) or (joined is not None and same(joined, after))):
        return Change(channel, ChangeKind.ADDED, after, added=len(after))
    return Change(channel, ChangeKind.SET, after)


def _are_lists(values: Sequence[Any]) -> bool:
    return all(isinstance(value, list) for value in values)


def _is_sum(before: Any, after: Any, written: Sequence[Any]) -> bool:
    """Whether a number grew by the numbers that were written, and isn't simply the last of them."""
    if not written or not are_numbers([before, after, *written]) or (len(written) == 1 and same(written[0], after)):
        return False
    return isclose(before + sum(written), after, rel_tol=1e-9)


def are_numbers(values: Sequence[Any]) -> bool:
    """Whether all values are numbers that can be summed: no booleans, and nothing too large for a float."""
    return all(
        isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST for value in values
    )


def _sends(writes: Sequence[TaskWrite]) -> Iterator[Change]:
    """The Sends of a Command given as input, which ran in the step, and those of its tasks, which run in the next."""
    for by_command in (True, False):
        own = [write for write in writes if is_command(write) is by_command]
        if own:
            yield _sent([write.value for write in own], sum(write.row.size for write in own), by_command)


def _sent(values: list[Any], size: int, by_command: bool) -> Change:
    to: dict[str, int] = {}
    for value in values:
        send = js_send(value)
        name = send.node if send is not None else "?"
        to[name] = to.get(name, 0) + 1
    return Change(TASKS, ChangeKind.SENT, to=to, added=len(values), size=size, by_command=by_command)


def is_broken(value: Any) -> bool:
    """Whether a value could not be decoded."""
    return isinstance(value, Node) and value.form is Form.BROKEN


def _list_change(channel: str, before: list[Any], after: list[Any], equal: Callable[[Any, Any], bool]) -> Change:
    """The change of a list's items; CHANGED if items moved or if the lists are too long to be aligned exactly."""
    from ckpt_cli.history.diff.align import align

    alignment = align(before, after, equal=equal)
    if not alignment.exact or alignment.moved:
        return Change(channel, ChangeKind.CHANGED, after, before)
    edited = [j for i, j in alignment.pairs if not equal(before[i], after[j])]
    has_id = any((parsed := message(after[j])) is not None and parsed.id for j in edited)
    if not (has_id or len(edited) < len(alignment.pairs) or not before or not after):
        return Change(channel, ChangeKind.REPLACED, after)
    new = [after[j] for j in sorted([*edited, *alignment.added])]
    kind = ChangeKind.EDITED if edited else ChangeKind.ADDED
    added, removed = len(alignment.added), len(alignment.removed)
    return Change(channel, kind, new, added=added, removed=removed, edited=len(edited))
