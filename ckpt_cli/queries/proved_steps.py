"""Whether a reducer, named or learned, makes a channel's recorded value of a step's writes."""

from collections.abc import Sequence

from ckpt_cli.history.reducers.agreement import explains, is_empty
from ckpt_cli.history.reducers.channel_facts import channel_step
from ckpt_cli.history.reducers.known_reducers import Reducers
from ckpt_cli.history.reducers.names import NamedReducers
from ckpt_cli.history.reducers.rebuilt import is_unproven
from ckpt_cli.history.reducers.reducers import ABSENT, Evidence, Reducer
from ckpt_cli.model import Ref
from ckpt_cli.queries.step_walk import StepWalk
from ckpt_cli.queries.walked_step import WalkedStep
from ckpt_cli.reading import Reader


class ProvedSteps:
    """The steps of a line, each read when it is asked about; the reducer is learned at the first question."""

    def __init__(self, refs: Sequence[Ref], channel: str, named: NamedReducers) -> None:
        self._refs = refs
        self._channel = channel
        self._named = named
        self._reducers: Sequence[Reducer] | None = None
        self._walk: StepWalk | None = None
        self._made: dict[int, bool] = {}
        self._emptied: dict[int, bool] = {}

    def made(self, reader: Reader, number: int) -> bool:
        """Whether the writes of a step make the value; `number` is the place of its checkpoint on the line."""
        if number not in self._made:
            self._made[number] = self._is_made(reader, number)
        return self._made[number]

    def _is_made(self, reader: Reader, number: int) -> bool:
        reducers, channel = self._known(reader), self._channel
        if not reducers:
            return False
        step = self._step(reader, number)
        if step.before is None or step.after is None:
            return False
        written = {} if step.source == "input" else step.written
        if channel in step.rebuilt:
            return channel in written and not is_unproven(step.after[channel])
        part = channel_step(channel, step.began, written, step.after, step.by_command, moved=step.moved)
        return bool(part.writes or part.command) and any(explains(reducer, part) for reducer in reducers)

    def emptied_itself(self, reader: Reader, number: int) -> bool:
        """Whether the channel went empty because nothing wrote to it, as a topic does."""
        if number not in self._emptied:
            self._emptied[number] = self._has_emptied_itself(reader, number)
        return self._emptied[number]

    def _has_emptied_itself(self, reader: Reader, number: int) -> bool:
        if not any(reducer.fades for reducer in self._known(reader)):
            return False
        step = self._step(reader, number)
        if step.before is None or step.after is None or self._channel in {*step.written, *step.by_command}:
            return False
        return step.by_run and is_empty(step.after.get(self._channel, ABSENT))

    def _step(self, reader: Reader, number: int) -> WalkedStep:
        self._walk = self._walk or StepWalk(reader, None, self._named.reducers)
        [step] = self._walk.steps([self._refs[number]])
        return step

    def _known(self, reader: Reader) -> Sequence[Reducer]:
        if self._reducers is None:
            from ckpt_cli.queries.replayed_steps import Player

            player = Player(reader, self._refs, None, self._named)
            player.learn()
            self._reducers = _without_counterexample(player.reducers, self._channel)
        return self._reducers


def _without_counterexample(reducers: Reducers, channel: str) -> list[Reducer]:
    """The reducers that explain all steps of a channel, or the one that a person named."""
    if channel in reducers.named:
        return [reducers.named[channel]]
    if channel in reducers.deltas:
        known = reducers.of_delta(channel)
        return [known.reducer, *known.equals] if isinstance(known, Evidence) else []
    tally = reducers.tallies.get(channel)
    return [one.reducer for one in tally.candidates] if tally is not None else []
