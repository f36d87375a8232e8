"""`Reducers`: the reducers of channels, named or learned, with the evidence in words."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ckpt_cli.history.reducers.candidates import joined
from ckpt_cli.history.reducers.channel_facts import NOTHING, channel_step, untouched
from ckpt_cli.history.reducers.explaining import BITS
from ckpt_cli.history.reducers.learning import Tally
from ckpt_cli.history.reducers.oddities import Oddity
from ckpt_cli.history.reducers.reducers import ABSENT, GATHER, Evidence, Reducer
from ckpt_cli.history.reducers.stretches import Stretch, Stretches
from ckpt_cli.values.counts import count_text


@dataclass
class Reducers:
    """The reducers of channels, as the user named them or, if not, as the steps of a line prove them.

    Attributes:
        named: channel to the reducer that the user named.
        remembered: the channels in `named` whose reducer was named earlier, and remembered for this database.
        tallies: channel to the `Tally` of its steps so far.
        deltas: delta channel to the evidence for its reducer, or to a supposed reducer, or to None.
        stretches: delta channel to what its stretches so far show; if they show anything, `deltas` doesn't count.
        channels: the channels of the steps so far.
        outlasting: whether the database may hold the value of a channel that the graph of a run didn't have, as one
            does that stores values apart, by their versions.
    """

    named: Mapping[str, Reducer] = field(default_factory=dict)
    remembered: Collection[str] = ()
    tallies: dict[str, Tally] = field(default_factory=dict)
    deltas: dict[str, Evidence | Reducer | None] = field(default_factory=dict)
    stretches: dict[str, Stretches] = field(default_factory=dict)
    channels: set[str] = field(default_factory=set)
    outlasting: bool = False

    def learn(
        self,
        before: Mapping[str, Any],
        after: Mapping[str, Any],
        written: Mapping[str, list[Any]],
        without: Collection[str] = (),
        by_command: Mapping[str, list[Any]] = NOTHING,
        moved: Collection[str] = (),
        *,
        partial: bool = False,
    ) -> dict[str, int]:
        """Learn from a step that its parent's writes made, but nothing about the channels in `without`.

        If it is `partial`, some of its writes aren't stored, and nothing speaks against a reducer.
        Returns the bits of the reducers that explain the step of each channel from which something was learned.
        """
        explaining: dict[str, int] = {}
        touched, tallies = {*written, *by_command, *moved}, self.tallies
        channels = dict.fromkeys([*before, *after, *written, *by_command])
        self.channels.update(channels)
        for channel in channels:
            if (
                channel not in touched
                and untouched(before.get(channel, ABSENT), after.get(channel, ABSENT))
                and channel in tallies
                and tallies[channel].kept
            ):
                continue  # nothing more to learn from it
            if channel not in self.deltas and channel not in self.named and channel not in without:
                step = channel_step(channel, before, written, after, by_command, moved=moved)
                tally = tallies.setdefault(channel, Tally())
                if not partial or tally.may_add_partial(step):
                    explaining[channel] = tally.add(step)
        return explaining

    def no_topics(self, channels: Collection[str]) -> set[str]:
        """Those of these channels that can't have the items of later steps: no Topic, and no list extended in place.

        A person's word decides, else the steps that were learned from.
        """
        named, tallies = self.named, self.tallies
        told = {channel for channel in channels if channel in named and named[channel] is not GATHER}
        return told | {c for c in channels if c not in named and c in tallies and not tallies[c].may_extend}

    def learn_deltas(self, deltas: Mapping[str, Evidence | Reducer | None]) -> None:
        """Add the known reducers of delta channels; a guess doesn't replace evidence."""
        for channel, reducer in deltas.items():
            if isinstance(reducer, Evidence) or not self.deltas.get(channel):
                self.deltas[channel] = reducer

    def learn_stretches(self, ended: Mapping[str, Stretch]) -> None:
        """Learn from the stretches of delta channels that end with a checkpoint, which its parent's writes made."""
        for channel, stretch in ended.items():
            self.stretches.setdefault(channel, Stretches()).add(stretch, doubtful=bool(stretch.doubt))

    def _shown(self, channel: str) -> Stretches | None:
        """The stretches of a delta channel, if they show what its reducer does."""
        stretches = self.stretches.get(channel)
        return stretches if stretches is not None and stretches.steps else None

    def of_delta(self, channel: str) -> Evidence | Reducer | None:
        """The reducer of a delta channel: as evidence, or as its messages suggest; None if there is neither."""
        shown = self._shown(channel)
        return shown.evidence if shown is not None else self.deltas[channel]

    @property
    def unexplained(self) -> list[str]:
        """The channels of which a reducer explains all steps but one, too few to suspect it; none explains all."""
        tallies = [(channel, tally) for channel, tally in self.tallies.items() if tally.lacks_one]
        return [channel for channel, tally in tallies if not (tally.candidates or tally.suspected)]

    def learn_from_others(self, evidence: Callable[[str, Tally], Tally]) -> None:
        """Let the steps of other threads count for channels that this line's own steps don't explain.

        The line has steps that contradict every reducer, so other threads can make one of its steps suspect, no more.

        Args:
            evidence: gives all steps of a channel, added to those of this line.
        """
        for channel in self.unexplained:
            total = evidence(channel, self.tallies[channel])
            if total.suspected:
                self.tallies[channel] = total

    def of(self, channel: str) -> list[Reducer]:
        """The reducers that a channel may have, the likeliest first; [] if none explains its steps."""
        if channel in self.named:
            return [self.named[channel]]
        if channel in self.deltas:
            one = self.of_delta(channel)
            if isinstance(one, Evidence):
                return [reducer for reducer in one.all if reducer.name in BITS]  # not rivals such as "the last 9"
            return [] if one is None else [one]
        tally = self.tallies.get(channel)
        return [one.reducer for one in tally.candidates or tally.suspected] if tally else []

    def nearest(self, channel: str) -> Evidence | None:
        """Where no reducer is known: the one that explains all steps but a few, if there is one."""
        tally = self._shown(channel) if channel in self.deltas else self.tallies.get(channel)
        return None if tally is None or self.of(channel) else tally.nearest

    def tried(self, channel: str) -> list[Reducer]:
        """The reducers that a verdict asks about: those that the channel may have, else the nearest."""
        near = self.nearest(channel)
        return self.of(channel) if near is None else [near.reducer]

    def name_of(self, channel: str) -> str | None:
        """The reducer of a channel, or two that explain the same; None if it isn't known."""
        tally = self.tallies.get(channel)
        if channel in self.named or channel in self.deltas or tally is None:
            return next((reducer.name for reducer in self.of(channel)), None)
        best = joined(tally.candidates or tally.suspected)
        return None if best is None else best.names

    def unit(self, channel: str) -> str:
        """The parts of a channel's history that show its reducer."""
        return "stretches" if channel in self.deltas else "steps"

    def has_evidence(self, channel: str) -> bool:
        """Whether some step or stretch shows what the channel's reducer does."""
        tally = self._shown(channel) if channel in self.deltas else self.tallies.get(channel)
        return tally is not None and tally.steps > 0

    def is_strong(self, channel: str, odd: Oddity | None) -> bool:
        """Whether a step that the learned reducers of a channel don't explain is suspect.

        Args:
            channel: a channel that was written in the step.
            odd: what is odd in the step, if nothing was learned from it.
        """
        if channel in self.deltas:
            shown = self._shown(channel)
            return shown is not None and shown.is_strong
        tally = self.tallies.get(channel)
        return tally is not None and (bool(tally.suspected) or (tally.is_strong and not tally.excuses(odd)))

    def only_writes_move(self, channel: str) -> bool:
        """Whether a new version without a write is suspect: all other steps got one by a write alone."""
        tally = self.tallies.get(channel)
        return tally is not None and tally.is_strong and tally.moved <= 1 and not self.fades(channel)

    def fades(self, channel: str) -> bool:
        """Whether a step without writes may empty a channel."""
        tally = self.tallies.get(channel)
        return (tally is not None and tally.faded) or any(reducer.fades for reducer in self.of(channel))

    def words(self, played: Collection[str]) -> list[str]:
        """One text for each of the `played` channels, and for those that a person named: reducer and evidence."""
        named = [c for c in self.named if c not in self.remembered or c in self.channels]
        deltas = [c for c in self.deltas if c not in self.named and c in played]
        learned = [c for c, tally in self.tallies.items() if tally.steps and c in played]
        return [f"{c} {self.evidence(c)}" for c in dict.fromkeys([*named, *deltas, *learned])]

    def evidence(self, channel: str) -> str:
        """The reducer of a channel, and the evidence for it, in words."""
        if channel in self.named:
            said = "remembered" if channel in self.remembered else "as you say"
            return f"{self.named[channel].name} ({said})"
        if channel in self.deltas:
            one = self.of_delta(channel)
            if isinstance(one, Evidence):
                unit = "stretch" if one.steps == 1 else "stretches"
                return f"{one.reducer.name} ({one.explained} of {one.steps} {unit})"
            if one is not None:
                return f"{one.name} (supposed, as its values are messages)"
            return "no known reducer" if self.has_evidence(channel) else "no stored value shows its reducer"
        tally = self.tallies.get(channel, _NO_STEPS)
        best = joined(tally.candidates or tally.suspected)
        if best is None and not tally.steps:
            return "no step shows its reducer"
        return best.words if best else f"no known reducer ({count_text(tally.steps, 'step')})"


_NO_STEPS = Tally()
