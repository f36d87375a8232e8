"""Which nodes made each checkpoint (``log``, ``tree``), from its parent's writes; nodes called by Sends.

The tasks that made a checkpoint are found in the writes stored on its parent. A task's path names the task's node. In a
database without paths, a possible node is checked by recomputing the task's id; interrupts (langgraph 0.2.60 to 0.5)
and the namespaces of subgraphs contain the node and the id of their task. Metadata of old releases names the nodes that
had an output.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from ckpt_cli.history.lineage import ids
from ckpt_cli.history.state import channels
from ckpt_cli.history.state.channels import CONTROL_WRITES, ERROR, INTERRUPT, RETURN, START
from ckpt_cli.history.tasks.error_handlers import Handler, error_handlers
from ckpt_cli.history.tasks.metadata_writes import outputs_by_node
from ckpt_cli.history.tasks.possible_nodes import PossibleNodes
from ckpt_cli.history.tasks.seen_nodes import is_first, left_out, nodes_by_seen
from ckpt_cli.history.tasks.sent_nodes import ReadState, SentNodes
from ckpt_cli.history.tasks.task_ids import PULL, PUSH, Place, PossibleIds, handler_path, pulled, sent, trigger_sets
from ckpt_cli.history.tasks.unstored_results import UnstoredResults
from ckpt_cli.history.tasks.write_attribution import WriteAttribution
from ckpt_cli.history.tasks.write_makers import is_call, is_command, path
from ckpt_cli.values.langgraph_values import interrupts
from ckpt_cli.values.state import State, TaskWrite

_NO_OUTPUT = CONTROL_WRITES | {RETURN}
_EDGES_NAMED = 3  # the checkpoint format since which every edge is a channel that names its target


class StepNodes:
    """Names the nodes of one namespace, from as much of its metadata and writes as was read.

    Args:
        namespaces: gives the thread's namespaces; called only if a task's node is still unknown.
        read_state: gives the decoded checkpoint with an id; called only for the Sends of updates.
    """

    def __init__(
        self,
        attribution: WriteAttribution,
        ns: str = "",
        namespaces: Callable[[], Iterable[str]] = tuple,
        read_state: ReadState = lambda _: None,
    ) -> None:
        self.attribution = attribution
        self.ns = ns
        self._namespaces = namespaces
        self._names = PossibleNodes(attribution)
        self._by_seen: dict[str, dict[str, int]] = {}
        self._traceless: dict[str, list[str]] = {}
        self.handlers = attribution.remembered(self._read_handlers)
        """Gives the tasks of error handlers at a checkpoint, by task id."""
        self.sends = SentNodes(attribution, self._names, self._places, read_state)
        self._called_by_edges = attribution.remembered(self._read_called_by_edges)
        self._possible_ids = attribution.remembered(self._compute_possible_ids)
        self.nodes = attribution.remembered(self._nodes)
        """Gives the nodes that made a checkpoint and how many tasks each had, by its id; see `_nodes`."""
        self.unstored_results = UnstoredResults(attribution, self.handlers, self.node, self.sends.packets)
        attribution.path_of = self.path_of

    def learn(self, state: State) -> None:
        """Learn possible nodes from a decoded checkpoint."""
        self._names.learn(state)

    def forget(self) -> None:
        """Drop the metadata and writes that were read; the names of possible nodes are kept."""
        self._by_seen.clear()
        self._traceless.clear()
        self._names.forget()

    def learn_step(self, state: State, before: State | None) -> None:
        """Learn from two decoded checkpoints which nodes made the newer one; see `nodes_by_seen`."""
        if ran := nodes_by_seen(state, before):
            self._by_seen[state.ref.checkpoint_id] = ran
            self.attribution.fill({}, {})

    def learn_traceless(self, state: State, before: State | None) -> None:
        """Learn from two decoded checkpoints which nodes ran in the step between them and left nothing."""
        known, results = self.nodes(state.ref.checkpoint_id), self.unstored_results
        lost = results.lost_sends(state.ref.checkpoint_id)
        traceless = [one for one in results.between(before, state) if one not in known]
        traceless += [one for one in lost.names if one not in lost.ran and is_first(one, state, before)]
        if traceless:
            self._traceless[state.ref.checkpoint_id] = traceless
            self.attribution.fill({}, {})

    def learn_left_out(self, state: State, before: State) -> None:
        """Learn from two decoded checkpoints which writes that are stored on the older one aren't in the newer one."""
        checkpoint_id = state.ref.checkpoint_id
        if state.source != "loop" or not (stored := self.attribution.writes.get(before.ref.checkpoint_id)):
            return
        if absent := left_out(state, before, stored):
            self.attribution.left_out[checkpoint_id] = absent
            self.attribution.fill({}, {})

    def is_unnamed(self, checkpoint_id: str) -> bool:
        """Whether a run made a checkpoint, and some node of it is unknown."""
        nodes = self.nodes(checkpoint_id)
        return self.attribution.note(checkpoint_id).source in ("loop", "") and (not nodes or "?" in nodes)

    def _nodes(self, checkpoint_id: str) -> dict[str, int]:
        """The nodes that made a checkpoint and how many tasks each had, in the order of their writes; {} if unknown.

        For an update, the node is the one given as ``as_node``, if it is recorded; an input has no node. The nodes of
        the last of several steps that were stored as one checkpoint are unknown.
        """
        note = self.attribution.note(checkpoint_id)
        if note.source == "input" or self.attribution.spans_steps(checkpoint_id):
            return {}
        outputs = outputs_by_node(note.outputs, note.source)
        if note.source == "update":
            return dict.fromkeys(outputs, 1)
        nodes = self._nodes_of_writes(checkpoint_id, next(iter(outputs)) if len(outputs) == 1 else "?")
        if set(nodes) <= {"?"} and checkpoint_id in self._by_seen:
            return self._by_seen[checkpoint_id]
        if set(nodes) <= {"?"}:
            return dict.fromkeys(outputs, 1) or ({START: 1} if self.attribution.takes_input(checkpoint_id) else {})
        return nodes

    def _nodes_of_writes(self, checkpoint_id: str, unnamed: str) -> dict[str, int]:
        """The nodes of the tasks whose writes made a checkpoint; a node that can't be named is called `unnamed`."""
        by_task: dict[str, list[TaskWrite]] = {}
        for write in self.attribution.credited(checkpoint_id) or ():
            if not is_command(write):
                by_task.setdefault(_task_key(write), []).append(write)
        nodes: dict[str, int] = {}
        for writes in by_task.values():
            if not is_call(writes) and any(write.channel not in _NO_OUTPUT for write in writes):
                name = self.node(writes[0]) or unnamed
                nodes[name] = nodes.get(name, 0) + 1
        late, lost = self.unstored_results.late(checkpoint_id), self.unstored_results.lost_sends(checkpoint_id).ran
        for name in (*late, *self._traceless.get(checkpoint_id, ()), *lost):
            nodes[name] = nodes.get(name, 0) + 1
        return nodes

    def node(self, write: TaskWrite) -> str | None:
        """The node of the task that wrote this; None if the node can't be known."""
        if handler := self.handlers(write.row.checkpoint_id).get(write.task_id):
            return handler.node
        return self._node_without_handlers(write)

    def _node_without_handlers(self, write: TaskWrite) -> str | None:
        task_path = path(write)
        if task_path:
            index = sent(task_path)
            if index is None:
                return pulled(task_path)
            return self.sends.node(write, index) or self._by_own_names(write)
        checkpoint_id = write.row.checkpoint_id
        if self.attribution.note(checkpoint_id).source == "input" and not self._is_entrypoint(write):
            return START
        return self._recomputed(write) or self._by_own_names(write)

    def _read_handlers(self, checkpoint_id: str) -> dict[str, Handler]:
        """The tasks of error handlers at a checkpoint, by task id."""
        sources = [w for w in self.attribution.writes.get(checkpoint_id, ()) if w.channel == channels.ERROR_SOURCE]
        start = next((place for write in sources for place in self._places(write)), None)
        tasks = self.attribution.unsorted_tasks(checkpoint_id) if sources else {}
        return error_handlers(tasks, start, self._node_without_handlers)

    def path_of(self, write: TaskWrite) -> str | None:
        """The path of the task that wrote this: as stored, else computed from the task's node; None if it's unknown."""
        if stored := path(write):
            return stored
        if handler := self.handlers(write.row.checkpoint_id).get(write.task_id):
            failed = self.attribution.unsorted_tasks(write.row.checkpoint_id)[handler.failed][0]
            return handler_path(self.path_of(failed))
        pushed = self.sends.pushed(write.row.checkpoint_id).get(write.task_id)
        if pushed is not None:
            return f"~{PUSH}, {pushed[1]:010d}"
        node = self.node(write)
        return None if node is None else f"~{PULL}, {node}"

    def _is_entrypoint(self, write: TaskWrite) -> bool:
        """Whether the task that wrote this on an input is an entrypoint: ``__start__`` never fails or asks."""
        own = self.attribution.by_task(write.row.checkpoint_id).get(write.task_id, ())
        asked_or_failed = any(one.channel in (ERROR, INTERRUPT) for one in own)
        return asked_or_failed or self.attribution.is_entrypoint(write.row.checkpoint_id)

    def _by_own_names(self, write: TaskWrite) -> str | None:
        """The node that its interrupts, or the namespace of the subgraph that it called, name beside the task's id."""
        own = self.attribution.by_task(write.row.checkpoint_id).get(write.task_id, ())
        asked = (one.value for one in own if one.channel == INTERRUPT and one.read)
        for part in (part for value in asked for one in interrupts(value) for part in one.ns or ()):
            node, _, owner = part.rpartition(":")
            if node and owner == write.task_id:
                return node
        return self._callers.get(write.task_id)

    @cached_property
    def _callers(self) -> dict[str, str]:
        """The id of each task that called a subgraph: to the task's node."""
        callers: dict[str, str] = {}
        for part in (part for ns in self._namespaces() for part in ns.split("|")):
            node, _, owner = part.rpartition(":")
            if node:
                callers.setdefault(owner, node)
        return callers

    def _places(self, write: TaskWrite, *, javascript: bool | None = None) -> list[Place]:
        """The possible places where the task of a write started, one for each way in which ids may be computed.

        There are none if the step isn't known or the checkpoint's id is no uuid6.
        """
        checkpoint_id = write.row.checkpoint_id
        javascript = write.task_id[14:15] == "5" if javascript is None else javascript
        step = self.attribution.note(checkpoint_id).step
        if step is None or not ids.is_uuid6(checkpoint_id):
            return []
        formats = (4, 1) if self.attribution.has_outputs else (4,)
        return [Place(checkpoint_id, self.ns, step + 1, v, javascript) for v in formats]

    def has_unnamed_sends(self, checkpoint_id: str) -> bool:
        """Whether a checkpoint was made by a Send whose node is unknown, because the Send's value was not read.

        Also of a Send that left no writes.
        """
        writes = self.attribution.credited(checkpoint_id) or ()
        if self.unstored_results.lost_sends(checkpoint_id).is_unread:
            return True
        return any(sent(path(write)) is not None and self.node(write) is None for write in writes)

    def _recomputed(self, write: TaskWrite) -> str | None:
        """The node whose task would have the id of this write's task; needed where no task path is stored.

        If no computed id is equal: the node that edges called, if there was only one such node and only one task.
        """
        checkpoint_id, places = write.row.checkpoint_id, self._places(write)
        pushed = self.sends.pushed(checkpoint_id)
        if write.task_id in pushed:
            return pushed[write.task_id][0]
        for place in places:
            if node := self._possible_ids(place).find(write.task_id):
                return node
        called = self._called_by_edges(checkpoint_id) if places else []
        alone = not self.sends.packets(checkpoint_id) and len(self.attribution.unsorted_tasks(checkpoint_id)) == 1
        return called[0] if len(called) == 1 and alone else None

    def _compute_possible_ids(self, place: Place) -> PossibleIds:
        return PossibleIds(self._ids_at(place))

    def _ids_at(self, place: Place) -> Iterator[tuple[str, str]]:
        """Every id that a task may have that no Send started here, each with the task's node; the likely ones first."""
        triggers_of = self._names.triggers()
        for node in dict.fromkeys([*self._called_by_edges(place.checkpoint_id), *triggers_of]):
            for triggers in trigger_sets(triggers_of.get(node, {f"branch:to:{node}"})):
                yield from ((task_id, node) for task_id in place.pull(node, triggers))
        for node in self._names.outputs() if self.attribution.is_entrypoint(place.checkpoint_id) else ():
            yield from ((task_id, node) for task_id in place.pull(node, (START,)))
        if place.v < _EDGES_NAMED:
            yield from self._ids_after(place)

    def _ids_after(self, place: Place) -> Iterator[tuple[str, str]]:
        """The ids of nodes that plain edges of old releases started; such an edge has the name of its source node."""
        written = {write.channel for write in self.attribution.writes.get(place.checkpoint_id, ())}
        joined = (source for channel in sorted(written) for source in channels.sources(channel))
        nodes = dict.fromkeys([*self._names.outputs(), *self._names.seen, *joined])
        for origin in self.nodes(place.checkpoint_id) if place.checkpoint_id in self.attribution.lineage else ():
            yield from ((task_id, node) for node in nodes for task_id in place.pull(node, (origin,)))

    def _read_called_by_edges(self, checkpoint_id: str) -> list[str]:
        """The nodes that the previous step called through edges; the channel of an edge contains the node's name."""
        targets = (channels.any_target(write.channel) for write in self.sends.starting_writes(checkpoint_id))
        return list(dict.fromkeys(target for target in targets if target is not None))


def _task_key(write: TaskWrite) -> str:
    """A key for a write's task: the task's id, or its path with ``durability="exit"``, where ids may be equal."""
    return write.row.task_path if write.row.task_path.startswith("~~") else write.task_id
