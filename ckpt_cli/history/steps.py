"""How each checkpoint of a namespace came to be: which node made it and what it changed."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from ckpt_cli.history import channels, ids
from ckpt_cli.history.changes import UNKNOWN, Change, Habit, Kind, between, changed, changes, habits, is_output
from ckpt_cli.history.channels import CONTROL_WRITES, RETURN, START, TASKS
from ckpt_cli.history.credit import Credit, Note, path
from ckpt_cli.history.lineage import Lineage
from ckpt_cli.history.recorded import outputs_by_node, values_by_channel
from ckpt_cli.history.tasks import Place, caller, pulled, sent, trigger_sets
from ckpt_cli.values.known import js_send, overwrite
from ckpt_cli.values.state import State, TaskWrite

_NO_MAKING = CONTROL_WRITES | {RETURN}
_EDGES_NAMED = 3  # the checkpoint format since which every edge is a channel that names its target
_BACK = 200  # steps up a line that are searched for what was written before
_PROOF = 3  # steps that wrote to a channel, of which its habit is learned


class Steps(Credit):
    """What is known of the checkpoints of one namespace, from as much as was read."""

    def __init__(self, lineage: Lineage, ns: str = "") -> None:
        super().__init__(lineage)
        self.ns = ns
        self.habits: dict[str, Habit] = {}
        self._triggers: dict[str, set[str]] | None = None
        self._compared: dict[str, list[Change]] = {}
        self._told = False

    def fill(self, notes: Mapping[str, Note], writes: Mapping[str, list[TaskWrite]]) -> None:
        """Take in metadata and writes; see `Credit.fill`."""
        super().fill(notes, writes)
        self._triggers = None
        self._told = self._told or any(told.outputs is not None for told in notes.values())

    def nodes(self, checkpoint_id: str) -> dict[str, int]:
        """The nodes that made a checkpoint and how many tasks each had, in the order of their writes; {} if unknown.

        Of an update, the node it was made as, where that is recorded; an input has none.
        """
        told = self.note(checkpoint_id)
        if told.source == "input":
            return {}
        outputs = outputs_by_node(told.outputs, told.source)
        if told.source == "update":
            return dict.fromkeys(outputs, 1)
        found = self._makers(checkpoint_id, next(iter(outputs)) if len(outputs) == 1 else "?")
        if set(found) <= {"?"}:
            return dict.fromkeys(outputs, 1) or ({START: 1} if self.takes_input(checkpoint_id) else {})
        return found

    def _makers(self, checkpoint_id: str, otherwise: str) -> dict[str, int]:
        by_task: dict[str, list[TaskWrite]] = {}
        for write in self.credited(checkpoint_id) or ():
            if caller(path(write)) is None:
                by_task.setdefault(_task(write), []).append(write)
        found: dict[str, int] = {}
        for kept in by_task.values():
            if any(write.channel not in _NO_MAKING for write in kept):
                name = self.node(kept[0]) or otherwise
                found[name] = found.get(name, 0) + 1
        return found

    def node(self, write: TaskWrite) -> str | None:
        """The node of the task that wrote this; None where nothing tells."""
        where = path(write)
        if where:
            index = sent(where)
            return pulled(where) if index is None else self._called(write.row.checkpoint_id, index)
        if self.note(write.row.checkpoint_id).source == "input":
            return None if self.is_entrypoint(write.row.checkpoint_id) else START
        return self._recomputed(write.row.checkpoint_id, write.task_id)

    def _packets(self, checkpoint_id: str) -> list[str | None]:
        """The nodes of the Sends that a checkpoint starts with, None for those whose value was not read."""
        written = [write for write in self.credited(checkpoint_id) or () if write.channel == TASKS]
        known = [js_send(write.value) if write.read else None for write in written]
        return [packet.node if packet is not None else None for packet in known]

    def _called(self, checkpoint_id: str, index: int) -> str | None:
        packets = self._packets(checkpoint_id)
        return packets[index] if index < len(packets) else None

    def called(self, checkpoint_id: str) -> bool:
        """Whether a checkpoint was made by Sends whose nodes are not known, for want of their values."""
        writes = self.credited(checkpoint_id) or ()
        return any(sent(path(write)) is not None and self.node(write) is None for write in writes)

    def _recomputed(self, checkpoint_id: str, task_id: str) -> str | None:
        """The node whose task would have this id: databases without task paths tell it no other way."""
        step = self.note(checkpoint_id).step
        if step is None or not ids.is_uuid6(checkpoint_id):
            return None
        packets = self._packets(checkpoint_id)
        for v in (4, 1) if self._told else (4,):
            place = Place(checkpoint_id, self.ns, step + 1, v, javascript=task_id[14:15] == "5")
            if found := self._fitting(place, task_id, packets):
                return found
        due = self._due(checkpoint_id)
        return due[0] if len(due) == 1 and not packets and len(self.tasks(checkpoint_id)) == 1 else None

    def _fitting(self, place: Place, task_id: str, packets: Sequence[str | None]) -> str | None:
        for index, name in enumerate(packets):
            if name is not None and task_id in place.push(name, index):
                return name
        known = self._known_triggers()
        for node in dict.fromkeys([*self._due(place.checkpoint_id), *known]):
            for triggers in trigger_sets(known.get(node, {f"branch:to:{node}"})):
                if task_id in place.pull(node, triggers):
                    return node
        return self._after(place, task_id) if place.v < _EDGES_NAMED else None

    def _after(self, place: Place, task_id: str) -> str | None:
        """The node that a plain edge of an old release started: such an edge bore the name of the node it came from."""
        outputs = (outputs_by_node(told.outputs, told.source) for told in self.notes.values())
        nodes = dict.fromkeys(node for output in outputs for node in output)
        makers = self.nodes(place.checkpoint_id)
        return next((n for n in nodes for maker in makers if task_id in place.pull(n, (maker,))), None)

    def _due(self, checkpoint_id: str) -> list[str]:
        """The nodes that the step before called by name."""
        targets = (channels.target(write.channel) for write in self.credited(checkpoint_id) or ())
        return list(dict.fromkeys(target for target in targets if target is not None))

    def _known_triggers(self) -> dict[str, set[str]]:
        if self._triggers is None:
            self._triggers = {}
            for channel in {write.channel for kept in self.writes.values() for write in kept}:
                if (node := channels.target(channel)) is not None:
                    self._triggers.setdefault(node, {f"branch:to:{node}"}).add(channel)
        return self._triggers

    def changes(self, checkpoint_id: str) -> list[Change] | None:
        """What a step changed; None where nothing that was read tells, and for a fork, which is a copy."""
        if checkpoint_id in self._compared:
            return self._compared[checkpoint_id]
        if self.note(checkpoint_id).source == "fork":
            return None
        credited, before = self.credited(checkpoint_id), partial(self._before, checkpoint_id)
        outputs = self.outputs(credited or ())
        if self._is_recorded(checkpoint_id) and not self._complete(checkpoint_id, outputs):
            sends = changes([write for write in outputs if write.channel == TASKS], {})
            told = self._recorded(checkpoint_id).items()
            return sends + [one for c, some in told for one in changed(c, some, self.habits.get(c), before)]
        if credited is not None:
            return changes(outputs, self.habits, before)
        parent = self.lineage.parent(checkpoint_id)
        return self.changes(parent) if parent is not None and self.takes_input(checkpoint_id) else None

    def written(self, writes: Sequence[TaskWrite]) -> list[Change]:
        """What a task that waits for its siblings will change, as far as its writes tell."""
        return changes(self.outputs(writes), self.habits)

    def outputs(self, writes: Sequence[TaskWrite]) -> list[TaskWrite]:
        """Those of the writes that change the user's state or send."""
        return [w for w in writes if caller(path(w)) is None and is_output(w) and not self._plain_edge(w)]

    def _plain_edge(self, write: TaskWrite) -> bool:
        """Whether a write only says which node ran: up to langgraph 0.3.18 edges were channels of their node's name.

        All such releases recorded outputs in metadata too.
        """
        return self._told and not write.row.task_path and write.read and bool(write.value == write.channel)

    def given(self, state: State) -> None:
        """Take in a decoded input of the functional API, whose writes tell nothing of what came in."""
        self._compared[state.ref.checkpoint_id] = [Change(START, Kind.SET, state.values[START])]

    def compare(self, state: State, parent: State) -> None:
        """Take in two decoded states where no writes tell what the step between them changed."""
        moved = [c for c in channels.user_channels(state) if state.versions.get(c) != parent.versions.get(c)]
        self._compared[state.ref.checkpoint_id] = [
            between(channel, parent.values.get(channel, UNKNOWN), state.values[channel])
            for channel in moved
            if channel in state.values
        ]

    def learn(self, state: State) -> None:
        """Take in what a decoded state proves of how its channels treat writes."""
        written: dict[str, list[list[Any]]] = {}
        closed: set[str] = set()
        for some in self._written_above(state.ref.checkpoint_id):
            for channel, values in some.items():
                if values is not None and channel not in closed:
                    written.setdefault(channel, []).append(values)
                if values is None or len(written.get(channel, ())) == _PROOF:
                    closed.add(channel)
        self.habits.update(habits(state.values, written))

    def _before(self, checkpoint_id: str, channel: str) -> Any:
        """What was last written to a channel on the line above, if that was read."""
        for some in self._written_above(self.lineage.parent(checkpoint_id)):
            if channel in some:
                last = some[channel]
                return last[0] if last is not None and len(last) == 1 and overwrite(last[0]) is None else UNKNOWN
        return UNKNOWN

    def _written_above(self, checkpoint_id: str | None) -> Iterator[dict[str, list[Any] | None]]:
        """What each step on the line up from here wrote, by channel, newest first, as far up as that is known.

        None stands for what was not read.
        """
        line = self.lineage.line(checkpoint_id) if checkpoint_id is not None else iter(())
        for at in islice(line, _BACK):
            told = self.note(at)
            if told.source in ("fork", "input"):
                continue
            if self._is_recorded(at):
                yield dict(self._recorded(at))
            elif self.takes_input(at):
                yield dict(self._recorded(self.lineage.parent(at) or ""))
            elif (credited := self.credited(at)) is not None:
                yield _values(credited)
            else:
                return

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


def _task(write: TaskWrite) -> str:
    """What tells tasks apart; the ids that ``durability="exit"`` makes up don't."""
    return write.row.task_path if write.row.task_path.startswith("~~") else write.task_id
