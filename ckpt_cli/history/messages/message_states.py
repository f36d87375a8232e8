"""The messages with tokens in the states around a task, to compare with those that it wrote."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from ckpt_cli.history.messages.token_usage import Usage, usages


class Held(NamedTuple):
    """The values of a state, and whether these are all of it."""

    values: Sequence[Any] = ()
    is_whole: bool = False


Holds = Callable[[], Held]
"""Reads a state."""


class StepStates(NamedTuple):
    """The states around a step: the one in which its tasks began, and the one that it made."""

    before: Holds
    made: Holds


NO_STATES = StepStates(Held, Held)


def all_usages(values: Iterable[Any]) -> Iterator[Usage]:
    """The messages in some values."""
    return (usage for value in values for usage in usages(value))


def nameless(values: Iterable[Any]) -> Counter[int]:
    """How many messages without an id there are, by their digests."""
    return Counter(one.nameless_key() for one in all_usages(values) if one.message_id is None)


class StepMessages:
    """The messages without an id around a step, read at the first question."""

    def __init__(self, step: StepStates) -> None:
        self.step = step

    def is_without(self, key: int) -> bool:
        """Whether the tasks began in a state that has no message without an id that is like this one.

        A message with an id is another one: a task that writes it again writes it with the id.
        """
        return self._before is not None and key not in self._before

    def has_one_more(self, key: int) -> bool:
        """Whether the step's state may have one more message like this than before, besides those asked for."""
        if self._more is None:
            return True
        self._more[key] -= 1
        return self._more[key] >= 0

    @cached_property
    def _before(self) -> Counter[int] | None:
        held = self.step.before()
        return nameless(held.values) if held.is_whole else None

    @cached_property
    def _more(self) -> Counter[int] | None:
        """By how much each is more often there after the step; with those that it gave an id."""
        states = self.step.before(), self.step.made()
        if not all(held.is_whole for held in states):
            return None
        before, made = (Counter(one.nameless_key() for one in all_usages(held.values)) for held in states)
        return made - before
