"""What a channel does, learned from recorded steps one at a time, so that memory doesn't grow with the history."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ckpt_cli.history.reducers import ABSENT, REDUCERS, Evidence, Reducer, Step, Unfit, explains
from ckpt_cli.values.same import same

_SHORT = {
    "last": "last value",
    "messages": "message merge",
    "add_messages": "message merge",
    "add": "append",
    "dict": "dict union",
    "set": "set union",
    "any": "any value",
    "accumulate": "accumulating topic",
}


@dataclass(slots=True)
class Tally:
    """How many steps of a channel seen so far each reducer explains.

    Attributes:
        steps: those with writes.
        faded: a step without writes emptied the channel.
        kept: a step without writes left it as it was.
    """

    steps: int = 0
    faded: bool = False
    kept: bool = False
    _explained: list[int] = field(default_factory=lambda: [0] * len(REDUCERS))

    def add(self, step: Step) -> None:
        """Take in one more step."""
        if step.writes:
            self.steps += 1
            for place, reducer in enumerate(REDUCERS):
                self._explained[place] += explains(reducer, step)
        elif step.before is not ABSENT and step.before != []:
            if same(step.before, step.after):
                self.kept = True
            elif step.after is ABSENT or step.after == []:
                self.faded = True

    @property
    def candidates(self) -> list[Evidence]:
        """Those that explain everything, the most telling first; [] where nothing was recorded.

        A channel that no step was seen to empty is taken for one that lasts, where one that lasts explains it.
        """
        alive = [r for r, count in zip(REDUCERS, self._explained, strict=True) if count == self.steps]
        lasting = [] if self.faded else [reducer for reducer in alive if not reducer.fades]
        fitting = lasting or [reducer for reducer in alive if reducer.fades and not self.kept]
        return [Evidence(r, self.steps, self.steps) for r in fitting] if self.steps else []

    @property
    def likely(self) -> list[Evidence]:
        """The candidates, else what explains the most steps: a step that it doesn't explain was made otherwise."""
        most = max(self._explained)
        if not most or most == self.steps:
            return self.candidates
        place = self._explained.index(most)
        return [Evidence(REDUCERS[place], most, self.steps)]


def named(name: str) -> Reducer | None:
    """The reducer of a name, long or short."""
    wanted = _SHORT.get(name.strip().lower(), name.strip().lower())
    return next((reducer for reducer in REDUCERS if reducer.name == wanted), None)


def names() -> list[str]:
    """What reducers are called."""
    return [reducer.name for reducer in REDUCERS]


def outcomes(candidates: Sequence[Evidence], before: Any, writes: Sequence[Any]) -> list[tuple[Evidence, Any]]:
    """What the candidates make of these writes, those that agree told once; one that can't take them is out."""
    made: list[tuple[Evidence, Any]] = []
    for evidence in candidates:
        try:
            value = evidence.reducer.step(before, writes)
        except Unfit:
            continue
        if not any(same(value, other) for _, other in made):
            made.append((evidence, value))
    return made
