"""Which nodes made each checkpoint of a namespace.

The tasks of a step stand in the writes of its parent. A task's path names its node; where a database has none, a node
that is thought of is checked by recomputing its task's id, and metadata of old releases names those with an output.
"""

from collections.abc import Mapping, Sequence

from ckpt_cli.history.lineage import ids
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.state import channels
from ckpt_cli.history.state.channels import CONTROL_WRITES, RETURN, START, TASKS
from ckpt_cli.history.tasks.metadata_writes import outputs_by_node
from ckpt_cli.history.tasks.task_ids import Place, caller, pulled, sent, trigger_sets
from ckpt_cli.history.tasks.write_attribution import Credit, Note, path
from ckpt_cli.values.known import js_send
from ckpt_cli.values.state import TaskWrite

_NO_MAKING = CONTROL_WRITES | {RETURN}
_EDGES_NAMED = 3  # the checkpoint format since which every edge is a channel that names its target


class Makers(Credit):
    """Names the nodes of one namespace, from as much of its metadata and writes as was read."""

    def __init__(self, lineage: Lineage, ns: str = "") -> None:
        super().__init__(lineage)
        self.ns = ns
        self.told = False
        """Whether metadata records what nodes gave, as releases up to 0.4 do."""
        self._triggers: dict[str, set[str]] | None = None
        self._targets: set[str] | None = None

    def fill(self, notes: Mapping[str, Note], writes: Mapping[str, list[TaskWrite]]) -> None:
        """Take in metadata and writes; see `Credit.fill`."""
        super().fill(notes, writes)
        self._triggers = self._targets = None
        self.told = self.told or any(told.outputs is not None for told in notes.values())

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
            return pulled(where) if index is None else self._called(write, index)
        if self.note(write.row.checkpoint_id).source == "input":
            return None if self.is_entrypoint(write.row.checkpoint_id) else START
        return self._recomputed(write)

    def _packets(self, checkpoint_id: str) -> list[str | None]:
        """The nodes of the Sends that a checkpoint starts with, None for those whose value was not read."""
        written = [write for write in self.credited(checkpoint_id) or () if write.channel == TASKS]
        known = [js_send(write.value) if write.read else None for write in written]
        return [packet.node if packet is not None else None for packet in known]

    def _called(self, write: TaskWrite, index: int) -> str | None:
        """The node that a Send called: its own value tells, or the task's id, tried with every node that is sent to."""
        packets = self._packets(write.row.checkpoint_id)
        name = packets[index] if index < len(packets) else None
        if name is not None:
            return name
        fitting = (n for place in self._places(write) for n in self._sent_to() if write.task_id in place.push(n, index))
        return next(fitting, None)

    def _places(self, write: TaskWrite) -> list[Place]:
        """Where its task started, in the ways that ids were made from it; none where that isn't known."""
        checkpoint_id, javascript = write.row.checkpoint_id, write.task_id[14:15] == "5"
        step = self.note(checkpoint_id).step
        if step is None or not ids.is_uuid6(checkpoint_id):
            return []
        return [Place(checkpoint_id, self.ns, step + 1, v, javascript) for v in ((4, 1) if self.told else (4,))]

    def _sent_to(self) -> set[str]:
        """The nodes of all Sends that were read."""
        if self._targets is None:
            sends = [w for kept in self.writes.values() for w in kept if w.channel == TASKS and w.read]
            self._targets = {known.node for w in sends if (known := js_send(w.value)) is not None}
        return self._targets

    def called(self, checkpoint_id: str) -> bool:
        """Whether a checkpoint was made by Sends whose nodes are not known, for want of their values."""
        writes = self.credited(checkpoint_id) or ()
        return any(sent(path(write)) is not None and self.node(write) is None for write in writes)

    def _recomputed(self, write: TaskWrite) -> str | None:
        """The node whose task would have this id: databases without task paths tell it no other way."""
        checkpoint_id = write.row.checkpoint_id
        packets, places = self._packets(checkpoint_id), self._places(write)
        for place in places:
            if found := self._fitting(place, write.task_id, packets):
                return found
        due = self._due(checkpoint_id) if places else []
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


def _task(write: TaskWrite) -> str:
    """What tells tasks apart; the ids that ``durability="exit"`` makes up don't."""
    return write.row.task_path if write.row.task_path.startswith("~~") else write.task_id
