"""The reducers as pure functions (append, sum, message merge …), and what the evidence for one is.

The graph's own functions are not in a database. But in real histories, a common reducer either gives the recorded value
at every step of a channel or at none. So a channel's reducer can be learned, and the evidence for it can be shown.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ckpt_cli.values.langgraph_values import Message, items, message, overwrite
from ckpt_cli.values.node import Form, Node, Opened
from ckpt_cli.values.same import same

REMOVE_ALL = "__remove_all__"
"""The id of the RemoveMessage that removes all before it (``graph/message.py: REMOVE_ALL_MESSAGES``)."""


class _Absent:
    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Any = _Absent()
"""The value of a channel that holds nothing."""


class Unfit(Exception):
    """A reducer can't take these values. If they are recorded, it is not the reducer of this channel."""


class TooManyWrites(Unfit):
    """A reducer can't take several writes in one step, whatever their values."""


@dataclass(frozen=True, slots=True)
class Reducer:
    """One way to fold writes into a value; `fold` raises `Unfit` if it can't take the values."""

    name: str
    fold: Callable[[Any, Sequence[Any]], Any]
    fades: bool = False
    """Whether a step without writes empties the channel."""
    makes: frozenset[type] | None = None  # the types that `fold` may give; None if any

    def step(self, before: Any, writes: Sequence[Any]) -> Any:
        """The value after one step. If a write is an ``Overwrite``, only this write counts.

        Raises:
            Unfit: the reducer can't take the writes, or two are an ``Overwrite`` (langgraph 1.0 ``channels/binop.py``).
        """
        replaced = [wrapped for write in writes if (wrapped := overwrite(write)) is not None]
        if len(replaced) > 1:
            raise Unfit("a channel takes one Overwrite a step")
        return replaced[0].value if replaced else self.fold(before, writes)

    def replay(self, seed: Any, writes: Sequence[Any]) -> Any:
        """The value after the writes of many steps (``channels/delta.py: replay_writes``).

        Writes before the last ``Overwrite`` don't count.
        """
        base, start = seed, 0
        for place, write in enumerate(writes):
            if (wrapped := overwrite(write)) is not None:
                base, start = wrapped.value, place + 1
        return self.fold(base, writes[start:]) if writes[start:] else base


@dataclass(frozen=True, slots=True)
class ChannelStep:
    """One recorded step of a channel.

    Attributes:
        command: the writes of a ``Command`` that the run got as its input, applied before `writes`.
    """

    before: Any
    writes: Sequence[Any]
    after: Any
    command: Sequence[Any] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """The number of recorded steps that a reducer explains.

    Attributes:
        threads: the number of threads that have these steps; 0 if they are those of the thread in question alone.
        equals: other reducers that explain the same steps and give the same value.
    """

    reducer: Reducer
    explained: int
    steps: int
    threads: int = 0
    equals: tuple[Reducer, ...] = ()

    @property
    def names(self) -> str:
        """The reducer, and the first of the others that explain the same; an ellipsis if there are more."""
        kept = [self.reducer]
        for one in self.equals:
            if not any({one, other} in _ALIKE for other in kept):
                kept.append(one)
        return " or ".join(one.name for one in kept[:2]) + (" …" if len(kept) > 2 else "")

    @property
    def holds(self) -> bool:
        """Whether there were steps and all of them are explained."""
        return 0 < self.steps == self.explained

    @property
    def words(self) -> str:
        """The reducer and the evidence, as a plan and ``replay`` show them; without steps it is only supposed."""
        if not self.steps:
            return f"{self.names} (supposed, as its values are messages)"
        if not self.threads:
            return f"{self.names} ({self.explained:,} of {self.steps:,} steps)"
        where = "another thread" if self.threads == 1 else f"{self.threads} threads"
        return (
            f"{self.names} (from {where}, {'' if self.holds else f'{self.explained:,} of '}{count_steps(self.steps)})"
        )


def _last(_before: Any, writes: Sequence[Any]) -> Any:
    if len(writes) != 1:
        raise TooManyWrites("a last value takes one write a step")
    return writes[0]


def _append(before: Any, writes: Sequence[Any]) -> Any:
    parts = [part for part in (before, *writes) if part is not ABSENT]
    if not parts:
        raise Unfit("nothing to append")
    for kind in (list, str):
        if all(isinstance(part, kind) for part in parts):
            return list(chain.from_iterable(parts)) if kind is list else "".join(parts)
    return _sum(before, writes)


def _sum(before: Any, writes: Sequence[Any]) -> Any:
    parts = [part for part in (before, *writes) if part is not ABSENT]
    if not parts or not all(isinstance(part, int | float) for part in parts):
        raise Unfit("not all lists, texts or numbers")
    return sum(parts)


def _collect(before: Any, writes: Sequence[Any]) -> Any:
    if before is not ABSENT and not isinstance(before, list):
        raise Unfit("not a list")
    return [*([] if before is ABSENT else before), *writes]


def _union(before: Any, writes: Sequence[Any]) -> Any:
    merged: dict[Any, Any] = {}
    for part in (before, *writes):
        if part is not ABSENT:
            if not isinstance(part, dict):
                raise Unfit("not a dict")
            merged.update(part)
    return merged


def _union_without_nulls(before: Any, writes: Sequence[Any]) -> Any:
    merged: dict[Any, Any] = _union(before, ())
    for write in writes:
        merged.update(_union(ABSENT, [write]))
        merged = {key: value for key, value in merged.items() if value is not None}
    return merged


def _join_sets(before: Any, writes: Sequence[Any]) -> Any:
    parts = [part for part in (before, *writes) if part is not ABSENT]
    if not parts or not all(isinstance(part, Node) and part.type in _SETS for part in parts):
        raise Unfit("not all sets")
    joined: list[Any] = []
    for member in (member for part in parts for member in items(part) or []):
        if not any(same(member, other) for other in joined):
            joined.append(member)
    return Node(Opened("builtins", parts[0].name, Form.VALUE, joined))


def _gather(before: Any, writes: Sequence[Any]) -> Any:
    if before is not ABSENT and not isinstance(before, list):
        raise Unfit("not a list")
    return [*([] if before is ABSENT else before), *_flat(writes)]


def _flat(writes: Sequence[Any]) -> list[Any]:
    """The writes; a write that is a list is replaced by its elements (1.2 ``channels/topic.py: _flatten``)."""
    return [item for write in writes for item in (write if isinstance(write, list) else [write])]


def _merge_messages(before: Any, writes: Sequence[Any]) -> Any:
    """Messages merged by id. A message with a known id replaces the old one, a RemoveMessage removes it.

    A message without an id is new.

    langgraph 1.2 ``graph/message.py: add_messages`` and ``pregel/_messages.py: _messages_delta_reducer``.
    """
    merged: list[Any] = []
    places: dict[str, int] = {}
    for part in (before, *writes):
        for item in [] if part is ABSENT else part if isinstance(part, list) else [part]:
            parsed = as_message(item)
            if parsed is None or (part is before and not isinstance(item, Node)):
                raise Unfit("not a message")
            if not isinstance(item, Node):
                item = Shorthand(item)
            if parsed.role != "remove":
                _put(merged, places, parsed.id, item)
            elif parsed.id == REMOVE_ALL:
                merged, places = [], {}
            elif (place := places.pop(parsed.id or "", None)) is not None:
                merged[place] = ABSENT
    return [item for item in merged if item is not ABSENT]


def _put(merged: list[Any], places: dict[str, int], message_id: str | None, item: Any) -> None:
    place = places.get(message_id or "")
    if place is not None:
        merged[place] = item
        return
    if message_id:
        places[message_id] = len(merged)
    merged.append(item)


@dataclass(frozen=True, slots=True)
class Shorthand:
    """A message that a node wrote as plain data (a text, a pair, a dict); in the state it is a message object."""

    given: Any


def as_message(value: Any) -> Message | None:
    """The message in a value, else None. As in the library, a text or a pair of role and text is a message too."""
    if isinstance(value, str):
        return Message("human", None, value)
    if isinstance(value, list) and len(value) == 2 and all(isinstance(part, str) for part in value):
        return message({"role": value[0], "content": value[1]})
    return message(value)


_SETS, _LIST = frozenset({"builtins.set", "builtins.frozenset"}), frozenset({list})
LAST = Reducer("last value", _last)
MESSAGES = Reducer("message merge", _merge_messages, makes=_LIST)
APPEND = Reducer("append", _append, makes=frozenset({list, str, int, float}))  # ``+`` alike for all of these
SUM = Reducer("sum", _sum, makes=frozenset({int, float}))
COLLECT = Reducer("collect", _collect, makes=_LIST)
UNION = Reducer("dict union", _union, makes=frozenset({dict}))
WITHOUT_NULLS = Reducer("dict union without nulls", _union_without_nulls, makes=frozenset({dict}))
SETS = Reducer("set union", _join_sets, makes=frozenset({Node}))
GATHER = Reducer("accumulating topic", _gather, makes=_LIST)
ANY = Reducer("any value", lambda _before, writes: writes[-1], fades=True)
EPHEMERAL = Reducer("ephemeral", lambda _before, writes: writes[-1], fades=True)
TOPIC = Reducer("topic", lambda _before, writes: _flat(writes), fades=True, makes=_LIST)

_ALIKE = ({SUM, APPEND}, {APPEND, GATHER}, {UNION, WITHOUT_NULLS})  # the same with numbers, lists, no nulls
REDUCERS = (LAST, MESSAGES, SUM, APPEND, UNION, WITHOUT_NULLS, SETS, COLLECT, GATHER, TOPIC, ANY, EPHEMERAL)
"""All reducers that are tried, the most specific first: if two explain a history, the first one counts."""


def count_steps(steps: int) -> str:
    """A number of steps in words."""
    return "1 step" if steps == 1 else f"{steps:,} steps"
