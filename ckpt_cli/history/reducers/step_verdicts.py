"""The verdict of ``replay --to``: whether a step's writes and reducers make the recorded state.

The reducers apply the writes stored on a checkpoint, and the result is its first ``loop`` child (langgraph 1.2
``pregel/_algo.py: apply_writes``). Updates, copies and second children have their own writes or none.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import permutations
from types import MappingProxyType
from typing import Any, NamedTuple

from ckpt_cli.history.reducers.agreement import explains
from ckpt_cli.history.reducers.learning import Tally, joined
from ckpt_cli.history.reducers.reducers import ABSENT, ChannelStep, Evidence, Reducer, count_steps
from ckpt_cli.values.langgraph_values import items, overwrite
from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.same import same

_NOTHING: Mapping[str, list[Any]] = MappingProxyType({})
_MUTABLE = (list, dict, set, Node)
"""Values that code can change in place: a node, a reducer, or a Topic (langgraph 1.2 ``channels/topic.py: update``).

Such a change is stored without a new version; of a Topic a step too early, as values are stored in the background.
"""
_ORDERED = 5  # the most tasks of a step whose writes are tried in every order


class Verdict(StrEnum):
    """Whether the writes of a step make the recorded state."""

    AGREES = "agrees"
    DIFFERS = "differs"
    """A reducer that a person named makes something else, or the library can't have made this from any writes."""
    SUSPECT = "suspect"
    """A learned reducer makes something else, and it explains all other steps; or a list, dict or object changed in
    place. This proves nothing."""
    UNKNOWN = "unknown"


class Judgement(NamedTuple):
    """The verdict about a step.

    Attributes:
        why: the reason in words; "" if all channels agree.
        channels: the channels that the writes don't explain.
    """

    verdict: Verdict
    why: str = ""
    channels: Sequence[str] = ()


@dataclass
class Reducers:
    """The reducers of channels, as the user named them or, if not, as the steps of a line prove them.

    Attributes:
        named: channel to the reducer that the user named.
        remembered: the channels in `named` whose reducer was named earlier, and remembered for this database.
        tallies: channel to the `Tally` of its steps so far.
        deltas: delta channel to the evidence for its reducer, or to a supposed reducer, or to None.
        channels: the channels of the steps so far.
    """

    named: Mapping[str, Reducer] = field(default_factory=dict)
    remembered: Collection[str] = ()
    tallies: dict[str, Tally] = field(default_factory=dict)
    deltas: dict[str, Evidence | Reducer | None] = field(default_factory=dict)
    channels: set[str] = field(default_factory=set)

    def learn(
        self,
        before: Mapping[str, Any],
        after: Mapping[str, Any],
        written: Mapping[str, list[Any]],
        without: Collection[str] = (),
        by_command: Mapping[str, list[Any]] = _NOTHING,
    ) -> None:
        """Learn from a step that its parent's writes made, but nothing about the channels in `without`."""
        for channel in dict.fromkeys([*before, *after, *written, *by_command]):
            self.channels.add(channel)
            if channel not in self.deltas and channel not in self.named and channel not in without:
                step = _channel_step(channel, before, written, after, by_command)
                self.tallies.setdefault(channel, Tally()).add(step)

    def learn_deltas(self, deltas: Mapping[str, Evidence | Reducer | None]) -> None:
        """Add the known reducers of delta channels; a guess doesn't replace evidence."""
        for channel, reducer in deltas.items():
            if isinstance(reducer, Evidence) or not self.deltas.get(channel):
                self.deltas[channel] = reducer

    @property
    def unexplained(self) -> list[str]:
        """The channels whose steps no reducer explains, and none is suspected to."""
        return [c for c, tally in self.tallies.items() if tally.steps and not (tally.candidates or tally.suspected)]

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
            one = self.deltas[channel]
            return [] if one is None else [one.reducer if isinstance(one, Evidence) else one]
        tally = self.tallies.get(channel)
        return [one.reducer for one in tally.candidates or tally.suspected] if tally else []

    def name_of(self, channel: str) -> str | None:
        """The reducer of a channel, or two that explain the same; None if it isn't known."""
        tally = self.tallies.get(channel)
        if channel in self.named or channel in self.deltas or tally is None:
            return next((reducer.name for reducer in self.of(channel)), None)
        best = joined(tally.candidates or tally.suspected)
        return None if best is None else best.names

    def is_strong(self, channel: str) -> bool:
        """Whether a step that the learned reducers of a channel don't explain is suspect."""
        tally = self.tallies.get(channel)
        return tally is not None and (bool(tally.suspected) or tally.is_strong)

    def fades(self, channel: str) -> bool:
        """Whether a step without writes may empty a channel."""
        tally = self.tallies.get(channel)
        return (tally is not None and tally.faded) or any(reducer.fades for reducer in self.of(channel))

    def words(self, played: Collection[str]) -> list[str]:
        """One text for each of the `played` channels, and for those that a person named: reducer and evidence."""
        texts = [
            f"{channel} {reducer.name} ({'remembered' if channel in self.remembered else 'as you say'})"
            for channel, reducer in self.named.items()
            if channel not in self.remembered or channel in self.channels
        ]
        for channel, one in self.deltas.items():
            if channel in self.named or channel not in played:
                continue
            if isinstance(one, Evidence):
                texts.append(f"{channel} {one.reducer.name} ({one.explained} of {one.steps} stretches)")
            elif one is not None:
                texts.append(f"{channel} {one.name} (supposed, as its values are messages)")
            else:
                texts.append(f"{channel} by none that is proven")
        for channel, tally in self.tallies.items():
            if tally.steps and channel in played:
                best = joined(tally.candidates or tally.suspected)
                unknown = f"by none that is known ({count_steps(tally.steps)})"
                texts.append(f"{channel} {best.words if best else unknown}")
        return texts


def judge(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    written: Mapping[str, list[Any]],
    reducers: Reducers,
    *,
    moved: Collection[str] = (),
    rebuilt: Collection[str] = (),
    by_command: Mapping[str, list[Any]] = _NOTHING,
) -> Judgement:
    """Apply the writes to the state `before`, and compare the result with the recorded state `after`.

    Args:
        before: channel to value.
        after: channel to value.
        written: channel to the values that were written to it.
        reducers: what is known of the channels.
        moved: the channels that got a new version; only such a channel can have changed.
        rebuilt: delta channels without a recorded value after the step; there is nothing to compare.
        by_command: channel to the values that a ``Command`` given as input wrote to it before the step.
    """
    findings: dict[str, tuple[Verdict, str]] = {}
    for channel in dict.fromkeys([*before, *after, *written, *by_command]):
        step = _channel_step(channel, before, written, after, by_command)
        if channel not in rebuilt and (finding := _finding(channel, step, reducers, channel in moved)) is not None:
            findings[channel] = finding
    if not findings:
        return Judgement(Verdict.AGREES)
    why = "; ".join(f"{channel}: {words}" for channel, (_, words) in findings.items())
    if any(_unreadable(state.get(channel)) for channel in findings for state in (before, after, written, by_command)):
        return Judgement(Verdict.UNKNOWN, why, list(findings))
    verdicts = {verdict for verdict, _ in findings.values()}
    return Judgement(next(verdict for verdict in _WORST_FIRST if verdict in verdicts), why, list(findings))


def _channel_step(
    channel: str,
    before: Mapping[str, Any],
    written: Mapping[str, list[Any]],
    after: Mapping[str, Any],
    by_command: Mapping[str, list[Any]],
) -> ChannelStep:
    old, new = before.get(channel, ABSENT), after.get(channel, ABSENT)
    return ChannelStep(old, written.get(channel, ()), new, by_command.get(channel, ()))


_WORST_FIRST = (Verdict.DIFFERS, Verdict.SUSPECT, Verdict.UNKNOWN)


def _finding(channel: str, step: ChannelStep, reducers: Reducers, is_moved: bool) -> tuple[Verdict, str] | None:
    """The verdict about one channel and the reason; None if the recorded value is what the writes make."""
    if not (step.writes or step.command):
        if same(step.before, step.after) or _by_itself(step.before, step.after, fades=reducers.fades(channel)):
            return None
        if is_moved:
            return Verdict.UNKNOWN, "changed, and no stored write explains it"
        changed = "changed without a new version, and nothing wrote it"
        if any(isinstance(value, _MUTABLE) for value in (step.before, step.after)):
            return Verdict.SUSPECT, f"{changed}; code that changes a value in place does that, and a Topic's own"
        return Verdict.DIFFERS, changed
    known = reducers.of(channel)
    if any(explains(reducer, step) for reducer in known):
        return None
    if channel in reducers.named:
        return Verdict.DIFFERS, f"not what {known[0].name} makes of the writes"
    replaced = [wrapped.value for write in step.writes if (wrapped := overwrite(write)) is not None]
    if channel in reducers.deltas and len(replaced) == 1 and same(step.after, replaced[0]):
        return None  # an Overwrite decides, whatever the reducer
    if _is_overwritten(step):
        return Verdict.DIFFERS, "not the value that replaced it"
    if not known:
        tally = reducers.tallies.get(channel)
        has_steps = tally is not None and tally.steps
        return Verdict.UNKNOWN, "no known reducer explains its steps" if has_steps else "no step shows its reducer"
    if reducers.is_strong(channel):
        where = "in the other steps and threads" if reducers.tallies[channel].threads else "in the other steps"
        return Verdict.SUSPECT, f"not what {known[0].name} makes of the writes, as it does {where}"
    return Verdict.UNKNOWN, f"not what {known[0].name} makes of the writes"


def _is_overwritten(step: ChannelStep) -> bool:
    """Whether an ``Overwrite`` decides the value, whatever the reducer, and the value is another one.

    A channel without a reducer keeps the ``Overwrite`` itself (langgraph 1.2 ``channels/binop.py``, ``last_value.py``).
    """
    last = step.writes or step.command
    replaced = [wrapped.value for write in last if (wrapped := overwrite(write)) is not None]
    return bool(replaced) and not any(same(step.after, value) for value in [*replaced, *last])


def in_another_order(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    tasks: Sequence[Mapping[str, list[Any]]],
    reducers: Reducers,
    by_command: Mapping[str, list[Any]] = _NOTHING,
) -> bool:
    """Whether the tasks' writes make the recorded state in some order; if there are many tasks, True without a test.

    langgraph 0.1 and 0.2 applied tasks in the order of the graph's nodes (``pregel/algo.py: apply_writes``). This order
    is recorded nowhere. Later versions sort the tasks by path.
    """
    if len(tasks) > _ORDERED:
        return True
    for order in permutations(tasks):
        written: dict[str, list[Any]] = {}
        for channel, values in (pair for task in order for pair in task.items()):
            written.setdefault(channel, []).extend(values)
        if judge(before, after, written, reducers, by_command=by_command).verdict is Verdict.AGREES:
            return True
    return False


def _by_itself(old: Any, new: Any, *, fades: bool) -> bool:
    """Whether a channel may change in this way without a write.

    A channel may begin with the empty value of its type; a channel that fades may become empty.
    """
    if old is ABSENT:
        return new in (0, "", [], {}) or (isinstance(new, Node) and items(new) == [])
    return fades and (new is ABSENT or new == [])


def _unreadable(value: Any) -> bool:
    parts = value if isinstance(value, list) else [value]
    return any(isinstance(part, Node) and part.form in (Form.BROKEN, Form.OPAQUE) for part in parts)
