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
    """The reducers that explain every step of a channel seen so far.

    Attributes:
        steps: those with writes.
        faded: a step without writes emptied the channel.
        kept: a step without writes left it as it was.
    """

    steps: int = 0
    faded: bool = False
    kept: bool = False
    _alive: list[Reducer] = field(default_factory=lambda: list(REDUCERS))

    def add(self, step: Step) -> None:
        """Take in one more step."""
        if step.writes:
            self.steps += 1
            self._alive = [reducer for reducer in self._alive if explains(reducer, step)]
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
        lasting = [] if self.faded else [reducer for reducer in self._alive if not reducer.fades]
        fitting = lasting or [reducer for reducer in self._alive if reducer.fades and not self.kept]
        return [Evidence(r, self.steps, self.steps) for r in fitting] if self.steps else []


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
