"""The changes of each step in ``log`` and ``tree``, from its writes and the states on both sides of it."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ckpt_cli.history.state import channels
from ckpt_cli.history.state.channels import START, TASKS, deltas, unwrapped
from ckpt_cli.history.tasks.corrections import corrections
from ckpt_cli.history.tasks.step_changes import (
    NOTHING,
    UNKNOWN,
    Change,
    ChangeKind,
    Sides,
    channel_change,
    is_broken,
    state_change,
    step_changes,
)
from ckpt_cli.history.tasks.step_writes import StepWrites
from ckpt_cli.history.tasks.write_attribution import WriteAttribution, is_command
from ckpt_cli.values.state import State, TaskWrite

_NO_SIDES: Mapping[str, Sides] = MappingProxyType({})


class Steps:
    """The changes of each step of one namespace.

    They depend on the step alone: on what its tasks wrote, and on the states before and after it, if both were added.
    """

    def __init__(self, attribution: WriteAttribution) -> None:
        self._attribution = attribution
        self._writes = StepWrites(attribution)
        self._sides: dict[str, dict[str, Sides]] = {}
        self._unexplained: dict[str, list[Change]] = {}

    def changes(self, checkpoint_id: str) -> list[Change] | None:
        """The changes of a step; None if no data that was read shows them. A fork is compared with its parent."""
        note = self._attribution.note(checkpoint_id)
        written = self._written(checkpoint_id)
        if written is None:
            return self._unexplained.get(checkpoint_id)
        outputs, recorded = written
        sides, given = self._sides.get(checkpoint_id, _NO_SIDES), note.source == "input"
        by_metadata = [
            channel_change(channel, values, sides.get(channel, Sides(UNKNOWN, UNKNOWN)), given=given)
            for channel, values in recorded.items()
        ]
        return step_changes(outputs, sides, given=given) + by_metadata + self._unexplained.get(checkpoint_id, [])

    def pending_changes(self, writes: Sequence[TaskWrite]) -> list[Change]:
        """What a finished task has written; its channels take it in when the step ends."""
        return step_changes(self._writes.outputs(writes), {})

    def must_compare(self, checkpoint_id: str) -> bool:
        """Whether the states on both sides of a step say more about its changes than its writes do."""
        written = self._written(checkpoint_id)
        if written is None:
            return True
        outputs, recorded = written
        return self._attribution.note(checkpoint_id).source != "input" and (
            bool(recorded)
            or any(write.channel != TASKS for write in outputs)
            or self._attribution.spans_steps(checkpoint_id)
        )

    def compare(self, state: State, parent: State | None, *, is_first: bool) -> None:
        """Add the states on both sides of a step.

        Args:
            state: the checkpoint that the step made.
            parent: the state before the step; None if it can't be read.
            is_first: whether there is no checkpoint before this one.
        """
        checkpoint_id = state.ref.checkpoint_id
        self._unexplained.pop(checkpoint_id, None)
        written, cleared = self._written(checkpoint_id), _cleared(state, parent)
        if written is None:
            if (changes := self._differences(state, parent, is_first)) is not None:
                self._unexplained[checkpoint_id] = _with_new(changes, cleared)
            return
        touched = {write.channel for write in written[0]} | written[1].keys()
        if self._attribution.note(checkpoint_id).source != "input":  # an input is in no channel yet
            self._sides[checkpoint_id] = {channel: _sides(channel, state, parent, is_first) for channel in touched}
        several = self._attribution.spans_steps(checkpoint_id)  # then not all of its writes are stored
        changes = _with_new((self._differences(state, parent, is_first) if several else None) or [], cleared)
        self._unexplained[checkpoint_id] = [change for change in changes if change.channel not in touched]

    def forget(self, checkpoint_id: str) -> None:
        """Drop the values of a step that was shown."""
        self._sides.pop(checkpoint_id, None)
        self._unexplained.pop(checkpoint_id, None)

    def _written(self, checkpoint_id: str) -> tuple[list[TaskWrite], dict[str, list[Any]]] | None:
        """The writes that made a checkpoint, and the values by channel that only metadata records; None if neither is.

        Where the writes hold as much as metadata records, they count alone: they have the exact values.
        """
        if self._attribution.note(checkpoint_id).source == "fork":
            return None  # its writes, if there are any, were recorded for the checkpoint that it copies
        credited = self._attribution.credited(checkpoint_id)
        outputs = self._writes.outputs(credited or (), checkpoint_id)
        if self._writes.is_recorded(checkpoint_id) and not self._writes.holds_all_recorded(checkpoint_id, outputs):
            recorded = self._writes.recorded(checkpoint_id)
            unrecorded = [w for w in outputs if w.channel == TASKS or (is_command(w) and w.channel not in recorded)]
            return unrecorded, recorded
        if credited is not None:
            return outputs, {}
        if self._attribution.takes_input(checkpoint_id):
            parent = self._attribution.lineage.parent(checkpoint_id) or ""
            return [], self._writes.recorded(parent)
        return None

    def _differences(self, state: State, parent: State | None, is_first: bool) -> list[Change] | None:
        """The changes of a step that no writes explain; None if the state before it can't be read."""
        if START in state.values and self._attribution.note(state.ref.checkpoint_id).source == "input":
            return [Change(START, ChangeKind.SET, state.values[START])]
        if parent is None:
            return None
        # sorted, because not every database keeps the order in which channels were stored
        changed = [c for c in sorted(channels.user_channels(state)) if state.versions.get(c) != parent.versions.get(c)]
        changes = [state_change(channel, (), _sides(channel, state, parent, is_first)) for channel in changed]
        real = [change for change in changes if change is not None and change.kind is not ChangeKind.SAME]
        is_update = self._attribution.note(state.ref.checkpoint_id).source == "update"
        return [*corrections(state, parent), *real] if is_update else real


def _cleared(state: State, parent: State | None) -> list[Change]:
    """The user's channels that hold nothing any more; those that the step wrote to may be among them.

    A topic, an ephemeral value and an any-value are emptied by a step that doesn't write to them (langgraph 1.2
    ``channels/topic.py``, ``ephemeral_value.py``, ``any_value.py: update``). An empty topic is stored as ``[]``. A
    delta channel without a stored value isn't empty.
    """
    if parent is None:
        return []
    own = [c for c in sorted(parent.values) if not channels.is_control(c, parent) and not _is_empty(_value(c, parent))]
    gone = [c for c in own if not channels.is_snapshot(parent.values[c]) and _is_empty(_value(c, state))]
    return [Change(channel, ChangeKind.CLEARED, before=parent.values[channel]) for channel in gone]


def _with_new(changes: list[Change], more: list[Change]) -> list[Change]:
    """The changes, and those of `more` in other channels."""
    named = {change.channel for change in changes}
    return [*changes, *(change for change in more if change.channel not in named)]


def _is_empty(value: Any) -> bool:
    return value is NOTHING or value == []


def _sides(channel: str, state: State, parent: State | None, is_first: bool) -> Sides:
    before = NOTHING if is_first else UNKNOWN if parent is None else _value(channel, parent)
    return Sides(before, _value(channel, state))


def _value(channel: str, state: State) -> Any:
    if channel in state.values:
        value = unwrapped(state.values[channel])
        return UNKNOWN if is_broken(value) else value
    return UNKNOWN if channel in deltas(state) else NOTHING
