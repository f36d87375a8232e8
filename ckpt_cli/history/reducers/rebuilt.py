"""`Rebuilt`: what is known of a delta channel; a value is only named if stored values prove the reducer.

A reducer that merely suits the values proves nothing: a function that drops duplicates looks like an append until the
first duplicate comes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ckpt_cli.history.reducers.reducers import ABSENT, MESSAGES, Evidence, Reducer, Shorthand, Unfit
from ckpt_cli.history.reducers.stretches import Stretches, after_overwrite, holds_message
from ckpt_cli.values.node import Form, Node, Opened
from ckpt_cli.values.same import same


@dataclass(slots=True)
class Rebuilt:
    """What is known of a delta channel at one checkpoint.

    Attributes:
        seed: the nearest ancestor's stored value; ABSENT if the channel began empty.
        writes: the values written since then, oldest first.
        shown: what the channel's stretches from one stored value to the next show.
        marked: whether some checkpoint shows that this is a delta channel; if not, it may be an ordinary empty channel.
        lost: whether a step since the seed changed the channel by writes that are not stored. Then no value is known.
        baseless: whether the value from which the writes go on isn't stored any more. Then no value is known either.
        repeated: whether tasks failed or asked beside others since the seed, so that these may have older writes too.
        beside: whether several tasks of one step wrote since the seed, so that the value may depend on their order.
        example: a value of the channel that another checkpoint stores, which shows its type; ABSENT if none is known.
        begin: the version of the seed; "" if there is none.
        ahead: the versions of later stored values, whose stretches are in `shown`.
    """

    seed: Any = ABSENT
    writes: list[Any] = field(default_factory=list)
    shown: Stretches = field(default_factory=Stretches)
    marked: bool = False
    lost: bool = False
    baseless: bool = False
    repeated: bool = False
    beside: bool = False
    example: Any = ABSENT
    begin: str = ""
    ahead: set[str] = field(default_factory=set)

    def copy(self) -> "Rebuilt":
        """The same, to which other writes and stretches are added."""
        return replace(self, writes=[*self.writes], shown=self.shown.copy(), ahead={*self.ahead})

    @property
    def is_whole(self) -> bool:
        """Whether all that makes the value is stored."""
        return not (self.lost or self.baseless)

    @property
    def evidence(self) -> Evidence | None:
        """The reducer that the stretches prove; None if they prove none."""
        return self.shown.evidence

    @property
    def unmet(self) -> str:
        """A case in which the writes are, and of which no stretch shows what the reducer does; "" if there is none."""
        proven = self.evidence
        return self.shown.cases.unmet(proven.all, *after_overwrite(self.seed, self.writes)) if proven else ""

    @property
    def reducer(self) -> Reducer | None:
        """The reducer that the stretches prove; None if they leave open another one that gives another value here."""
        proven = self.evidence
        if proven is None or self.unmet:
            return None
        if not proven.equals:
            return proven.reducer
        value = self.value_by(proven.reducer)
        return proven.reducer if all(same(value, self.value_by(other)) for other in proven.equals) else None

    @property
    def is_larger(self) -> bool:
        """Whether the value has more elements than all values that show the reducer, which may leave out some then."""
        reducer = self.reducer
        return reducer is not None and self.makes_larger(self.value_by(reducer))

    def makes_larger(self, value: Any) -> bool:
        """The same of a value that was rebuilt already."""
        larger = not is_unproven(value) and (self.shown.cases.is_larger(value) or self.has_shrunk)
        return larger and not self.is_settled and self.reducer is not None

    @property
    def has_shrunk(self) -> bool:
        """Whether its writes go on from fewer elements than stored values show, so that none of them shows its own.

        What the message merge makes of few messages is what it makes of many.
        """
        base, rest = after_overwrite(self.seed, self.writes)
        begin = self.begin if len(rest) == len(self.writes) else None
        return MESSAGES not in self._proving and self.shown.cases.has_shrunk(base, begin)

    @property
    def _proving(self) -> Sequence[Reducer]:
        return () if self.evidence is None else self.evidence.all

    @property
    def is_unshown(self) -> bool:
        """Whether no stored value shows that its reducer keeps so many elements, be they messages."""
        return self.is_larger or (self.reducer is None and self.supposed is not None)

    @property
    def is_beyond(self) -> bool:
        """Whether it is larger, and the reducer isn't LangGraph's own, so that no change may store the value."""
        return self.is_larger and self.reducer is not MESSAGES

    @property
    def proven(self) -> Reducer | None:
        """The reducer whose value may be stored: `reducer`, but not where the value is larger than any that shows it.

        A list that keeps its last 120 items looks like an append until the 121st item.
        """
        return None if self.is_beyond else self.reducer

    @property
    def supposed(self) -> Reducer | None:
        """The message merge, if no stretch shows more and all values are messages: langgraph has it for these."""
        if not self.is_whole or self.is_settled or self.shown.steps:
            return None
        if not any(map(holds_message, (self.seed, *self.writes))):
            return None
        try:
            result = MESSAGES.replay(self.seed, self.writes)
        except Unfit:
            return None
        return MESSAGES if isinstance(result, list) and all(isinstance(item, Node) for item in result) else None

    @property
    def is_contradicted(self) -> bool:
        """Whether the stretches show what the reducer does with writes, and no known reducer does this."""
        return self.evidence is None and self.shown.steps > 0

    @property
    def is_settled(self) -> bool:
        """Whether the value is the same for every reducer: no write came after the seed or after an ``Overwrite``."""
        return not after_overwrite(self.seed, self.writes)[1]

    @property
    def value(self) -> Any:
        """The channel's value; if nothing proves it, an object with the seed and the writes."""
        return self.value_by(self.reducer or self.supposed)

    @property
    def proven_value(self) -> Any:
        """The value that a change may store; if nothing proves it, an object with the seed and the writes."""
        return self.value_by(self.proven or self.supposed)

    @property
    def value_to_store(self) -> Any:
        """The value that a change may store of which nobody spoke: a reducer around the message merge may trim them."""
        return self.value_by(None if self.is_unshown else self.proven)

    def value_by(self, reducer: Reducer | None) -> Any:
        """The value that a reducer gives; without one, an object with the seed and the writes, unless it is settled."""
        base, rest = after_overwrite(self.seed, self.writes)
        if self.is_whole and not rest:
            value = self._empty() if base is ABSENT else base
            return value if value is not None else unproven(base, [])
        try:
            if reducer is not None and self.is_whole:
                result = reducer.replay(base, rest)
                return [_given(item) for item in result] if isinstance(result, list) else result
        except Unfit:
            pass
        return unproven(self.seed, self.writes)

    def _empty(self) -> Any:
        """The empty value of the channel's type; None if no stored value shows the type."""
        examples = map(empty_like, (self.example, self.seed, self.shown.example))
        return next((empty for empty in examples if empty is not None), None)


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


def _given(item: Any) -> Any:
    return item.given if isinstance(item, Shorthand) else item
