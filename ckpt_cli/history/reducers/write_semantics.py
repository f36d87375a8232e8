"""`Habit`: what a channel does with writes (replaces, appends, sums …), as a decoded state proves."""

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from math import isclose
from typing import Any

from ckpt_cli.history.state.channels import unwrapped
from ckpt_cli.values.known import messages, overwrite
from ckpt_cli.values.same import same

_PROOF = 3  # the newest steps that wrote to a channel; together they prove what the channel does with lists
_SEVERAL = 2  # numbers that make a sum
_LARGEST = 2.0**63


class Habit(StrEnum):
    """What a channel does with writes, as far as a decoded state proved."""

    APPENDS = "appends"
    FIRST = "first"
    """The channel holds the one list that was written: it may append lists or keep the last one."""
    SUMS = "sums"
    REPLACES = "replaces"
    REDUCES = "reduces"  # the value is not the last write: some other reducer made the value
    MERGES_MESSAGES = "talks"
    """The channel holds messages; a text or a pair of role and text that is written to it becomes a message."""


def keeps_last_write(habit: Habit | None) -> bool:
    """Whether the channel simply holds its last write, without a reducer."""
    return habit is Habit.REPLACES


def numeric(values: Iterable[Any]) -> bool:
    """Whether all values are numbers that can be summed: no booleans, and nothing too large for a float."""
    return all(
        isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST for value in values
    )


def prove_habits(
    values: Mapping[str, Any], written: Mapping[str, list[list[Any]]], fully_known: Collection[str] = ()
) -> dict[str, Habit]:
    """The habit of each channel that a state and the writes on its line prove.

    Args:
        values: the state.
        written: channel to the values that each step wrote, newest step first.
        fully_known: the channels for which `written` has all values that were ever written.
    """
    channels = [channel for channel, steps in written.items() if steps and channel in values]
    habits = {channel: _habit(values[channel], written[channel], channel in fully_known) for channel in channels}
    return {channel: habit for channel, habit in habits.items() if habit is not None}


def _habit(value: Any, written: list[list[Any]], fully_known: bool) -> Habit | None:
    value = unwrapped(value)
    proved = _proved(value, written)
    if proved is not Habit.REPLACES and messages(value) is not None:
        return Habit.MERGES_MESSAGES
    if not fully_known or not _summed(value, written):
        return proved
    return None if proved is Habit.REPLACES else Habit.SUMS


def _summed(value: Any, written: list[list[Any]]) -> bool:
    """Whether a value is the sum of several numbers that were written; a single number proves nothing."""
    numbers = [part for step in reversed(written) for part in step]
    if not numeric([value, *numbers]) or sum(1 for part in numbers if part) < _SEVERAL:
        return False
    return isclose(value, sum(numbers), rel_tol=1e-9) if isinstance(value, float) else bool(value == sum(numbers))


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


def combine_habits(near: Mapping[str, Habit], far: Mapping[str, Habit]) -> dict[str, Habit]:
    """The habits that two states of one graph prove together: those of the nearer state, unless the other proves more.

    For example, a value that equals the last write by chance looks like REPLACES. A state in which value and last write
    differ disproves this.
    """
    together = {**far, **near}
    for channel, habit in far.items():
        nearer = together[channel]
        disproved = nearer is Habit.REPLACES and habit in (Habit.REDUCES, Habit.SUMS)
        says_more = nearer is Habit.REDUCES and habit not in (Habit.REPLACES, Habit.FIRST)
        if disproved or says_more or nearer is Habit.FIRST:
            together[channel] = habit
    return together
