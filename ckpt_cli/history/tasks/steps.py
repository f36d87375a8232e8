"""How each checkpoint of a namespace came to be: what the step that made it changed."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Any

from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.reducers.write_semantics import Habit, agreed, habits, lasting
from ckpt_cli.history.state import channels
from ckpt_cli.history.state.channels import START, TASKS, deltas
from ckpt_cli.history.tasks.metadata_writes import values_by_channel
from ckpt_cli.history.tasks.step_changes import (
    NOTHING,
    UNKNOWN,
    Change,
    ChangeKind,
    between,
    changed,
    changes,
    is_broken,
    is_output,
)
from ckpt_cli.history.tasks.step_nodes import Makers
from ckpt_cli.history.tasks.task_ids import caller
from ckpt_cli.history.tasks.write_attribution import Note, path
from ckpt_cli.values.known import overwrite
from ckpt_cli.values.same import same
from ckpt_cli.values.state import State, TaskWrite

BACK = 100
"""Steps up a line that are searched for what was written before."""
PROVEN = 60
"""Steps up from a tip of which habits are learned."""
_NO_HABITS: Mapping[str, Habit] = MappingProxyType({})


class Steps(Makers):
    """What is known of the checkpoints of one namespace, from as much as was read.

    What is told of a step doesn't depend on which others are told of: habits are those that the head and the tip of
    the step's own branch prove, and what stood in a channel before is looked for as far up as `BACK`.
    """

    def __init__(self, lineage: Lineage, ns: str = "") -> None:
        super().__init__(lineage, ns)
        self.known: set[str] = set()
        """The checkpoints of which it was read how they were made."""
        self.outlined = False
        """Whether the channels of all writes were read, without their values."""
        self._habits: dict[str, dict[str, Habit]] = {}
        self._compared: dict[str, list[Change]] = {}
        self._wrote: dict[str, dict[str, list[Any] | None] | None] = {}

    def fill(self, notes: Mapping[str, Note], writes: Mapping[str, list[TaskWrite]]) -> None:
        """Take in metadata and writes; see `Credit.fill`."""
        super().fill(notes, writes)
        self._wrote.clear()

    def habits(self, checkpoint_id: str) -> Mapping[str, Habit]:
        """What its branch's tip proved of how channels treat writes, and else the head."""
        tip, head = self.lineage.carrier(checkpoint_id), self.lineage.head
        found = self._habits.get(head or "", _NO_HABITS)
        return found if tip == head else agreed(self._habits.get(tip, _NO_HABITS), found)

    def changes(self, checkpoint_id: str) -> list[Change] | None:
        """What a step changed; None where nothing that was read tells, and for a fork, which is a copy."""
        if checkpoint_id in self._compared:
            return self._compared[checkpoint_id]
        if self.note(checkpoint_id).source == "fork":
            return None
        credited, before = self.credited(checkpoint_id), partial(self._before, checkpoint_id)
        habits = self.habits(checkpoint_id)
        outputs = self.outputs(credited or ())
        if self._is_recorded(checkpoint_id) and not self._complete(checkpoint_id, outputs):
            sends = changes([write for write in outputs if write.channel == TASKS], {})
            told = self._recorded(checkpoint_id).items()
            return sends + [one for c, some in told for one in changed(c, some, habits.get(c), before)]
        if credited is not None:
            return changes(outputs, habits, before)
        parent = self.lineage.parent(checkpoint_id)
        return self.changes(parent) if parent is not None and self.takes_input(checkpoint_id) else None

    def written(self, writes: Sequence[TaskWrite]) -> list[Change]:
        """What a task that waits for its siblings will change, as far as its writes tell."""
        return changes(self.outputs(writes), self.habits(writes[0].row.checkpoint_id)) if writes else []

    def outputs(self, writes: Sequence[TaskWrite]) -> list[TaskWrite]:
        """Those of the writes that change the user's state or send."""
        return [w for w in writes if caller(path(w)) is None and is_output(w) and not self._plain_edge(w)]

    def _plain_edge(self, write: TaskWrite) -> bool:
        """Whether a write only says which node ran: up to langgraph 0.3.18 edges were channels of their node's name.

        All such releases recorded outputs in metadata too.
        """
        return self.told and not write.row.task_path and write.read and bool(write.value == write.channel)

    def given(self, state: State) -> None:
        """Take in a decoded input of the functional API, whose writes tell nothing of what came in."""
        self._compared[state.ref.checkpoint_id] = [Change(START, ChangeKind.SET, state.values[START])]

    def compare(self, state: State, parent: State) -> None:
        """Take in two decoded states where no writes tell what the step between them changed."""
        moved = [c for c in channels.user_channels(state) if state.versions.get(c) != parent.versions.get(c)]
        self._compared[state.ref.checkpoint_id] = [
            between(channel, parent.values.get(channel, UNKNOWN), state.values[channel])
            for channel in moved
            if channel in state.values and not same(parent.values.get(channel, UNKNOWN), state.values[channel])
        ]

    def has_learned(self, checkpoint_id: str) -> bool:
        """Whether the state of this checkpoint was taken in."""
        return checkpoint_id in self._habits

    def below_edits(self, checkpoint_id: str) -> str | None:
        """The checkpoint that the nearest updates were made on that no writes explain: its own line proves more."""
        edited = False
        for at in islice(self.lineage.line(checkpoint_id), PROVEN):
            explained = self._written(at) is not None
            if explained and edited:
                return at
            if not explained and self.note(at).source != "update":
                return None
            edited = edited or not explained
        return None

    def learn(self, state: State, tip: str) -> None:
        """Take in what a decoded checkpoint on a tip's line proves of how channels treat writes, the tip itself first.

        A delta channel holds nothing that could prove it, and gathers what is written (langgraph 1.2).
        """
        written: dict[str, list[list[Any]]] = {}
        closed: set[str] = set()
        steps = list(islice(self._written_above(state.ref.checkpoint_id), PROVEN))
        for some in steps:
            for channel, values in some.items():
                if values is None:
                    closed.add(channel)
                elif channel not in closed:
                    written.setdefault(channel, []).append(values)
        whole = written.keys() - closed if self._is_all(state.ref.checkpoint_id, len(steps)) else ()
        gathering = dict.fromkeys(deltas(state), Habit.APPENDS)
        found = {**gathering, **habits(state.values, written, whole)}
        self._habits[tip] = agreed(self._habits.get(tip, _NO_HABITS), found)

    def _is_all(self, checkpoint_id: str, steps: int) -> bool:
        """Whether so many steps are a whole line, from the first input on."""
        line = list(islice(self.lineage.line(checkpoint_id), steps + 1))
        first = line[-1]
        return len(line) == steps and self.lineage.rows[first].parent_id is None and self.note(first).source == "input"

    def stop_above(self, checkpoint_id: str) -> str | None:
        """The nearest ancestor of which isn't known how it was made, to tell what this step's values replaced."""
        habits = self.habits(checkpoint_id)
        found = self.changes(checkpoint_id) or ()
        left = {c.channel for c in found if c.kind is ChangeKind.SET and lasting(habits.get(c.channel))}
        parent = self.lineage.parent(checkpoint_id)
        for at in islice(self.lineage.line(parent), BACK) if parent is not None and left else ():
            wrote = self._left(at)
            if wrote is None or (at not in self.known and not (self.outlined and left.isdisjoint(wrote))):
                return at
            left -= wrote.keys()
            if not left:
                return None
        return None

    def _before(self, checkpoint_id: str, channel: str) -> Any:
        """What was last written to a channel on the line above, as far as that is known."""
        at = self.lineage.parent(checkpoint_id)
        for _ in range(BACK):
            if at is None:
                return NOTHING
            wrote = self._left(at)
            if wrote is None:
                break
            if channel in wrote:
                last = wrote[channel]
                known = last is not None and len(last) == 1 and overwrite(last[0]) is None
                return last[0] if known and last and not is_broken(last[0]) else UNKNOWN
            if self.lineage.missing(at) is not None:
                break
            at = self.lineage.parent(at)
        return UNKNOWN

    def _left(self, at: str) -> Mapping[str, list[Any] | None] | None:
        """What a step left in channels: as it was compared, which proves nothing of reducers, else as it wrote."""
        if at not in self._compared:
            return self._written(at)
        whole = (ChangeKind.SET, ChangeKind.CHANGED, ChangeKind.REPLACED)
        return {one.channel: [one.after] if one.kind in whole else None for one in self._compared[at]}

    def _written_above(self, checkpoint_id: str | None) -> Iterator[dict[str, list[Any] | None]]:
        """What each step on the line up from here wrote, by channel, newest first, as far up as that is known.

        None stands for what was not read.
        """
        line = self.lineage.line(checkpoint_id) if checkpoint_id is not None else iter(())
        for at in islice(line, BACK):
            wrote = self._written(at)
            if wrote is None:
                return
            yield wrote

    def _written(self, at: str) -> dict[str, list[Any] | None] | None:
        """What a step wrote, by channel; None where that isn't known."""
        if at not in self._wrote:
            self._wrote[at] = self._found(at)
        return self._wrote[at]

    def _found(self, at: str) -> dict[str, list[Any] | None] | None:
        told = self.note(at)
        if told.source in ("fork", "input"):
            return {}
        if self._is_recorded(at):
            return dict(self._recorded(at))
        if self.takes_input(at):
            return dict(self._recorded(self.lineage.parent(at) or ""))
        credited = self.credited(at)
        return None if credited is None else _values(credited)

    def _is_recorded(self, checkpoint_id: str) -> bool:
        """Whether metadata tells what was written: more than the writes do, which 0.2 kept of some steps only."""
        parent = self.lineage.parent(checkpoint_id)
        entrypoint = parent is not None and self.is_entrypoint(parent)
        return self.note(checkpoint_id).outputs is not None and not entrypoint

    def _complete(self, checkpoint_id: str, outputs: Sequence[TaskWrite]) -> bool:
        """Whether all that metadata tells was kept as writes too, whose values lost nothing on the way to JSON."""
        told = Counter({channel: len(some) for channel, some in self._recorded(checkpoint_id).items()})
        return told == Counter(write.channel for write in outputs if write.channel != TASKS)

    def _recorded(self, checkpoint_id: str) -> dict[str, list[Any]]:
        told = self.note(checkpoint_id)
        return values_by_channel(told.outputs, told.source)


def _values(writes: Sequence[TaskWrite]) -> dict[str, list[Any] | None]:
    by_channel: dict[str, list[TaskWrite]] = {}
    for write in writes:
        by_channel.setdefault(write.channel, []).append(write)
    return {
        channel: [write.value for write in some] if all(write.read for write in some) else None
        for channel, some in by_channel.items()
    }
