"""Learns a channel's reducer from recorded steps, one at a time; the names that ``--reducer`` takes.

Its memory doesn't grow with the history.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import is_
from typing import Any

from ckpt_cli.history.reducers.reducers import (
    ABSENT,
    MESSAGES,
    REDUCERS,
    ChannelStep,
    Evidence,
    Reducer,
    Shorthand,
    Unfit,
    agree,
    as_message,
    explains,
    folds_to,
)
from ckpt_cli.values.known import overwrite
from ckpt_cli.values.node import Node
from ckpt_cli.values.same import same

_SHORT = {
    "last": "last value",
    "messages": "message merge",
    "add_messages": "message merge",
    "add": "append",
    "operator.add": "append",
    "+": "append",
    "dict": "dict union",
    "set": "set union",
    "any": "any value",
    "accumulate": "accumulating topic",
}


@dataclass(slots=True)
class Tally:
    """The number of a channel's steps that each reducer explains.

    Attributes:
        steps: the number of steps with writes.
        faded: whether a step without writes emptied the channel.
        kept: whether a step without writes left the channel as it was.
    """

    steps: int = 0
    faded: bool = False
    kept: bool = False
    _explained: list[int] = field(default_factory=lambda: [0] * len(REDUCERS))
    _merging: "Merging" = field(default_factory=lambda: Merging())

    def add(self, step: ChannelStep) -> None:
        """Add one more step."""
        if step.writes:
            self.steps += 1
            fits = explains if any(overwrite(write) is not None for write in step.writes) else folds_to
            for place, reducer in enumerate(REDUCERS):
                self._explained[place] += self._merging.explains(step) if reducer is MESSAGES else fits(reducer, step)
        elif step.before is not ABSENT and step.before != []:
            if step.after is ABSENT or step.after == []:
                self.faded = True
            elif not self.kept:
                self.kept = same(step.before, step.after)

    @property
    def candidates(self) -> list[Evidence]:
        """The reducers that explain all steps, the most specific first; [] if nothing was recorded.

        If no step emptied the channel, a reducer that would empty it is only a candidate if no other reducer explains
        the steps.
        """
        alive = [r for r, count in zip(REDUCERS, self._explained, strict=True) if count == self.steps]
        lasting = [] if self.faded else [reducer for reducer in alive if not reducer.fades]
        fitting = lasting or [reducer for reducer in alive if reducer.fades and not self.kept]
        return [Evidence(r, self.steps, self.steps) for r in fitting] if self.steps else []

    @property
    def likely(self) -> list[Evidence]:
        """The candidates; if there are none, the reducer that explains the most steps.

        The steps that this reducer doesn't explain may have another origin than the graph.
        """
        most = max(self._explained)
        if not most or most == self.steps:
            return self.candidates
        place = self._explained.index(most)
        return [Evidence(REDUCERS[place], most, self.steps)]


class Merging:
    """Checks, step by step, whether the reducer `MESSAGES` ("message merge") explains a channel's steps.

    While a list only grows, its ids are remembered, so that a long conversation isn't parsed again at each step.
    """

    def __init__(self) -> None:
        self._last_list: Any = None
        self._ids: set[str] = set()

    def explains(self, step: ChannelStep) -> bool:
        """Like `reducers.explains` with `MESSAGES`."""
        if type(step.after) is not list and not any(overwrite(write) is not None for write in step.writes):
            return False
        before = [] if step.before is ABSENT else step.before
        if not self._is_last_list(before) and not self._remember(before):
            return explains(MESSAGES, step)
        if (added := self._added(before, step)) is not None:
            self._last_list, self._ids = step.after, self._ids | added
            return True
        self._last_list = None
        return explains(MESSAGES, step)

    def _is_last_list(self, before: Any) -> bool:
        last = self._last_list
        return type(before) is list and last is not None and len(before) == len(last) and all(map(is_, before, last))

    def _remember(self, before: Any) -> bool:
        if type(before) is not list:
            return False
        parsed = [as_message(item) if isinstance(item, Node) else None for item in before]
        if any(one is None or one.role == "remove" for one in parsed):
            return False
        ids = [one.id for one in parsed if one is not None and one.id]
        if len(set(ids)) < len(ids):
            return False
        self._last_list, self._ids = before, set(ids)
        return True

    def _added(self, before: list[Any], step: ChannelStep) -> set[str] | None:
        """The ids of the messages that were added at the end of the list; None if the step did something else."""
        new = [item for write in step.writes for item in (write if isinstance(write, list) else [write])]
        after, end = step.after, len(before)
        if not isinstance(after, list) or len(after) != end + len(new) or not all(map(is_, before, after)):
            return None
        parsed = [as_message(item) for item in new]
        ids = [one.id for one in parsed if one is not None and one.id]
        if any(one is None or one.role == "remove" for one in parsed) or not self._ids.isdisjoint(ids):
            return None
        expected = [item if isinstance(item, Node) else Shorthand(item) for item in new]
        if len(set(ids)) < len(ids) or not agree(expected, after[end:]):
            return None
        return {one.id for item in after[end:] if (one := as_message(item)) is not None and one.id}


def named(name: str) -> Reducer | None:
    """The reducer with this long or short name; None if there is none."""
    full_name = _SHORT.get(name.strip().lower(), name.strip().lower())
    return next((reducer for reducer in REDUCERS if reducer.name == full_name), None)


def names() -> list[str]:
    """The names of all reducers."""
    return [reducer.name for reducer in REDUCERS]


def outcomes(candidates: Sequence[Evidence], before: Any, writes: Sequence[Any]) -> list[tuple[Evidence, Any]]:
    """The distinct results of the candidates for these writes; a candidate that can't take them is left out."""
    results: list[tuple[Evidence, Any]] = []
    for evidence in candidates:
        try:
            value = evidence.reducer.step(before, writes)
        except Unfit:
            continue
        if not any(same(value, other) for _, other in results):
            results.append((evidence, value))
    return results
