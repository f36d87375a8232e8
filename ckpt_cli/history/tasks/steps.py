"""The changes of each step of a namespace, from the metadata, writes and states that were read."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Any

from ckpt_cli.history.reducers.write_semantics import Habit, combine_habits, keeps_last_write, prove_habits
from ckpt_cli.history.state import channels
from ckpt_cli.history.state.channels import START, TASKS, deltas
from ckpt_cli.history.tasks.step_changes import (
    NOTHING,
    UNKNOWN,
    Change,
    ChangeKind,
    channel_changes,
    compare_values,
    is_broken,
    step_changes,
)
from ckpt_cli.history.tasks.step_writes import StepWrites, Written
from ckpt_cli.history.tasks.write_attribution import WriteAttribution
from ckpt_cli.values.known import overwrite
from ckpt_cli.values.same import same
from ckpt_cli.values.state import State, TaskWrite

BACK = 100
"""At most so many older steps are searched for the previous value of a channel."""
PROVEN = 60
"""Habits are learned from at most so many steps, from a tip upwards."""
_NO_HABITS: Mapping[str, Habit] = MappingProxyType({})
# For these, `Change.after` is the channel's new value.
_GIVES_NEW_VALUE = (ChangeKind.SET, ChangeKind.CHANGED, ChangeKind.REPLACED)


class Steps:
    """The changes of each step of one namespace.

    A habit is what a channel does with its writes (append, replace and so on), as decoded states prove. Only the head
    and the tip of the step's own branch are used as proof. The previous value of a channel is searched in at most
    `BACK` older steps. So the changes of a step don't depend on the other steps that are shown.

    Attributes:
        known: the checkpoints for which two things were read: their metadata and the writes that made them.
        outlined: whether the channel names of all writes were read, without their values.
    """

    def __init__(self, attribution: WriteAttribution) -> None:
        self.known: set[str] = set()
        self.outlined = False
        self._attribution = attribution
        self._lineage = attribution.lineage
        self._writes = StepWrites(attribution)
        self._habits: dict[str, dict[str, Habit]] = {}
        self._compared: dict[str, list[Change]] = {}

    def habits(self, checkpoint_id: str) -> Mapping[str, Habit]:
        """Channel to its habit, as the tip of the checkpoint's branch proved it, else as the head did."""
        tip, head = self._lineage.carrier(checkpoint_id), self._lineage.head
        of_head = self._habits.get(head or "", _NO_HABITS)
        return of_head if tip == head else combine_habits(self._habits.get(tip, _NO_HABITS), of_head)

    def changes(self, checkpoint_id: str) -> list[Change] | None:
        """The changes of a step; None if no data that was read shows them, and for a fork, which is a copy."""
        if checkpoint_id in self._compared:
            return self._compared[checkpoint_id]
        if self._attribution.note(checkpoint_id).source == "fork":
            return None
        credited, before = self._attribution.credited(checkpoint_id), partial(self._previous, checkpoint_id)
        habits, outputs = self.habits(checkpoint_id), self._writes.outputs(credited or (), checkpoint_id)
        if self._writes.is_recorded(checkpoint_id) and not self._writes.holds_all_recorded(checkpoint_id, outputs):
            sends = step_changes([write for write in outputs if write.channel == TASKS], {})
            recorded = self._writes.recorded(checkpoint_id).items()
            return sends + [x for c, values in recorded for x in channel_changes(c, values, habits.get(c), before)]
        if credited is not None:
            return step_changes(outputs, habits, before)
        parent = self._lineage.parent(checkpoint_id)
        return self.changes(parent) if parent is not None and self._attribution.takes_input(checkpoint_id) else None

    def pending_changes(self, writes: Sequence[TaskWrite]) -> list[Change]:
        """The changes that a finished task will make when its step ends, as far as the task's writes show them."""
        return step_changes(self._writes.outputs(writes), self.habits(writes[0].row.checkpoint_id)) if writes else []

    def add_input(self, state: State) -> None:
        """Add a decoded input of the functional API, whose writes don't hold the input."""
        self._compared[state.ref.checkpoint_id] = [Change(START, ChangeKind.SET, state.values[START])]

    def compare(self, state: State, parent: State) -> None:
        """Compare two decoded states; needed if no writes show the changes of the step between them."""
        # sorted, because not every database keeps the order in which channels were stored
        moved = [c for c in sorted(channels.user_channels(state)) if state.versions.get(c) != parent.versions.get(c)]
        self._compared[state.ref.checkpoint_id] = [
            compare_values(channel, parent.values.get(channel, UNKNOWN), state.values[channel])
            for channel in moved
            if channel in state.values and not same(parent.values.get(channel, UNKNOWN), state.values[channel])
        ]

    def has_learned(self, checkpoint_id: str) -> bool:
        """Whether `learn` was given the state of this tip."""
        return checkpoint_id in self._habits

    def below_edits(self, checkpoint_id: str) -> str | None:
        """The first checkpoint past a group of updates that no writes explain; None if there is no such group.

        Past means towards the root, starting from the given checkpoint. The state of the checkpoint that is returned
        proves habits from its own ancestors.
        """
        edited = False
        for at in islice(self._lineage.line(checkpoint_id), PROVEN):
            explained = self._writes.written(at) is not None
            if explained and edited:
                return at
            if not explained and self._attribution.note(at).source != "update":
                return None
            edited = edited or not explained
        return None

    def learn(self, state: State, tip: str) -> None:
        """Learn habits from a decoded checkpoint on a tip's line; call it for the tip itself first.

        A delta channel stores no value that could prove its habit; such a channel gathers all writes (langgraph 1.2).
        """
        written: dict[str, list[list[Any]]] = {}
        channels_with_unknown_writes: set[str] = set()
        steps = list(self._writes.written_above(state.ref.checkpoint_id, PROVEN))
        for step in steps:
            for channel, values in step.items():
                if values is None:
                    channels_with_unknown_writes.add(channel)
                elif channel not in channels_with_unknown_writes:
                    written.setdefault(channel, []).append(values)
        reaches_input = self._reach_first_input(state.ref.checkpoint_id, len(steps))
        fully_known = written.keys() - channels_with_unknown_writes if reaches_input else ()
        gathering = dict.fromkeys(deltas(state), Habit.APPENDS)
        learned = {**gathering, **prove_habits(state.values, written, fully_known)}
        self._habits[tip] = combine_habits(self._habits.get(tip, _NO_HABITS), learned)

    def _reach_first_input(self, checkpoint_id: str, steps: int) -> bool:
        """Whether the line of a checkpoint has exactly this many steps and begins with an input."""
        line = list(islice(self._lineage.line(checkpoint_id), steps + 1))
        if len(line) != steps or self._lineage.rows[line[-1]].parent_id is not None:
            return False
        return self._attribution.note(line[-1]).source == "input"

    def stop_above(self, checkpoint_id: str) -> str | None:
        """The nearest ancestor for which the writes of its step must still be read; None if nothing more is needed.

        Those writes are needed to know the values that this step replaced.
        """
        habits, changes = self.habits(checkpoint_id), self.changes(checkpoint_id) or ()
        unresolved = {
            c.channel for c in changes if c.kind is ChangeKind.SET and keeps_last_write(habits.get(c.channel))
        }
        parent = self._lineage.parent(checkpoint_id)
        for at in islice(self._lineage.line(parent), BACK) if parent is not None and unresolved else ():
            written = self._written_by(at)
            if written is None or (at not in self.known and not (self.outlined and unresolved.isdisjoint(written))):
                return at
            unresolved -= written.keys()
            if not unresolved:
                return None
        return None

    def _previous(self, checkpoint_id: str, channel: str) -> Any:
        """The last value that older steps wrote to a channel; `NOTHING` if none did, `UNKNOWN` if it isn't known."""
        at = self._lineage.parent(checkpoint_id)
        if self._lineage.missing(checkpoint_id) is not None:
            return UNKNOWN
        for _ in range(BACK):
            if at is None:
                return NOTHING
            written = self._written_by(at)
            if written is None:
                break
            if channel in written:
                return _only(written[channel])
            if self._lineage.missing(at) is not None:
                break
            at = self._lineage.parent(at)
        return UNKNOWN

    def _written_by(self, at: str) -> Written | None:
        """What a step wrote to channels.

        If the states were compared, this is the difference; a channel has None if its difference isn't its new value.
        """
        if at not in self._compared:
            return self._writes.written(at)
        changes = self._compared[at]
        return {change.channel: [change.after] if change.kind in _GIVES_NEW_VALUE else None for change in changes}


def _only(values: list[Any] | None) -> Any:
    """The one value that was written, if it is a plain one; else `UNKNOWN`."""
    if values is None or len(values) != 1 or overwrite(values[0]) is not None or is_broken(values[0]):
        return UNKNOWN
    return values[0]
