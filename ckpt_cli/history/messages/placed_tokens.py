"""`PlacedTokens`: each message's tokens once, with the first task of a node that wrote the message."""

from collections.abc import Callable, Iterable
from typing import Any

from ckpt_cli.history.messages.token_usage import Usage, usages

Key = str | int
States = Callable[[], Iterable[Any]]
"""Gives the values of the state that a step made."""


class _Added:
    """A message without an id that a task wrote.

    Args:
        key: its digest.
        made: gives the values of the state that its step made; none if that isn't known.
    """

    def __init__(self, key: int, made: States) -> None:
        self._key, self._made = key, made
        self._ids: set[str | None] | None = None

    def may_be(self, own_id: str, made: States | None) -> bool:
        """Whether ``add_messages`` may have given it this id: the state that its step made has it, or isn't known.

        The id of another message of the same step, which `made` shows, is another one.
        """
        if made is self._made and made is not tuple:
            return False
        if self._ids is None:
            all_usages = (usage for value in self._made() for usage in usages(value))
            self._ids = {usage.message_id for usage in all_usages if usage.nameless_key() == self._key}
        return not self._ids or own_id in self._ids


class PlacedTokens:
    """Gives the tokens of each message to the first task of a node that wrote it, and to no other.

    A message that came from outside (an input, an update), or that was there before the first recorded task, belongs to
    no node, even if nodes write it again. A subgraph's input has messages of the graph above: only a task of a graph
    above may have made them.

    A node may return a message without an id, which ``add_messages`` gives later (langgraph 1.2 ``graph/message.py``):
    a message with a new id that is otherwise equal is taken for that one, unless the state that its step made lacks it,
    or the same step wrote it: LangGraph may store one write before the message has its id, and the next one after. A
    second equal message without an id counts if the state that its step made has one more id than were counted; else it
    may be the first one, stored again.
    """

    def __init__(self) -> None:
        self._known = set[Key]()
        self._nameless: dict[int, list[_Added]] = {}  # messages that were added without an id, and have none yet
        self._given = (0, 0)
        self._copied: dict[Key, tuple[int, int, int]] = {}  # depth, input and output tokens
        self._named: dict[int, str] = {}  # copied messages without an id, which have one now
        self._made: tuple[States, dict[int, list[str]]] = tuple, {}
        self._assumed: dict[str, States] = {}  # the ids that `_is_more` took, with the step in which it did

    @property
    def unplaced(self) -> tuple[int, int]:
        """The input and output tokens of messages that belong to no node."""
        read, wrote = self._given
        return read + sum(one[1] for one in self._copied.values()), wrote + sum(one[2] for one in self._copied.values())

    def add_written(self, value: Any, depth: int, made: States = tuple) -> tuple[int, int]:
        """Add what a task wrote, and give the tokens that are its own; `depth` is that of its graph.

        `made` is called only if there is a message without an id that equals one before.
        """
        return self._add(value, depth, made)

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

    def _add(self, value: Any, depth: int, made: States = tuple) -> tuple[int, int]:
        read = wrote = 0
        for usage in usages(value):
            key = self._key(usage, made)
            if self._is_new(key, depth):
                self._known.add(key)
                self._copied.pop(key, None)
                if isinstance(key, int):
                    self._nameless.setdefault(key, []).append(_Added(key, made))
            elif isinstance(key, str) and self._assumed.get(key) is made:  # it was another one's then
                del self._assumed[key]
                self._nameless.setdefault(nameless := usage.nameless_key(), []).append(_Added(nameless, made))
            elif not (isinstance(key, int) and key in self._known and self._is_more(key, made)):
                continue
            read, wrote = read + usage.input, wrote + usage.output
        return read, wrote

    def _is_new(self, key: Key, depth: int) -> bool:
        return key not in self._known and (key not in self._copied or depth < self._copied[key][0])

    def _key(self, usage: Usage, made: States | None = None) -> Key:
        """A message's id, or its digest; if the message was added without the id, it has it from here on."""
        if (own_id := usage.message_id) is None:
            nameless = usage.nameless_key()
            return self._named.get(nameless, nameless)
        if self._nameless and self._is_unheard(own_id):
            nameless = usage.nameless_key()
            added = self._nameless.get(nameless, [])
            if (place := next((at for at, one in enumerate(added) if one.may_be(own_id, made)), None)) is not None:
                del added[place]
                self._known.add(own_id)
            elif nameless in self._copied:
                self._copied[own_id] = self._copied.pop(nameless)
                self._named[nameless] = own_id
        return own_id

    def _is_unheard(self, own_id: str) -> bool:
        return own_id not in self._known and own_id not in self._copied

    def _is_more(self, nameless: int, made: States) -> bool:
        """Whether the state that a step made has one more message like this than were added; it is known then."""
        if self._made[0] is not made:
            self._made = made, self._unheard(made())
        ids = self._made[1].get(nameless, [])
        while ids:
            if self._is_unheard(own_id := ids.pop()):
                self._known.add(own_id)
                self._assumed[own_id] = made
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
