"""`Rebuilt`: what is known of a delta channel; a value is only named if stored values prove the reducer.

A reducer that merely suits the values proves nothing: a function that drops duplicates looks like an append until the
first duplicate comes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ckpt_cli.history.reducers.evidence import evidence
from ckpt_cli.history.reducers.reducers import (
    ABSENT,
    APPEND,
    COLLECT,
    MESSAGES,
    UNION,
    ChannelStep,
    Evidence,
    Reducer,
    Shorthand,
    Unfit,
)
from ckpt_cli.values.langgraph_values import message, overwrite
from ckpt_cli.values.node import Form, Node, Opened

_REDUCERS = (MESSAGES, APPEND, COLLECT, UNION)
_NO_MESSAGES = (APPEND, COLLECT, UNION)


@dataclass(slots=True)
class Rebuilt:
    """What is known of a delta channel at one checkpoint.

    Attributes:
        seed: the nearest ancestor's stored value; ABSENT if the channel began empty.
        writes: the values written since then, oldest first.
        spans: the parts of the channel's history between one stored value and the next.
        marked: whether some checkpoint shows that this is a delta channel; if not, it may be an ordinary empty channel.
        lost: whether a step since the seed changed the channel by writes that are not stored. Then no value is known.
        example: a value of the channel that another checkpoint stores, which shows its type; ABSENT if none is known.
    """

    seed: Any = ABSENT
    writes: list[Any] = field(default_factory=list)
    spans: list[ChannelStep] = field(default_factory=list)
    marked: bool = False
    lost: bool = False
    example: Any = ABSENT

    @property
    def evidence(self) -> Evidence | None:
        """The reducer that explains every span; None if none does, or if no span shows what it does with writes."""
        telling = sum(_is_telling(span) for span in self.spans)
        parts = [part for span in self.spans for part in (span.before, *span.writes, span.after)]
        reducers = _REDUCERS if any(map(_has_messages, parts)) else _NO_MESSAGES
        holding = (one.reducer for one in evidence(self.spans, reducers, replayed=True) if one.holds)
        proven = next(holding, None)
        return Evidence(proven, telling, telling) if proven is not None and telling else None

    @property
    def reducer(self) -> Reducer | None:
        """The reducer that the spans prove."""
        proven = self.evidence
        return proven.reducer if proven else None

    @property
    def supposed(self) -> Reducer | None:
        """The message merge, if no span shows more and all values are message objects: langgraph has it for these."""
        if self.lost or self.is_settled or any(map(_is_telling, self.spans)):
            return None
        try:
            result = MESSAGES.replay(self.seed, self.writes)
        except Unfit:
            return None
        return MESSAGES if isinstance(result, list) and all(isinstance(item, Node) for item in result) else None

    @property
    def is_contradicted(self) -> bool:
        """Whether the spans show what the reducer does with writes, and no known reducer does this."""
        return self.evidence is None and any(map(_is_telling, self.spans))

    @property
    def is_settled(self) -> bool:
        """Whether the value is the same for every reducer: no write came after the seed or after an ``Overwrite``."""
        return not _after_overwrite(self.seed, self.writes)[1]

    @property
    def value(self) -> Any:
        """The channel's value; if nothing proves it, an object with the seed and the writes."""
        return self.value_by(self.reducer or self.supposed)

    def value_by(self, reducer: Reducer | None) -> Any:
        """The value that a reducer gives; without one, an object with the seed and the writes, unless it is settled."""
        base, rest = _after_overwrite(self.seed, self.writes)
        if not self.lost and not rest:
            value = self._empty() if base is ABSENT else base
            return value if value is not None else unproven(base, [])
        try:
            if reducer is not None and not self.lost:
                result = reducer.replay(base, rest)
                return [_given(item) for item in result] if isinstance(result, list) else result
        except Unfit:
            pass
        return unproven(self.seed, self.writes)

    def _empty(self) -> Any:
        """The empty value of the channel's type; None if no stored value shows the type."""
        stored = (value for span in self.spans for value in (span.after, span.before))
        return next((e for e in map(empty_like, (self.example, self.seed, *stored)) if e is not None), None)


def named_value(rebuilt: Rebuilt, named: Reducer | None) -> Any:
    """A delta channel's value by the reducer that a person named; without one, by the proved reducer."""
    return rebuilt.value if named is None else rebuilt.value_by(named)


def empty_like(value: Any) -> Any:
    """The empty value of the same type: a list, a dict or a set; None for other types."""
    if isinstance(value, list | dict):
        return type(value)()
    if isinstance(value, Node) and value.type in ("builtins.set", "builtins.frozenset"):
        return Node(Opened("builtins", value.name, Form.VALUE, []))
    return None


def unproven(seed: Any, writes: Sequence[Any]) -> Node:
    """What is known of a value that no proven reducer gives: a stored value, and the writes since then."""
    known = {} if seed is ABSENT else {"seed": seed}
    return Node(Opened("", "DeltaChannel", Form.KWARGS, {**known, "writes": [*writes]}))


def is_unproven(value: Any) -> bool:
    """Whether a value came from `unproven`."""
    return isinstance(value, Node) and (value.module, value.name) == ("", "DeltaChannel")


def extended(value: Any, writes: Sequence[Any]) -> Any:
    """The value after more writes, which no proven reducer applies."""
    fields = value.fields if is_unproven(value) else {"seed": value}
    known = fields or {}
    return Rebuilt(known.get("seed", ABSENT), [*known.get("writes", ()), *writes]).value_by(None)


def _after_overwrite(seed: Any, writes: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    """The value and the writes that count: those after the last ``Overwrite``. One of None empties the channel."""
    for place in range(len(writes) - 1, -1, -1):
        if (wrapped := overwrite(writes[place])) is not None:
            return (ABSENT if wrapped.value is None else wrapped.value), writes[place + 1 :]
    return seed, writes


def _is_telling(span: ChannelStep) -> bool:
    """Whether a span shows what the reducer does with writes; empty lists and what an ``Overwrite`` ends don't."""
    return any(write not in ([], {}) for write in _after_overwrite(span.before, span.writes)[1])


def _has_messages(value: Any) -> bool:
    parts = value if isinstance(value, list) else [value]
    return any(isinstance(part, Node) and message(part) is not None for part in parts)


def _given(item: Any) -> Any:
    return item.given if isinstance(item, Shorthand) else item
