"""A recorded step played again: what its writes make of the state before it, held against what was recorded after it.

Writes stored with checkpoint N, folded by the channels' reducers, give its first ``loop`` child (langgraph 1.2
``pregel/_algo.py: apply_writes``). Updates, copies and second children have writes of their own or none.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import permutations
from typing import Any, NamedTuple

from ckpt_cli.history.reducers.delta import Rebuilt, marked
from ckpt_cli.history.reducers.learning import Tally
from ckpt_cli.history.reducers.reducers import ABSENT, ChannelStep, Evidence, Reducer, explains
from ckpt_cli.history.state.channels import unwrapped, user_channels
from ckpt_cli.values.known import items
from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.same import same
from ckpt_cli.values.state import State, TaskWrite

_SPANS = 4  # stretches of a delta channel's history that its reducer is learned from
_ORDERED = 5  # tasks of a step whose writes are tried in every order


class Verdict(StrEnum):
    """Whether the recorded state is what the writes make."""

    AGREES = "agrees"
    DIFFERS = "differs"
    UNKNOWN = "unknown"


class Judged(NamedTuple):
    """How a step turned out.

    Attributes:
        why: in words, where it isn't that all agrees.
        channels: those that hold something else than the writes make.
    """

    verdict: Verdict
    why: str = ""
    channels: Sequence[str] = ()


@dataclass
class Reducers:
    """What channels do with writes: as a person says, else as the steps of a line prove."""

    said: Mapping[str, Reducer] = field(default_factory=dict)
    tallies: dict[str, Tally] = field(default_factory=dict)
    deltas: dict[str, Evidence | Reducer | None] = field(default_factory=dict)

    def learn(self, before: Mapping[str, Any], after: Mapping[str, Any], written: Mapping[str, list[Any]]) -> None:
        """Take in a step that its parent's writes made."""
        for channel in dict.fromkeys([*before, *after, *written]):
            if channel not in self.deltas and channel not in self.said:
                step = ChannelStep(before.get(channel, ABSENT), written.get(channel, ()), after.get(channel, ABSENT))
                self.tallies.setdefault(channel, Tally()).add(step)

    def learn_deltas(self, found: Mapping[str, Evidence | Reducer | None]) -> None:
        """Take in what is known by now of delta channels; evidence isn't given up for a guess."""
        for channel, one in found.items():
            if isinstance(one, Evidence) or not self.deltas.get(channel):
                self.deltas[channel] = one

    def of(self, channel: str) -> list[Reducer]:
        """Those that a channel may have, the likeliest first."""
        if channel in self.said:
            return [self.said[channel]]
        if channel in self.deltas:
            found = self.deltas[channel]
            return [] if found is None else [found.reducer if isinstance(found, Evidence) else found]
        tally = self.tallies.get(channel)
        return [one.reducer for one in tally.likely] if tally else []

    def fades(self, channel: str) -> bool:
        """Whether a step without writes may empty a channel."""
        tally = self.tallies.get(channel)
        return (tally is not None and tally.faded) or any(reducer.fades for reducer in self.of(channel))

    def words(self) -> list[str]:
        """Each channel that was written, its reducer, and the evidence for it."""
        told = [f"{channel} {reducer.name} (as you say)" for channel, reducer in self.said.items()]
        for channel, found in self.deltas.items():
            if isinstance(found, Evidence):
                told.append(f"{channel} {found.reducer.name} ({found.explained} of {found.steps} stretches)")
            elif found is not None:
                told.append(f"{channel} {found.name} (by its values)")
        for channel, tally in self.tallies.items():
            if tally.steps:
                best = next(iter(tally.likely), None)
                count = f"{best.explained if best else 0} of {tally.steps} steps"
                told.append(f"{channel} {best.reducer.name if best else 'by none that is known'} ({count})")
        return told


def judged(
    before: Mapping[str, Any], after: Mapping[str, Any], written: Mapping[str, list[Any]], reducers: Reducers
) -> Judged:
    """Hold what writes make of a state against the state recorded after them."""
    otherwise: dict[str, str] = {}
    for channel in dict.fromkeys([*before, *after, *written]):
        old, new = before.get(channel, ABSENT), after.get(channel, ABSENT)
        if not (writes := written.get(channel)):
            if not same(old, new) and not _by_itself(old, new, fades=reducers.fades(channel)):
                otherwise[channel] = "changed, and nothing wrote it"
        elif not (known := reducers.of(channel)):
            otherwise[channel] = "no reducer explains it"
        elif not any(explains(reducer, ChannelStep(old, writes, new)) for reducer in known):
            otherwise[channel] = f"not what {known[0].name} makes of the writes"
    if not otherwise:
        return Judged(Verdict.AGREES)
    why = "; ".join(f"{channel}: {words}" for channel, words in otherwise.items())
    unread = any(_unreadable(held.get(channel)) for channel in otherwise for held in (before, after, written))
    unproven = any(not reducers.of(channel) for channel in otherwise if channel in written)
    return Judged(Verdict.UNKNOWN if unread or unproven else Verdict.DIFFERS, why, list(otherwise))


def in_another_order(
    before: Mapping[str, Any], after: Mapping[str, Any], tasks: Sequence[Mapping[str, list[Any]]], reducers: Reducers
) -> bool:
    """Whether tasks' writes make what was recorded if they are applied in some order; of many tasks it may be so.

    langgraph 0.1 and 0.2 took tasks as the graph names its nodes (``pregel/algo.py: apply_writes``), and nothing
    records that; later versions sort them by path.
    """
    if len(tasks) > _ORDERED:
        return True
    for order in permutations(tasks):
        written: dict[str, list[Any]] = {}
        for channel, values in (pair for task in order for pair in task.items()):
            written.setdefault(channel, []).extend(values)
        if judged(before, after, written, reducers).verdict is Verdict.AGREES:
            return True
    return False


def _by_itself(old: Any, new: Any, *, fades: bool) -> bool:
    """Whether a channel changes so without a write: it begins with its type's empty value, or is one that fades."""
    if old is ABSENT:
        return new in (0, "", [], {}) or (isinstance(new, Node) and items(new) == [])
    return fades and (new is ABSENT or new == [])


def _unreadable(value: Any) -> bool:
    parts = value if isinstance(value, list) else [value]
    return any(isinstance(part, Node) and part.form in (Form.BROKEN, Form.OPAQUE) for part in parts)


class Line:
    """The user's channels on the way down a line; delta channels are carried on by what was written."""

    def __init__(self, rebuild: Callable[[State], Mapping[str, Rebuilt]]) -> None:
        self._rebuild = rebuild
        self._kept: dict[str, Rebuilt] | None = None

    def at(self, state: State, written: Iterable[TaskWrite] = (), *, grown: bool = False) -> dict[str, Any]:
        """The channels of the next checkpoint; `written` are all writes stored on its parent.

        Args:
            state: the checkpoint.
            written: in canonical order.
            grown: whether these writes made it, so that a stored value is evidence for a reducer.
        """
        stored = {channel: unwrapped(value) for channel, value in state.values.items()}
        kept = self._carried(state, stored, list(written), grown=grown)
        told = {channel: rebuilt.value for channel, rebuilt in kept.items() if channel not in stored}
        held = {**stored, **told}
        return {channel: held[channel] for channel in user_channels(state) if channel in held}

    @property
    def reducers(self) -> dict[str, Evidence | Reducer | None]:
        """What each delta channel does with writes, as far as those seen so far tell; None where they don't."""
        kept = (self._kept or {}).items()
        return {c: one.evidence if one.spans else one.reducer if one.writes else None for c, one in kept}

    def _carried(
        self, state: State, stored: Mapping[str, Any], written: list[TaskWrite], *, grown: bool
    ) -> dict[str, Rebuilt]:
        if self._kept is None:
            self._kept = dict(self._rebuild(state))
        else:
            for channel, kept in self._kept.items():
                kept.writes += [write.value for write in written if write.channel == channel]
        for channel in marked(state) - self._kept.keys():
            found = Rebuilt(marked=True) if channel in stored else self._rebuild(state).get(channel)
            if found is not None:
                self._kept[channel] = found
        for channel in self._kept.keys() & stored.keys():
            kept = self._kept[channel]
            if grown and kept.writes:
                kept.spans = [*kept.spans, ChannelStep(kept.seed, kept.writes, stored[channel])][-_SPANS:]
            kept.seed, kept.writes = stored[channel], []
        return self._kept
