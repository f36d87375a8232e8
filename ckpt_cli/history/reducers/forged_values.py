"""A value forged between two steps breaks both; finds the second, which goes on from the true value."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from ckpt_cli.history.reducers.agreement import explains
from ckpt_cli.history.reducers.reducers import ABSENT, REDUCERS, ChannelStep, Unfit
from ckpt_cli.values.node import Node
from ckpt_cli.values.same import same
from ckpt_cli.values.write_forms import is_as_written

MUTABLE = (list, dict, set, Node)
"""Values that code can change in place: a node, a reducer, or a Topic (langgraph 1.2 ``channels/topic.py: update``).

Such a change is stored without a new version; of a Topic a step too early, as values are stored in the background.
"""


def is_put_there(step: ChannelStep) -> bool:
    """Whether a value changed without a write and without a new version, though no code can change it in place."""
    values = (step.before, step.after)
    if step.writes or step.command or step.moved or any(one is ABSENT or isinstance(one, MUTABLE) for one in values):
        return False
    return not is_as_written(*values)


class TrueValues:
    """What reducers that explained all steps before made of a channel's last step, if another value is recorded.

    An honest reducer that ckpt doesn't know goes on from the recorded value. If the next step goes on from the value
    that a reducer made, and not from the recorded one, then the recorded one was put there later.

    Attributes:
        made: by the place of the reducer in `REDUCERS`.
        is_before: whether it is the value before a step that nothing wrote, where another one was put (`is_put_there`).
    """

    def __init__(self) -> None:
        self._recorded: Any = None
        self.made: dict[int, Any] = {}
        self.is_before = False

    def explain(self, step: ChannelStep) -> int:
        """The bits of the reducers that explain the step if it began with the value that each of them made."""
        if not self.made or not same(step.before, self._recorded):
            return 0
        begun = {place: step._replace(before=value) for place, value in self.made.items()}
        return sum(1 << place for place, one in begun.items() if explains(REDUCERS[place], one))

    def keep(self, step: ChannelStep, places: Iterable[int]) -> None:
        """Keep what these reducers make of the step, which none of them explains, until the next step."""
        self._recorded, self.made, self.is_before = step.after, {}, False
        for place in places:
            try:
                step_by = partial(REDUCERS[place].step, supposing=True)
                value = step_by(step.before, step.command) if step.command else step.before
                self.made[place] = step_by(value, step.writes) if step.writes else value
            except Unfit:
                continue

    def keep_before(self, step: ChannelStep, places: Iterable[int]) -> None:
        """Keep the value before a step that `is_put_there`, for these reducers, until the next step with writes."""
        self._recorded, self.made, self.is_before = step.after, dict.fromkeys(places, step.before), True
