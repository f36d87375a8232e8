"""The reducers as pure functions (append, sum, message merge …), and what the evidence for one is.

The graph's own functions are not in a database. But in real histories, a common reducer either gives the recorded value
at every step of a channel or at none. So a channel's reducer can be learned, and the evidence for it can be shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

from ckpt_cli.history.reducers.reducer import ABSENT, ChannelStep, Reducer, TooManyWrites, Undecided, Unfit
from ckpt_cli.history.reducers.selections import extreme, with_new_items
from ckpt_cli.values.counts import count_text
from ckpt_cli.values.langgraph_values import REMOVE_ALL, Message, items, message, overwrite
from ckpt_cli.values.node import Form, Node, Opened
from ckpt_cli.values.same import same
from ckpt_cli.values.sums import is_summable, sum_of

__all__ = ["ABSENT", "ChannelStep", "Reducer", "TooManyWrites", "Undecided", "Unfit"]  # of `reducer`, with the others


@dataclass(frozen=True, slots=True)
class Evidence:
    """The number of recorded steps that a reducer explains.

    Attributes:
        threads: the number of threads that have these steps; 0 if they are those of the thread in question alone.
        equals: other reducers that explain the same steps and give the same value.
        begins: the types of 0 with which the steps show a sum to begin; None if nobody asked them.
        taken: the signs of first values that the steps show to be taken as they are, see `sign`.
    """

    reducer: Reducer
    explained: int
    steps: int
    threads: int = 0
    equals: tuple[Reducer, ...] = ()
    begins: frozenset[type] | None = None
    taken: frozenset[int] = frozenset()

    def step(self, before: Any, writes: Sequence[Any], *, supposing: bool = True) -> Any:
        """The value after one step, as `Reducer.step` gives it; where a sum begins, 3 may be 3.0.

        A sum of floats begins with 0.0 (langgraph 1.2 ``channels/binop.py: __init__``), which no checkpoint holds.
        `supposing`: as in `Reducer.step`.

        Raises:
            Undecided: whole numbers are the first that is written, and no step shows whether the sum begins with 0.0.
        """
        low = {MAX: -1, MIN: 1}.get(self.reducer)
        if before is ABSENT and low in self.taken and writes and not any(map(overwrite, writes)):
            before, writes = writes[0], writes[1:]
        value = self.reducer.step(before, writes, supposing=supposing)
        if self.begins is None or before is not ABSENT or not begins_a_sum(self.reducer, writes):
            return value
        if len(self.begins) != 1:
            raise Undecided(
                "whether it begins with 0 or with 0.0 isn't known; a value such as 3.0 is a float with both"
            )
        return float(value) if float in self.begins else value

    @property
    def all(self) -> list[Reducer]:
        """The reducer and its equals."""
        return [self.reducer, *self.equals]

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
            return f"{self.names} ({self.explained:,} of {count_text(self.steps, 'step')})"
        where = "another thread" if self.threads == 1 else f"{self.threads} threads"
        some = "" if self.holds else f"{self.explained:,} of "
        return f"{self.names} (from {where}, {some}{count_text(self.steps, 'step')})"


def begins_a_sum(reducer: Reducer, writes: Sequence[Any]) -> bool:
    """Whether these first writes are whole numbers that are added to 0 or to 0.0."""
    return reducer in (SUM, APPEND) and are_whole(writes)


def are_whole(writes: Sequence[Any]) -> bool:
    """Whether all of some writes, and at least one, are whole numbers."""
    return bool(writes) and all(isinstance(write, int) for write in writes)


def _last(_before: Any, writes: Sequence[Any]) -> Any:
    if len(writes) != 1:
        raise TooManyWrites("a last value takes one write a step")
    return writes[0]


def _append(before: Any, writes: Sequence[Any]) -> Any:
    parts = [part for part in (before, *writes) if part is not ABSENT]
    if not parts:
        raise Unfit("nothing to append")
    if all(isinstance(part, list) for part in parts):
        return list(chain.from_iterable(parts))
    for empty in ("", b""):
        if all(isinstance(part, type(empty)) for part in parts):
            return empty.join(parts)
    if not all(isinstance(part, int | float) for part in parts):
        raise Unfit("not all lists, texts, bytes or numbers")
    return sum(parts)


def _sum(before: Any, writes: Sequence[Any]) -> Any:
    parts = [part for part in (before, *writes) if part is not ABSENT]
    if parts and all(map(is_summable, parts)):
        try:
            return sum_of(parts, begins=before is ABSENT)
        except ValueError as error:
            raise Unfit(str(error)) from error
    if not parts or not all(isinstance(part, int | float) for part in parts):
        raise Unfit("not all numbers, Decimals or time spans")
    return sum(parts)


def _append_new(before: Any, writes: Sequence[Any]) -> Any:
    old = [] if before is ABSENT else before
    joined = with_new_items(old, writes) if isinstance(old, list) else None
    if joined is None:
        raise Undecided("only for lists of plain data without an item twice is it known which items are new")
    return joined


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
    items = _flat(writes)
    return [*([] if before is ABSENT else before), *items] if items else before


def _refill(before: Any, writes: Sequence[Any]) -> Any:
    """The items alone. Without items an empty topic is not updated (1.2 ``channels/topic.py: Topic.update``)."""
    return _flat(writes) or (ABSENT if before is ABSENT else [])


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


_LIST_OR_NOTHING: frozenset[type] = frozenset({list, type(ABSENT)})
_SETS, _LIST = frozenset({"builtins.set", "builtins.frozenset"}), frozenset({list})
_NUMBERS: frozenset[type] = frozenset({int, float})
_ORDERED: frozenset[type] = frozenset({int, float, bool, str, bytes, list, tuple, Node, type(None)})
_ZEROS = (0, 0.0)
LAST = Reducer("last value", _last, is_plain=True)
MESSAGES = Reducer("message merge", _merge_messages, makes=_LIST)
APPEND = Reducer(
    "append", _append, makes=frozenset({list, str, bytes, int, float}), starts=_ZEROS
)  # ``+`` alike for all of these
SUM = Reducer("sum", _sum, makes=_NUMBERS | {Node}, starts=_ZEROS)
COLLECT = Reducer("collect", _collect, makes=_LIST)
UNION = Reducer("dict union", _union, makes=frozenset({dict}))
WITHOUT_NULLS = Reducer("dict union without nulls", _union_without_nulls, makes=frozenset({dict}))
MAX, MIN = (
    Reducer(
        name,
        partial(extreme, least=least),
        makes=_ORDERED,
        starts=(*_ZEROS, False, "", []),
        supposes=partial(extreme, least=least, supposing=True),
    )
    for name, least in (("max", False), ("min", True))
)
NEW = Reducer("append if new", _append_new, makes=_LIST)
SETS = Reducer("set union", _join_sets, makes=frozenset({Node}))
GATHER = Reducer("accumulating topic", _gather, makes=_LIST_OR_NOTHING)
ANY = Reducer("any value", lambda _before, writes: writes[-1], fades=True, is_plain=True)
EPHEMERAL = Reducer("ephemeral", lambda _before, writes: writes[-1], fades=True, is_plain=True)
TOPIC = Reducer("topic", _refill, fades=True, makes=_LIST_OR_NOTHING)

_ALIKE = (  # the same with numbers, lists, no nulls, new items, rising or falling numbers
    *({SUM, APPEND}, {APPEND, GATHER}, {UNION, WITHOUT_NULLS}),
    *({APPEND, NEW}, {LAST, MAX}, {LAST, MIN}, {MAX, MIN}),
)
_PLAIN = (LAST, MESSAGES, SUM, APPEND, UNION, WITHOUT_NULLS, SETS, COLLECT, GATHER)
REDUCERS = (*_PLAIN, MAX, MIN, NEW, TOPIC, ANY, EPHEMERAL)
"""All reducers that are tried, the most specific first: if two explain a history, the first one counts."""
