"""The node of each task that left writes on one checkpoint; the nodes that made it: `step_nodes`.

The first of these sources that shows the node is used: the task's path; its question or error handler
(`marked_nodes`); the task's id, which is recomputed for every possible node; the namespace in an interrupt (langgraph
0.2.60 to 0.5); the namespaces of subgraphs, which contain the id of the calling task. One due task and one recorded
task that are left over need not be the same: the recorded one may be a call whose failure its caller caught.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice
from uuid import UUID

from ckpt_cli.history.state import channels
from ckpt_cli.history.state.channels import END, INTERRUPT, PREVIOUS, RETURN, START, TASKS
from ckpt_cli.history.state.javascript import is_javascript
from ckpt_cli.history.tasks.answers import Below
from ckpt_cli.history.tasks.error_handlers import Handler, error_handlers
from ckpt_cli.history.tasks.marked_nodes import marked_nodes
from ckpt_cli.history.tasks.next_tasks import Due, Wiring, due_tasks
from ckpt_cli.history.tasks.possible_joins import possible_joins
from ckpt_cli.history.tasks.task_ids import Place, by_owner, caller, is_called, pulled, sent, trigger_sets, update_ids
from ckpt_cli.history.tasks.write_makers import is_update
from ckpt_cli.model import NULL_TASK
from ckpt_cli.values.langgraph_values import interrupts, items
from ckpt_cli.values.state import State, TaskWrite

_TRIES = 100_000  # ids computed for one checkpoint; a graph of fifty nodes needs a few thousand


class Names:
    """The nodes of the tasks recorded on one checkpoint, computed when they are needed.

    Args:
        joins: gives joins of other threads, which may be of other graphs; called only if a task's node is unknown.
        below: what is stored in the thread's subgraphs.
    """

    def __init__(
        self,
        state: State,
        writes: Sequence[TaskWrite],
        wiring: Wiring,
        namespaces: Callable[[], Iterable[str]] = tuple,
        joins: Callable[[], Iterable[str]] = tuple,
        below: Below | None = None,
    ) -> None:
        self._state = state
        self._wiring = wiring
        self._namespaces = namespaces
        self._joins = joins
        self._below = below
        self._place = place(state)
        self._writes: dict[str, list[TaskWrite]] = {}
        for write in writes:
            if write.task_id != NULL_TASK:
                self._writes.setdefault(write.task_id, []).append(write)
        self._paths = {i: min(own, key=is_update).row.task_path for i, own in self._writes.items()}

    def node(self, task_id: str | None) -> str | None:
        """The node of a recorded task; None if it can't be known, and for an update, which is no task."""
        if task_id is None or task_id not in self._writes:
            return None
        if task_id in self.handlers:
            return self.handlers[task_id].node
        by_path = pulled(self._paths[task_id])
        return by_path or self._by_mark.get(task_id) or self._by_id.get(task_id) or self._by_namespace(task_id)

    @cached_property
    def handlers(self) -> Mapping[str, Handler]:
        """The recorded tasks of error handlers, by task id. Each handles the failure of another task of this step."""
        return error_handlers(self._writes, self._place, lambda write: pulled(self._paths[write.task_id]))

    def of_this_step(self, task_id: str) -> bool:
        """Whether the step began with this task.

        False for a task that another task called, for an update, and for delta writes that are stored for a whole run.
        """
        place = self._place
        if is_called(self._paths[task_id]):
            return False
        return place is None or not (task_id in update_ids(place.checkpoint_id) or place.synthetic(task_id))

    def unmatched(self, due: Iterable[Due]) -> bool:
        """Whether a due node has no recorded task and a recorded task has no node.

        The task may be the node's; if so, more triggers will show this.
        """
        nodes, unnamed = self._by_node.keys(), self._by_node.get(None, ())
        missing = any(task.packet is None and task.node not in nodes for task in due if task.node)
        return missing and not all(map(self._is_call, unnamed))

    def task_of(self, due: Due) -> str | None:
        """The id of a due task: the recorded id, else the id that the task will have; None if both are unknown."""
        if due.packet is not None:
            return self._sent(due.node or "", due.packet)
        if due.node is None:
            return self.input_task(lambda: None)[0]
        recorded = self._by_node.get(due.node, [])
        expected = self._expected(due.node, due.fired)
        if expected in recorded or not recorded:
            return expected
        finished = [i for i in recorded if any(w.channel not in channels.CONTROL_WRITES for w in self._writes[i])]
        return (finished or recorded)[-1]

    @cached_property
    def _by_node(self) -> dict[str | None, list[str]]:
        """Node to the recorded tasks of this step that are its tasks; None to those whose node isn't known."""
        by_node: dict[str | None, list[str]] = {}
        for task_id in self._of_this_step:
            by_node.setdefault(self.node(task_id), []).append(task_id)
        return by_node

    @cached_property
    def _of_this_step(self) -> list[str]:
        return [task_id for task_id in self._writes if self.of_this_step(task_id)]

    @cached_property
    def _by_send(self) -> dict[int | None, str]:
        """The index of a Send to the first recorded task whose path has this index."""
        return {sent(self._paths[task_id]): task_id for task_id in reversed(self._of_this_step)}

    def _sent(self, node: str, index: int) -> str | None:
        ids = list(self._place.push(node, index)) if self._place else []
        if (recorded := next((i for i in ids if i in self._writes), None)) is not None:
            return recorded
        if index in self._by_send and self.node(self._by_send[index]) in (None, node):  # else a goto's Send replaced it
            return self._by_send[index]
        return ids[0] if ids and self._recipe_known else None

    def _entrypoint(self) -> str | None:
        """The task that took the input: a StateGraph's ``__start__``, or an entrypoint, which called all others."""
        recorded = self.entrypoints()
        return recorded[0] if len(recorded) == 1 else None

    def entrypoints(self) -> list[str]:
        """The recorded tasks that may be the one that took the input; without paths, a failed call is one of them."""
        recorded = self._of_this_step
        ends = [i for i in recorded if any(w.channel in (END, PREVIOUS) for w in self._writes[i])]
        return ends or [i for i in recorded if all(w.channel != RETURN for w in self._writes[i])]

    def input_task(self, earlier: Callable[[], str | None]) -> tuple[str | None, str | None]:
        """The id and the node of the task that takes the input, if `versions_seen` doesn't show them.

        The task's own writes show the node, its finished calls, or a subgraph that it called; else `earlier` may.
        """
        if (task_id := self._entrypoint()) is not None and (node := self.node(task_id)):
            return task_id, node
        node = self.input_taker or earlier()
        return task_id or (self._input_id(node) if node else None), node

    @cached_property
    def input_taker(self) -> str | None:
        """The node that takes the input, as the writes or namespaces of this checkpoint show it."""
        by_call = (caller(path) for path in self._paths.values())
        named = self.node(self._entrypoint()) or next(filter(None, by_call), None)
        return named or next((node for i, node in self._called.items() if i == self._input_id(node)), None)

    def _input_id(self, node: str) -> str | None:
        return next(self._place.pull(node, [START])) if self._place and self._recipe_known else None

    @property
    def _recipe_known(self) -> bool:
        """Whether the way in which the release computed task ids is known.

        In format `v` 1 this way is only known since langgraph 0.2.28. Channel versions show these releases: they have a
        random part after ``.0.``.
        """
        version = next(iter(self._state.versions.values()), None)
        return self._state.v > 1 or (isinstance(version, str) and ".0." in version)

    def _expected(self, node: str, fired: Sequence[str]) -> str | None:
        if self._place is None or not self._recipe_known:
            return None
        return next(self._place.pull(node, self._all_triggers(node) if self._state.v > 1 else sorted(fired)))

    def _all_triggers(self, node: str) -> list[str]:
        """Every trigger of a node; since format `v` 2, a StateGraph's node is also triggered by ``branch:to:NODE``."""
        triggers = set(self._wiring.triggers.get(node, ()))
        if self._state.v < 2 or START in triggers or (self._place is not None and self._place.javascript):
            return sorted(triggers)
        of_state_graph = self._state.v == 2 or any(map(channels.any_target, triggers))
        return sorted(triggers | ({f"branch:to:{node}"} if of_state_graph else set()))

    @cached_property
    def _by_id(self) -> dict[str, str]:
        """Recorded task id to the node whose recomputed id it is."""
        named = self.handlers.keys() | self._by_mark.keys()
        unnamed = {i for i in self._of_this_step if pulled(self._paths[i]) is None and i not in named}
        nodes: dict[str, str] = {}
        if self._place is None or not unnamed:
            return nodes
        guessed = self._ids_with_joins(self._place, unnamed, nodes)
        for task_id, node in islice(chain(self._possible_ids(self._place), guessed), _TRIES):
            if task_id in unnamed:
                nodes[task_id] = node
                if len(nodes) == len(unnamed):
                    break
        return nodes

    def _possible_ids(self, place: Place) -> Iterator[tuple[str, str]]:
        """Every id that a task could have here, each with the node of the task; those of due tasks come first.

        There are as many due tasks as the checkpoint has Sends and set channels. All ids together may be as many as the
        product of nodes and Sends.
        """
        yield from self._due_ids(place)
        edge_channels = [c for c in self._state.values if channels.is_edge(c, self._state)]
        packets = len(items(self._state.values.get(TASKS)) or []) + len(self._state.sends)
        for node in self._nodes():
            for triggers in trigger_sets({*self._all_triggers(node), f"branch:to:{node}"}, edge_channels):
                yield from ((task_id, node) for task_id in place.pull(node, triggers))
            for index in range(packets):
                yield from ((task_id, node) for task_id in place.push(node, index))

    def _ids_with_joins(
        self, place: Place, unnamed: Iterable[str], found: Mapping[str, str]
    ) -> Iterator[tuple[str, str]]:
        """The ids that due tasks have if joins trigger their nodes to which nobody has written yet.

        They are computed for nodes without a recorded task, if a task is left that may be theirs; a call isn't.
        """
        if place.javascript or self._state.v < 2 or all(i in found or self._is_call(i) for i in unnamed):
            return
        named = {pulled(self._paths[i]) for i in self._of_this_step} | {*found.values(), *self._by_mark.values()}
        written = filter(None, (channels.any_target(w.channel) for own in self._writes.values() for w in own))
        names = {*self._nodes(), *written} - {START, END}
        for due in due_tasks(self._state, self._wiring):
            if due.packet is None and due.node is not None and due.node not in {START, *named}:
                known = self._all_triggers(due.node)
                for joins in possible_joins(due.node, self._joins(), names):
                    yield from ((task_id, due.node) for task_id in place.pull(due.node, sorted({*known, *joins})))

    def _is_call(self, task_id: str) -> bool:
        """Whether a task returned a value to the task that called it."""
        return any(write.channel == RETURN for write in self._writes[task_id])

    def _due_ids(self, place: Place) -> Iterator[tuple[str, str]]:
        for due in due_tasks(self._state, self._wiring):
            if due.packet is not None:
                yield from ((task_id, due.node or "") for task_id in place.push(due.node or "", due.packet))
            elif due.node is not None:
                yield from ((task_id, due.node) for task_id in place.pull(due.node, self._all_triggers(due.node)))

    def _nodes(self) -> list[str]:
        """Every name that a node may have.

        The name of a join contains its source nodes. Before format `v` 3, a node wrote to a channel with its own name.
        """
        written = {w.channel for writes in self._writes.values() for w in writes}
        sources = (source for channel in written for source in channels.sources(channel))
        return list(dict.fromkeys([START, *self._wiring.triggers, *sources, *(written if self._state.v < 3 else ())]))

    @cached_property
    def _by_mark(self) -> dict[str, str]:
        """Recorded task without a path to the node that `marked_nodes` finds."""
        unnamed = {i: self._writes[i] for i in self._of_this_step if not self._paths[i] and i not in self.handlers}
        if self._place is None or not unnamed:
            return {}
        return marked_nodes(unnamed, self.handlers, self._place, self._nodes(), self._in_memory)

    def _in_memory(self, ns: str) -> Sequence[TaskWrite]:
        return self._below.writes(ns) if self._below is not None and ns in self._namespaces() else ()

    def _by_namespace(self, task_id: str) -> str | None:
        questions = [i for w in self._writes[task_id] if w.channel == INTERRUPT and w.read for i in interrupts(w.value)]
        asking = by_owner(part for i in questions for part in i.ns or ())
        return asking.get(task_id) or self._called.get(task_id)

    @cached_property
    def _called(self) -> dict[str, str]:
        return by_owner(part for ns in self._namespaces() for part in ns.split("|"))


def place(state: State) -> Place | None:
    """The `Place` where a checkpoint's tasks start; None if its id is no UUID, so that no task ids can be computed.

    langgraph 0.0 has such checkpoints.
    """
    try:
        UUID(state.ref.checkpoint_id)
    except ValueError:
        return None
    step = state.step if state.step is not None else -1
    return Place(state.ref.checkpoint_id, state.ref.ns, step + 1, state.v, is_javascript(state))
