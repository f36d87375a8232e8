"""The changes of each step in ``log`` and ``tree``, from its writes and the states on both sides of it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ckpt_cli.history.state import channels
from ckpt_cli.history.state.channels import START, TASKS, counter, deltas, unwrapped
from ckpt_cli.history.tasks.branch_writes import BranchWrites
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
from ckpt_cli.history.tasks.write_attribution import WriteAttribution
from ckpt_cli.history.tasks.write_makers import is_command, is_of_run
from ckpt_cli.values.same import alike
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
        self._of_whole_run: dict[str, list[TaskWrite]] = {}

    def changes(self, checkpoint_id: str) -> list[Change] | None:
        """The changes of a step; None if no data that was read shows them. A fork is compared with its parent."""
        note = self._attribution.note(checkpoint_id)
        written = self._written(checkpoint_id)
        if written is None:
            return self._unexplained.get(checkpoint_id)
        outputs, recorded = written
        if whole := self._of_whole_run.get(checkpoint_id):
            channels_of_run = {write.channel for write in whole}
            outputs = [*whole, *(write for write in outputs if write.channel not in channels_of_run)]
        sides, given = self._sides.get(checkpoint_id, _NO_SIDES), note.source == "input"
        by_metadata = [
            channel_change(channel, values, sides.get(channel, Sides(UNKNOWN, UNKNOWN)), given=given)
            for channel, values in recorded.items()
        ]
        return step_changes(outputs, sides, given=given) + by_metadata + self._unexplained.get(checkpoint_id, [])

    def pending_changes(self, writes: Sequence[TaskWrite]) -> list[Change]:
        """What a finished task has written; its channels take it in when the step ends."""
        return step_changes(self._writes.outputs(writes), {})

    def compare(self, state: State, parent: State | None, taken: Callable[[], BranchWrites], *, is_first: bool) -> None:
        """Add the states on both sides of a step.

        Args:
            state: the checkpoint that the step made.
            parent: the state before the step; None if it can't be read.
            taken: gives the writes that are in this checkpoint and not in its parent, for delta channels.
            is_first: whether there is no checkpoint before this one.
        """
        checkpoint_id = state.ref.checkpoint_id
        self._unexplained.pop(checkpoint_id, None)
        written, cleared = self._written(checkpoint_id), _cleared(state, parent)
        if written is None:
            changes = self._given(state) or self._differences(state, parent, taken, is_first)
            if changes is not None:
                self._unexplained[checkpoint_id] = _with_new(changes, cleared)
            return
        touched = {write.channel for write in written[0]} | written[1].keys()
        if self._attribution.note(checkpoint_id).source != "input":  # an input is in no channel yet
            self._sides[checkpoint_id] = {channel: _sides(channel, state, parent, is_first) for channel in touched}
        # with durability="exit", and after a delete, not all writes are stored
        differences = self._differences(state, parent, taken, is_first, touched) or []
        several = self._attribution.spans_steps(checkpoint_id)
        if several and (run_wrote := {write.channel for write in written[0] if is_of_run(write)}):
            # tasks that had finished where the run began wrote too; the library counts all (see `branch_writes`)
            self._of_whole_run[checkpoint_id] = [write for write in taken().writes if write.channel in run_wrote]
        stored = [] if several or parent is None else deltas(parent)  # of one step, all writes to these are stored
        changes = _with_new(cleared, [change for change in differences if change.channel not in stored])
        self._unexplained[checkpoint_id] = [change for change in changes if change.channel not in touched]

    def forget(self, checkpoint_id: str) -> None:
        """Drop the values of a step that was shown."""
        for kept in (self._sides, self._unexplained, self._of_whole_run):
            kept.pop(checkpoint_id, None)

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

    def _given(self, state: State) -> list[Change]:
        if START in state.values and self._attribution.note(state.ref.checkpoint_id).source == "input":
            return [Change(START, ChangeKind.SET, state.values[START])]
        return []

    def _differences(
        self,
        state: State,
        parent: State | None,
        taken: Callable[[], BranchWrites],
        is_first: bool,
        touched: Collection[str] = (),
    ) -> list[Change] | None:
        """The changes that no writes explain, of channels not `touched`; None if it isn't known what was before."""
        if parent is None:
            return _first_values(state)
        # sorted, because not every database keeps the order in which channels were stored
        own = [channel for channel in sorted(channels.user_channels(state)) if channel not in touched]
        changed = [channel for channel in own if state.versions.get(channel) != parent.versions.get(channel)]
        changes = [state_change(channel, (), _sides(channel, state, parent, is_first)) for channel in changed]
        unstored = [channel for channel in changed if channel in deltas(state)]
        changes += _delta_changes(unstored, taken()) if unstored else []
        real = [change for change in changes if change is not None and change.kind is not ChangeKind.SAME]
        real += _unwritten(own, state, parent)
        is_update = self._attribution.note(state.ref.checkpoint_id).source == "update"
        return [*corrections(state, parent), *real] if is_update else real


def begins_with_update(state: State) -> bool:
    """Whether ``update_state`` made a thread's first checkpoint, so that all that is in it is the update's.

    Then no writes are stored (langgraph 1.2 ``pregel/main.py: update_state`` stores them on the checkpoint before). A
    checkpoint that lost those before it has channels that changed since the first, so that their versions are higher.
    """
    is_update = state.source == "update" and state.parent_id is None and not state.damage
    return is_update and bool(state.versions) and all(counter(version) == 1 for version in state.versions.values())


def _first_values(state: State) -> list[Change] | None:
    """What an update that began a thread gave to the channels; None for another checkpoint."""
    if not begins_with_update(state):
        return None
    written = [channel for channel in sorted(channels.user_channels(state)) if channel in state.versions]
    sides = {channel: Sides(NOTHING, _value(channel, state)) for channel in written}
    changes = [state_change(channel, (), own) for channel, own in sides.items()]
    unstored = [channel for channel, own in sides.items() if own.after is UNKNOWN and channel in deltas(state)]
    return [change for change in changes if change is not None] + _delta_changes(unstored, BranchWrites([]))


def _unwritten(own: Sequence[str], state: State, parent: State) -> list[Change]:
    """The changes of channels that kept their version, as each write would have changed it.

    Code that changes a value in place makes them: a node, a reducer, a Topic that accumulates.
    """
    changes = []
    for channel in own:
        before, after = _value(channel, parent), _value(channel, state)
        if not _has_kept_version(channel, state, parent) or before is UNKNOWN or after is UNKNOWN:
            continue
        sides = Sides(before, after, has_kept_version=True)
        change = None if alike(before, after) else state_change(channel, (), sides)
        if change is not None and change.kind is not ChangeKind.SAME:
            changes.append(change._replace(unwritten=True))
    return changes


def _has_kept_version(channel: str, state: State, parent: State) -> bool:
    version = state.versions.get(channel)
    return version is not None and version == parent.versions.get(channel)


def _delta_changes(unstored: Sequence[str], taken: BranchWrites) -> list[Change]:
    """The changes of delta channels whose value isn't stored: what was written, if that is stored.

    A copy has the writes of the checkpoint that it copies (langgraph 1.2 ``pregel/main.py: update_state``).
    """
    known = step_changes([one for one in taken.writes if one.channel in unstored and one.channel not in taken.lost], {})
    named = {change.channel for change in known}
    return [*known, *(Change(channel, ChangeKind.UNSTORED) for channel in unstored if channel not in named)]


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
    unwritten = {channel for channel in gone if _has_kept_version(channel, state, parent)}
    return [Change(c, ChangeKind.CLEARED, before=parent.values[c], unwritten=c in unwritten) for c in gone]


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
