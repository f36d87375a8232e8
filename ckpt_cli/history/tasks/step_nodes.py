"""Which nodes made each checkpoint (``log``, ``tree``), from its parent's writes; nodes called by Sends.

The tasks that made a checkpoint are found in the writes stored on its parent. A task's path names the task's node. In a
database without paths, a possible node is checked by recomputing the task's id. Metadata of old releases names the
nodes that had an output.
"""

from collections.abc import Sequence

from ckpt_cli.history.lineage import ids
from ckpt_cli.history.state import channels
from ckpt_cli.history.state.channels import CONTROL_WRITES, RETURN, START, TASKS
from ckpt_cli.history.tasks.metadata_writes import outputs_by_node
from ckpt_cli.history.tasks.task_ids import Place, caller, pulled, sent, trigger_sets
from ckpt_cli.history.tasks.write_attribution import WriteAttribution, path
from ckpt_cli.values.langgraph_values import js_send
from ckpt_cli.values.state import TaskWrite

_NO_OUTPUT = CONTROL_WRITES | {RETURN}
_EDGES_NAMED = 3  # the checkpoint format since which every edge is a channel that names its target


class StepNodes:
    """Names the nodes of one namespace, from as much of its metadata and writes as was read."""

    def __init__(self, attribution: WriteAttribution, ns: str = "") -> None:
        self.attribution = attribution
        self.ns = ns
        self._triggers = attribution.remembered(self._read_triggers)
        self._send_targets = attribution.remembered(self._read_send_targets)

    def nodes(self, checkpoint_id: str) -> dict[str, int]:
        """The nodes that made a checkpoint and how many tasks each had, in the order of their writes; {} if unknown.

        For an update, the node is the one given as ``as_node``, if it is recorded; an input has no node.
        """
        note = self.attribution.note(checkpoint_id)
        if note.source == "input":
            return {}
        outputs = outputs_by_node(note.outputs, note.source)
        if note.source == "update":
            return dict.fromkeys(outputs, 1)
        nodes = self._nodes_of_writes(checkpoint_id, next(iter(outputs)) if len(outputs) == 1 else "?")
        if set(nodes) <= {"?"}:
            return dict.fromkeys(outputs, 1) or ({START: 1} if self.attribution.takes_input(checkpoint_id) else {})
        return nodes

    def _nodes_of_writes(self, checkpoint_id: str, unnamed: str) -> dict[str, int]:
        """The nodes of the tasks whose writes made a checkpoint; a node that can't be named is called `unnamed`."""
        by_task: dict[str, list[TaskWrite]] = {}
        for write in self.attribution.credited(checkpoint_id) or ():
            if caller(path(write)) is None:
                by_task.setdefault(_task_key(write), []).append(write)
        nodes: dict[str, int] = {}
        for writes in by_task.values():
            if any(write.channel not in _NO_OUTPUT for write in writes):
                name = self.node(writes[0]) or unnamed
                nodes[name] = nodes.get(name, 0) + 1
        return nodes

    def node(self, write: TaskWrite) -> str | None:
        """The node of the task that wrote this; None if the node can't be known."""
        task_path = path(write)
        if task_path:
            index = sent(task_path)
            return pulled(task_path) if index is None else self._called_by_send(write, index)
        if self.attribution.note(write.row.checkpoint_id).source == "input":
            return None if self.attribution.is_entrypoint(write.row.checkpoint_id) else START
        return self._recomputed(write)

    def _packets(self, checkpoint_id: str) -> list[str | None]:
        """The nodes of the Sends that a checkpoint starts with, None for each Send whose value was not read."""
        written = [write for write in self.attribution.credited(checkpoint_id) or () if write.channel == TASKS]
        sends = [js_send(write.value) if write.read else None for write in written]
        return [send.node if send is not None else None for send in sends]

    def _called_by_send(self, write: TaskWrite, index: int) -> str | None:
        """The node that a Send called: read from the Send's value, else the Send target that gives the task's id."""
        packets = self._packets(write.row.checkpoint_id)
        name = packets[index] if index < len(packets) else None
        if name is not None:
            return name
        places, targets = self._places(write), self._send_targets
        fitting = (node for place in places for node in targets() if write.task_id in place.push(node, index))
        return next(fitting, None)

    def _places(self, write: TaskWrite) -> list[Place]:
        """The possible places where the task of a write started, one for each way in which ids may be computed.

        There are none if the step isn't known or the checkpoint's id is no uuid6.
        """
        checkpoint_id, javascript = write.row.checkpoint_id, write.task_id[14:15] == "5"
        step = self.attribution.note(checkpoint_id).step
        if step is None or not ids.is_uuid6(checkpoint_id):
            return []
        formats = (4, 1) if self.attribution.has_outputs else (4,)
        return [Place(checkpoint_id, self.ns, step + 1, v, javascript) for v in formats]

    def _read_send_targets(self) -> set[str]:
        """The nodes of all Sends that were read."""
        sends = [w for stored in self.attribution.writes.values() for w in stored if w.channel == TASKS and w.read]
        return {send.node for w in sends if (send := js_send(w.value)) is not None}

    def has_unnamed_sends(self, checkpoint_id: str) -> bool:
        """Whether a checkpoint was made by a Send whose node is unknown, because the Send's value was not read."""
        writes = self.attribution.credited(checkpoint_id) or ()
        return any(sent(path(write)) is not None and self.node(write) is None for write in writes)

    def _recomputed(self, write: TaskWrite) -> str | None:
        """The node whose task would have the id of this write's task; needed where no task path is stored.

        If no computed id is equal: the node that edges called, if there was only one such node and only one task.
        """
        checkpoint_id = write.row.checkpoint_id
        packets, places = self._packets(checkpoint_id), self._places(write)
        for place in places:
            if node := self._fitting(place, write.task_id, packets):
                return node
        called = self._called_by_edges(checkpoint_id) if places else []
        alone = not packets and len(self.attribution.tasks(checkpoint_id)) == 1
        return called[0] if len(called) == 1 and alone else None

    def _fitting(self, place: Place, task_id: str, packets: Sequence[str | None]) -> str | None:
        """The node whose task at this place would have this id; None if no known node fits."""
        for index, name in enumerate(packets):
            if name is not None and task_id in place.push(name, index):
                return name
        triggers_of = self._triggers()
        for node in dict.fromkeys([*self._called_by_edges(place.checkpoint_id), *triggers_of]):
            for triggers in trigger_sets(triggers_of.get(node, {f"branch:to:{node}"})):
                if task_id in place.pull(node, triggers):
                    return node
        return self._after(place, task_id) if place.v < _EDGES_NAMED else None

    def _after(self, place: Place, task_id: str) -> str | None:
        """The node that a plain edge of an old release started; such an edge has the name of its source node."""
        outputs = (outputs_by_node(note.outputs, note.source) for note in self.attribution.notes.values())
        nodes = dict.fromkeys(node for output in outputs for node in output)
        origins = self.nodes(place.checkpoint_id)
        return next((n for n in nodes for origin in origins if task_id in place.pull(n, (origin,))), None)

    def _called_by_edges(self, checkpoint_id: str) -> list[str]:
        """The nodes that the previous step called through edges; the channel of an edge contains the node's name."""
        writes = self.attribution.credited(checkpoint_id) or ()
        targets = (channels.target(write.channel) for write in writes)
        return list(dict.fromkeys(target for target in targets if target is not None))

    def _read_triggers(self) -> dict[str, set[str]]:
        """Node to the channels that trigger it, as far as these channels have writes that were read."""
        triggers: dict[str, set[str]] = {}
        for channel in {write.channel for stored in self.attribution.writes.values() for write in stored}:
            if (node := channels.target(channel)) is not None:
                triggers.setdefault(node, {f"branch:to:{node}"}).add(channel)
        return triggers


def _task_key(write: TaskWrite) -> str:
    """A key for a write's task: the task's id, or its path with ``durability="exit"``, where ids may be equal."""
    return write.row.task_path if write.row.task_path.startswith("~~") else write.task_id
