"""Counts which reducers explain a delta channel's stretches, each from one stored value to the next.

A stretch begins at a stored value, never at a computed one: the library does so too (langgraph-checkpoint 4.3
``base/__init__.py: get_delta_channel_history``).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ckpt_cli.history.reducers.agreement import explains
from ckpt_cli.history.reducers.candidates import joined
from ckpt_cli.history.reducers.learning import ENOUGH, FEW
from ckpt_cli.history.reducers.reducers import (
    ABSENT,
    APPEND,
    COLLECT,
    MESSAGES,
    NEW,
    SETS,
    SUM,
    UNION,
    WITHOUT_NULLS,
    ChannelStep,
    Evidence,
    Reducer,
)
from ckpt_cli.history.reducers.rivals import Rivals
from ckpt_cli.history.reducers.shown_cases import ShownCases
from ckpt_cli.values.langgraph_values import items, message, overwrite
from ckpt_cli.values.node import Node

_REDUCERS = (MESSAGES, SUM, APPEND, COLLECT, UNION, WITHOUT_NULLS, NEW, SETS)


class Stretch(NamedTuple):
    """A delta channel from one stored value, or from its beginning, to the next.

    Attributes:
        step: the value before, all writes since, and the value that is stored then.
        begin: the version of the value before; "" if the channel began empty.
        end: the version of the value that is stored then.
        is_whole: whether the value before and all writes are stored.
        doubt: a reason why not all of these writes may count; "" if there is none.
    """

    step: ChannelStep
    begin: str
    end: str
    is_whole: bool = True
    doubt: str = ""

    @property
    def is_telling(self) -> bool:
        """Whether it shows what the reducer does with writes; empty ones and what an ``Overwrite`` ends don't."""
        writes = after_overwrite(self.step.before, self.step.writes)[1]
        return any(write not in ([], {}) and items(write) != [] for write in writes)

    @property
    def last_part(self) -> ChannelStep:
        """The same from the last ``Overwrite`` on, as one step: the writes before it don't count."""
        base, rest = after_overwrite(self.step.before, self.step.writes)
        if rest or base is ABSENT:
            return self.step._replace(before=base, writes=rest)
        return self.step._replace(writes=self.step.writes[-1:])


@dataclass(slots=True)
class Stretches:
    """Counts stretches by the reducers that explain them.

    Attributes:
        steps: the number of stretches that show what the reducer does.
        example: the last of their stored values; ABSENT if there is none.
        cases: the cases in which those were that a reducer explains.
    """

    steps: int = 0
    example: Any = ABSENT
    cases: ShownCases = field(default_factory=ShownCases)
    _explained: Counter[Reducer] = field(default_factory=Counter)
    _mended: Counter[Reducer] = field(default_factory=Counter)
    _open: dict[Reducer, Stretch] = field(default_factory=dict)
    _rivals: Rivals = field(default_factory=Rivals)
    _has_messages: bool = False

    def copy(self) -> "Stretches":
        """The same counts, to which other stretches are added."""
        counts = Counter(self._explained), Counter(self._mended), {**self._open}
        return Stretches(self.steps, self.example, self.cases.copy(), *counts, self._rivals.copy(), self._has_messages)

    def add(self, stretch: Stretch, *, doubtful: bool = False) -> None:
        """Count a stretch; a doubtful one speaks for a reducer, against none."""
        if not stretch.is_whole or not stretch.step.writes:
            return
        holding = [reducer for reducer in _REDUCERS if explains(reducer, stretch.step, replayed=True)]
        if doubtful and not holding:
            return
        self.example = stretch.step.after
        if not stretch.is_telling:
            return
        self.steps += 1
        self._has_messages = self._has_messages or _has_messages(stretch.step)
        if holding:
            self.cases.add(holding, stretch.last_part)
            self.cases.begins |= {stretch.begin} if not any(map(overwrite, stretch.step.writes)) else set()
        if NEW in holding:
            self._rivals.add(stretch.last_part)
        for reducer in _REDUCERS:
            if reducer in holding:
                self._explained[reducer] += 1
                self._open.pop(reducer, None)
            else:
                self._mend(reducer, stretch)

    def _mend(self, reducer: Reducer, stretch: Stretch) -> None:
        """Count two stretches that aren't explained, where they are together: then the value between them is odd."""
        older = self._open.pop(reducer, None)
        if older is not None and older.end == stretch.begin:
            writes = [*older.step.writes, *stretch.step.writes]
            if explains(reducer, ChannelStep(older.step.before, writes, stretch.step.after), replayed=True):
                self._mended[reducer] += 1
                return
        self._open[reducer] = stretch

    @property
    def candidates(self) -> list[Evidence]:
        """The reducers that explain every stretch, but those at odd values in between; of messages the merge alone."""
        holding = [one for one in self._tried if self._explained[one] and not self.refutes(one)]
        fitting = [MESSAGES] if MESSAGES in holding else holding
        rivals = self._rivals.reducers if NEW in fitting and APPEND not in fitting else []
        counts = [(one, self._explained[one]) for one in fitting] + [(one, self._explained[NEW]) for one in rivals]
        return [Evidence(one, count, self.steps) for one, count in counts]

    @property
    def evidence(self) -> Evidence | None:
        """The first of the `candidates`, with the others as its equals, which may differ yet; None if there is none."""
        return joined(self.candidates)

    def refutes(self, reducer: Reducer) -> bool:
        """Whether a stretch is known that this reducer doesn't explain; of some reducers that isn't known."""
        return reducer in _REDUCERS and self._explained[reducer] + 2 * self._mended[reducer] < self.steps

    @property
    def nearest(self) -> Evidence | None:
        """The reducer that explains all but a few stretches, if none is proven; it proves nothing about the others."""
        best = max(self._tried, key=lambda reducer: self._explained[reducer])
        most = self._explained[best]
        if self.evidence is not None or most < max(FEW, FEW * (self.steps - most - self._mended[best])):
            return None
        return Evidence(best, most, self.steps)

    @property
    def is_strong(self) -> bool:
        """Whether so many stretches show the proven reducer that one that it doesn't explain is suspect."""
        return self.evidence is not None and self.evidence.explained >= ENOUGH

    @property
    def _tried(self) -> Sequence[Reducer]:
        return _REDUCERS if self._has_messages else _REDUCERS[1:]


def counting(writes: Sequence[Any]) -> list[Any]:
    """Those of the last step's writes that made the stored value: an ``Overwrite`` alone, if there is one.

    A live channel takes it whatever its place (langgraph 1.2 ``channels/delta.py: update``), and then is stored whole.
    """
    return next(([write] for write in writes if overwrite(write) is not None), list(writes))


def after_overwrite(seed: Any, writes: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    """The value and the writes that count: those after the last ``Overwrite``. One of None empties the channel."""
    for place in range(len(writes) - 1, -1, -1):
        if (wrapped := overwrite(writes[place])) is not None:
            return (ABSENT if wrapped.value is None else wrapped.value), writes[place + 1 :]
    return seed, writes


def _has_messages(step: ChannelStep) -> bool:
    return any(map(holds_message, (step.before, *step.writes, step.after)))


def holds_message(value: Any) -> bool:
    """Whether a value, or an element of a list, is a message object."""
    parts = value if isinstance(value, list) else [value]
    return any(isinstance(part, Node) and message(part) is not None for part in parts)
