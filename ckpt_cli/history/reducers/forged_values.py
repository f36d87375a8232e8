"""A value forged between two steps breaks both; finds the second, which goes on from the true value."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from ckpt_cli.history.reducers.agreement import explains
from ckpt_cli.history.reducers.reducers import REDUCERS, ChannelStep, Unfit
from ckpt_cli.values.same import same


class TrueValues:
    """What reducers that explained all steps before made of a channel's last step, if another value is recorded.

    An honest reducer that ckpt doesn't know goes on from the recorded value. If the next step goes on from the value
    that a reducer made, and not from the recorded one, then the recorded one was put there later.

    Attributes:
        made: by the place of the reducer in `REDUCERS`.
    """

    def __init__(self) -> None:
        self._recorded: Any = None
        self.made: dict[int, Any] = {}

    def explain(self, step: ChannelStep) -> int:
        """The bits of the reducers that explain the step if it began with the value that each of them made."""
        if not self.made or not same(step.before, self._recorded):
            return 0
        begun = {place: step._replace(before=value) for place, value in self.made.items()}
        return sum(1 << place for place, one in begun.items() if explains(REDUCERS[place], one))

    def keep(self, step: ChannelStep, places: Iterable[int]) -> None:
        """Keep what these reducers make of the step, which none of them explains, until the next step."""
        self._recorded, self.made = step.after, {}
        for place in places:
            try:
                step_by = partial(REDUCERS[place].step, supposing=True)
                value = step_by(step.before, step.command) if step.command else step.before
                self.made[place] = step_by(value, step.writes) if step.writes else value
            except Unfit:
                continue
