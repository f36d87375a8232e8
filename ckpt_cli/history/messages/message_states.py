"""The messages with tokens in the states around a task, to compare with those that it wrote."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from ckpt_cli.history.messages.token_usage import Usage, usages, usages_within


class Held(NamedTuple):
    """The values of a state.

    Attributes:
        is_whole: whether these are all of it.
        sent: the Sends in it, whose arguments its tasks take.
    """

    values: Sequence[Any] = ()
    is_whole: bool = False
    sent: Sequence[Any] = ()


Holds = Callable[[], Held]
"""Reads a state."""


class StepStates(NamedTuple):
    """The states around a step: the one in which its tasks began, and the one that it made.

    Attributes:
        given: what its tasks got besides: answers, and what a Command given as input wrote.
        ns: its namespace.
    """

    before: Holds
    made: Holds
    given: Sequence[Any] = ()
    ns: str = ""


NO_STATES = StepStates(Held, Held)


class Sources(NamedTuple):
    """What a task may have messages from besides the state in which it began.

    Attributes:
        ends: the last states of the subgraphs that it called, and the results of the tasks that it called.
        root: of a task that another one called, the path of the first caller; "" for any other.
        beside: the last states of the subgraphs that this first caller and the tasks below it called.
    """

    ends: Holds = Held
    root: str = ""
    beside: Holds = Held


NO_SOURCES = Sources()


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
        self._counted = Counter[int]()
        self._by_root: dict[str, set[int]] = {}

    def count(self, key: int, sources: Sources) -> None:
        """Note that a message of the step counts."""
        self._counted[key] += 1
        if sources.root:
            self._called(sources).add(key)

    def is_without(self, key: int, sources: Sources) -> bool:
        """Whether a task had nothing that has a message without an id that is like this one.

        A message with an id is another one: a task that writes it again writes it with the id. One in a Send may have
        got it since.
        """
        if self._before is None or key in self._before:
            return False
        return not sources.root or key not in self._called(sources)

    def has_one_more(self, key: int, sources: Sources) -> bool:
        """Whether the step's state may have one more message like this than before, besides those asked for.

        And besides those of the step that count. What a called task returns need not be in the state.
        """
        if self._more is None or sources.root:
            return True
        self._more[key] -= 1
        return self._more[key] >= self._counted[key]

    def _called(self, sources: Sources) -> set[int]:
        """The messages that other tasks, and subgraphs, below the same first caller have, and may give to a task."""
        if sources.root not in self._by_root:
            self._by_root[sources.root] = {*nameless(sources.beside().values)}
        return self._by_root[sources.root]

    @cached_property
    def _before(self) -> frozenset[int] | None:
        """Those that tasks may have taken, at any depth: from the state, from Sends, from what was given."""
        held = self.step.before()
        if not held.is_whole:
            return None
        every = (usage for value in (*held.values, *self.step.given) for usage in usages_within(value))
        own = {one.nameless_key() for one in every if one.message_id is None}
        return frozenset(own).union(one.nameless_key() for value in held.sent for one in usages_within(value))

    @cached_property
    def _more(self) -> Counter[int] | None:
        """By how much each is more often there after the step; with those that it gave an id."""
        states = self.step.before(), self.step.made()
        if not all(held.is_whole for held in states):
            return None
        before, made = (Counter(one.nameless_key() for one in all_usages(held.values)) for held in states)
        return made - before
