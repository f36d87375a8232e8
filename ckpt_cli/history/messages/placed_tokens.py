"""`PlacedTokens`: each message's tokens once, with the first task of a node that wrote the message."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ckpt_cli.history.messages.token_usage import Usage, usages

Key = str | int
Values = Callable[[], Iterable[Any]]
"""Gives the values of a state; none if it isn't known."""


class StepStates(NamedTuple):
    """The states around a step: the one in which its tasks began, and the one that it made."""

    before: Values
    made: Values


NO_STATES = StepStates(tuple, tuple)


class _Added:
    """A message without an id that a task wrote.

    Args:
        key: its digest.
        step: the states around the step of that task.
    """

    def __init__(self, key: int, step: StepStates) -> None:
        self._key, self._step = key, step
        self._ids: set[str] | None = None

    def is_of(self, step: StepStates | None) -> bool:
        """Whether the same step wrote it."""
        return step is self._step and step is not NO_STATES

    def may_be(self, own_id: str) -> bool:
        """Whether ``add_messages`` may have given it this id: the state that its step made has it, or no id for it."""
        if self._ids is None:
            every = (usage for value in self._step.made() for usage in usages(value))
            self._ids = {one.message_id for one in every if one.message_id and one.nameless_key() == self._key}
        return not self._ids or own_id in self._ids


class PlacedTokens:
    """Gives the tokens of each message to the first task of a node that wrote it, and to no other.

    A message that came from outside (an input, an update), or that was there before the first recorded task, belongs to
    no node, even if nodes write it again. A subgraph's input has messages of the graph above: only a task of a graph
    above may have made them.

    A node may return a message without an id, which ``add_messages`` gives later (langgraph 1.2 ``graph/message.py``):
    a message with a new id that is otherwise equal is taken for that one if it was there when its task began, or if the
    state that the other's step made has it, or has no id for it. Not if the same step wrote both: LangGraph may store
    one write before the message has its id, and the next one after. A second equal message without an id counts if the
    state that its step made has one more id than were counted; else it may be the first one, stored again.
    """

    def __init__(self) -> None:
        self._known = set[Key]()
        self._nameless: dict[int, list[_Added]] = {}  # messages that were added without an id, and have none yet
        self._given = (0, 0)
        self._copied: dict[Key, tuple[int, int, int]] = {}  # depth, input and output tokens
        self._named: dict[int, str] = {}  # copied messages without an id, which have one now
        self._made: tuple[StepStates, dict[int, list[str]]] = NO_STATES, {}
        self._before: tuple[StepStates, set[str | None]] = NO_STATES, set()
        self._assumed: dict[str, StepStates] = {}  # the ids that `_is_more` took, with the step in which it did

    @property
    def unplaced(self) -> tuple[int, int]:
        """The input and output tokens of messages that belong to no node."""
        read, wrote = self._given
        return read + sum(one[1] for one in self._copied.values()), wrote + sum(one[2] for one in self._copied.values())

    def add_written(self, value: Any, depth: int, step: StepStates = NO_STATES) -> tuple[int, int]:
        """Add what a task wrote, and give the tokens that are its own; `depth` is that of its graph.

        The states are read only if a message equals one that was added without an id.
        """
        return self._add(value, depth, step)

    def add_given(self, value: Any) -> None:
        """Add what no task of a node made."""
        read, wrote = self._add(value, -1)
        self._given = self._given[0] + read, self._given[1] + wrote

    def add_copied(self, value: Any, depth: int) -> None:
        """Add the input of a subgraph at a depth."""
        for usage in usages(value):
            key = self._key(usage)
            if self._is_new(key, depth):
                self._copied[key] = depth, usage.input, usage.output
                if isinstance(key, int):
                    self._nameless.setdefault(key, [])

    def _add(self, value: Any, depth: int, step: StepStates = NO_STATES) -> tuple[int, int]:
        read = wrote = 0
        for usage in usages(value):
            key = self._key(usage, step)
            if self._is_new(key, depth):
                self._known.add(key)
                self._copied.pop(key, None)
                if isinstance(key, int):
                    self._nameless.setdefault(key, []).append(_Added(key, step))
            elif isinstance(key, str) and self._assumed.get(key) is step:  # it was another one's then
                del self._assumed[key]
                self._nameless.setdefault(nameless := usage.nameless_key(), []).append(_Added(nameless, step))
            elif not (isinstance(key, int) and key in self._known and self._is_more(key, step)):
                continue
            read, wrote = read + usage.input, wrote + usage.output
        return read, wrote

    def _is_new(self, key: Key, depth: int) -> bool:
        return key not in self._known and (key not in self._copied or depth < self._copied[key][0])

    def _key(self, usage: Usage, step: StepStates | None = None) -> Key:
        """A message's id, or its digest; if the message was added without the id, it has it from here on."""
        if (own_id := usage.message_id) is None:
            nameless = usage.nameless_key()
            return self._named.get(nameless, nameless)
        if self._nameless and self._is_unheard(own_id):
            nameless = usage.nameless_key()
            added = self._nameless.get(nameless, [])
            if (place := self._place(added, own_id, step)) is not None:
                del added[place]
                self._known.add(own_id)
            elif nameless in self._copied:
                self._copied[own_id] = self._copied.pop(nameless)
                self._named[nameless] = own_id
        return own_id

    def _place(self, added: list[_Added], own_id: str, step: StepStates | None) -> int | None:
        """Which of the messages that were added without an id has this one now; equal ones have equal tokens."""
        earlier = [at for at, one in enumerate(added) if not one.is_of(step)]
        if not earlier or (step is not None and self._was_there(own_id, step)):
            return next(iter(earlier), None)
        return next((at for at in earlier if added[at].may_be(own_id)), None)

    def _was_there(self, own_id: str, step: StepStates) -> bool:
        """Whether a message was there when the tasks of a step began."""
        if self._before[0] is not step:
            self._before = step, {usage.message_id for value in step.before() for usage in usages(value)}
        return own_id in self._before[1]

    def _is_unheard(self, own_id: str) -> bool:
        return own_id not in self._known and own_id not in self._copied

    def _is_more(self, nameless: int, step: StepStates) -> bool:
        """Whether the state that a step made has one more message like this than were added; it is known then."""
        if self._made[0] is not step:
            self._made = step, self._unheard(step.made())
        ids = self._made[1].get(nameless, [])
        while ids:
            if self._is_unheard(own_id := ids.pop()):
                self._known.add(own_id)
                self._assumed[own_id] = step
                return True
        return False

    def _unheard(self, values: Iterable[Any]) -> dict[int, list[str]]:
        """The ids in a state that belong to no message that was added, by the digests of their messages."""
        found: dict[int, list[str]] = {}
        for usage in (usage for value in values for usage in usages(value)):
            own_id = self._key(usage)
            if isinstance(own_id, str) and self._is_unheard(own_id):
                found.setdefault(usage.nameless_key(), []).append(own_id)
        return found
