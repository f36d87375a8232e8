"""What the recorded steps of one thread show: reducers, routes, deferred nodes."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ckpt_cli.history.reducers import delta
from ckpt_cli.history.reducers.agreement import is_empty
from ckpt_cli.history.reducers.early_values import NO_EARLY, Early
from ckpt_cli.history.reducers.learning import Tally
from ckpt_cli.history.reducers.reducers import ABSENT, ChannelStep
from ckpt_cli.history.state import delta_counters
from ckpt_cli.history.state.channels import (
    ABORTED,
    CONTROL_WRITES,
    END,
    ERROR,
    NO_WRITES,
    NOT_NODES,
    PREVIOUS,
    RETURN,
    START,
    TASKS,
    is_control,
    is_snapshot,
    target,
    user_channels,
)
from ckpt_cli.history.tasks.next_tasks import Wiring, due_tasks
from ckpt_cli.history.tasks.pending_goto import goto_writes
from ckpt_cli.history.tasks.task_ids import pulled
from ckpt_cli.history.tasks.write_makers import is_command, is_of_run
from ckpt_cli.plans.same_graph import Outputs, Shapes
from ckpt_cli.plans.superstep import is_deferred
from ckpt_cli.values.langgraph_values import overwrite, send
from ckpt_cli.values.state import State, TaskWrite

Route = tuple[tuple[str, str], ...]
"""The writes of a task to control channels, each with its value or, for a Send, with the called node."""

NO_LISTS: Mapping[str, Any] = MappingProxyType({})

_NOT_APPLIED = CONTROL_WRITES | {RETURN}


@dataclass(slots=True)
class ThreadHistory:
    """The facts about a graph that the recorded steps of a thread show.

    Attributes:
        tallies: user's channel to the evidence about its reducer.
        routes: node to the routes that its runs took, and how often.
        doubtful: node to the routes of those runs that failed too, as where a conditional edge raised and led nowhere.
        outputs: node to the sets of the user's channels that its runs wrote to.
        deferred: nodes that were seen to wait until all other nodes had finished.
        undeferred: nodes that were seen not to.
        deltas: delta channel to the fewest updates after which it was stored whole; 0 if that was never seen.
        nodes: the nodes that ran, those that failed, those whose step hasn't ended, and those that were called.
        channels: the user's channels that hold something in some checkpoint, or that some task or update wrote to.
        inputs: those of them that ``__start__`` wrote: they are in the graph's input schema.
        ignored_inputs: keys of inputs that ``__start__`` did not write: they were not in the graph's input schema.
        started: the thread got its input through the channel `__start__`, as a StateGraph does.
        has_triggers: some channel triggers a node by its name (``branch:to:NODE``), as only a StateGraph has it.
        of_state_graph: nothing shows that the graph is not a StateGraph.
        shapes: the graph as the checkpoints show it.
    """

    tallies: dict[str, Tally] = field(default_factory=dict)
    routes: dict[str, Counter[Route]] = field(default_factory=dict)
    doubtful: dict[str, Counter[Route]] = field(default_factory=dict)
    outputs: Outputs = field(default_factory=dict)
    deferred: set[str] = field(default_factory=set)
    undeferred: set[str] = field(default_factory=set)
    deltas: dict[str, int] = field(default_factory=dict)
    nodes: set[str] = field(default_factory=set)
    channels: set[str] = field(default_factory=set)
    inputs: set[str] = field(default_factory=set)
    ignored_inputs: set[str] = field(default_factory=set)
    started: bool = False
    has_triggers: bool = False
    of_state_graph: bool = True
    shapes: Shapes = field(default_factory=Shapes)

    def add_checkpoint(self, state: State) -> None:
        """Add the facts that one checkpoint shows by itself."""
        self.shapes.add(state)
        self.nodes.update(node for node in state.seen if node not in NOT_NODES)
        self.nodes.update(node for node in map(target, state.versions) if node and node not in NOT_NODES)
        self.channels.update(user_channels(state))
        self.started = self.started or START in state.versions
        self.has_triggers = self.has_triggers or any(map(target, state.versions))
        listeners = {node for node, versions in state.seen.items() if START in versions}
        if PREVIOUS in state.versions or END in state.versions or listeners - NOT_NODES - {START}:
            self.of_state_graph = False
        for channel in sorted(delta.marked(state)):
            self.deltas.setdefault(channel, 0)
        for channel, value in state.values.items():
            if (node := target(channel)) is None:
                continue
            if not is_deferred(value):
                self.undeferred.add(node)
            elif channel.startswith("join:") or state.source in ("loop", "input"):
                self.deferred.add(node)  # other sources: ckpt may have stored the pair for a node it didn't know

    def leave_out_plain(self, state: State) -> None:
        """Leave out the delta channels of which a step's start stores a plain value, and no count of updates.

        They were delta channels before, or became some since. Either kind reads a plain value in a new checkpoint, and
        an ordinary channel reads nothing else (langgraph-checkpoint 4.3 ``base/__init__.py``: a plain value is a seed).
        """
        for channel in self.deltas.keys() & state.values.keys() - delta.marked(state):
            del self.deltas[channel]

    def is_deferred(self, node: str) -> bool | None:
        """Whether a node waits until all others have finished; None if no checkpoint shows it, or they don't agree.

        They don't where the application was changed. LangGraph can't load what is stored for a node of the other kind.
        """
        if node in self.undeferred:
            return None if node in self.deferred else False
        return True if node in self.deferred else None

    def add_step(
        self,
        parent: State,
        child: State,
        writes: Collection[tuple[str | None, TaskWrite]],
        early_before: Mapping[str, Any] = NO_LISTS,
        early: Early = NO_EARLY,
        *,
        hidden: Collection[str] = (),
        partial: bool = False,
    ) -> None:
        """Add a recorded step.

        Args:
            parent: the state in which it began.
            child: the state that it made.
            writes: the writes that made it in order, each with the node of its task.
            early_before: the lists in the parent that have items of later steps, without them; see `early_values`.
            early: those in the child.
            hidden: channels about which it shows nothing.
            partial: not all its writes may be stored.
        """
        by_channel: dict[str, list[TaskWrite]] = {}
        by_command: dict[str, list[TaskWrite]] = {}
        for _, write in writes:
            if is_command(write):
                if child.versions.get(write.channel) != parent.versions.get(write.channel):
                    by_command.setdefault(write.channel, []).append(write)
            elif write.channel not in _NOT_APPLIED:
                by_channel.setdefault(write.channel, []).append(write)
        self.add_tasks(parent, writes)
        self.add_routes(parent, writes)
        began = parent._replace(values={**parent.values, **early_before}) if early_before else parent
        early = early.without({c for c in early.unproved if c in self.tallies and not self.tallies[c].may_extend})
        made = child._replace(values={**child.values, **early.lists}) if early.lists else child
        self._tally(began, made, by_channel, by_command, early.unproved.union(hidden), partial=partial)

    def add_tasks(self, state: State, writes: Collection[tuple[str | None, TaskWrite]]) -> None:
        """Add the nodes and channels of tasks that started at a checkpoint, whether or not their step ended."""
        ran = {node for node, _ in writes if node is not None and node not in NOT_NODES}
        self.nodes.update(ran)
        self.undeferred.update(_started_by_goto([write for _, write in writes], state) & ran)
        written = {write.channel for _, write in writes} - _NOT_APPLIED - {NO_WRITES}
        self.channels.update(channel for channel in written if not is_control(channel, state))
        self.inputs.update(write.channel for node, write in writes if node == START)
        taken = {write.channel for _, write in writes if pulled(write.row.task_path) == START}  # by no update
        if taken - _NOT_APPLIED and isinstance(given := state.values.get(START), dict):
            self.ignored_inputs.update(key for key in given if isinstance(key, str) and key not in taken)

    def add_routes(
        self, state: State, writes: Collection[tuple[str | None, TaskWrite]], *, is_tip: bool = False
    ) -> None:
        """Add the routes of the tasks that started at a checkpoint and finished, whether or not their step ended.

        A task that asked or failed and has other writes finished when it ran again; or its conditional edge raised,
        and its route lacks where that would have led. If no checkpoint followed, `is_tip`, an empty route isn't
        counted, else it is a doubtful one: a run that goes on from there takes no edge.
        What ``durability="exit"`` stores of a task has neither its edges nor all its channels; an aborted task of
        LangGraph.js may lack its edges.
        """
        failed = {write.task_id for _, write in writes if write.channel == ERROR}
        aborted = {write.task_id for _, write in writes if write.channel == ABORTED}
        by_task: dict[str, tuple[str | None, list[tuple[str, str]], set[str]]] = {}
        for node, write in writes:
            if write.channel not in _NOT_APPLIED and not is_command(write) and not is_of_run(write):
                _, route, channels = by_task.setdefault(write.task_id, (node, [], set()))
                if write.channel == NO_WRITES:
                    continue
                if is_control(write.channel, state):
                    is_new = write.channel == TASKS or write.channel not in dict(route)  # an edge, and a goto there too
                    route += [_hop_of(write)] * is_new
                else:
                    channels.add(write.channel)
        for task_id, (node, route, channels) in by_task.items():
            if node is not None:
                if task_id not in aborted and (route or task_id not in failed or not is_tip):
                    for routes in (self.routes, self.doubtful) if task_id in failed else (self.routes,):
                        count_route(routes.setdefault(node, Counter()), tuple(route))
                self.outputs.setdefault(node, set()).add(frozenset(channels))

    def add_update(self, parent: State, child: State, writes: Collection[TaskWrite]) -> None:
        """Add the step that ``update_state`` made by these writes."""
        by_channel: dict[str, list[TaskWrite]] = {}
        for write in writes:
            if write.channel not in _NOT_APPLIED and not is_control(write.channel, parent):
                by_channel.setdefault(write.channel, []).append(write)
        self.channels.update(by_channel)
        for channel in by_channel.keys() - self.deltas.keys():
            self._learn(channel, parent, child, by_channel[channel])

    def add_emptied(self, parent: State, child: State, written: Collection[str]) -> None:
        """Add the channels that an input over unfinished tasks, or an update, emptied.

        Both notify channels that aren't written of a new step (langgraph 1.2 ``pregel/_algo.py: apply_writes``). One
        that kept its value shows nothing: an input may come where no task is due, and ckpt's own updates keep
        what they don't know.
        """
        for channel, before in parent.values.items():
            if channel in written or channel in self.deltas or is_control(channel, parent):
                continue
            after, has_moved = (
                child.values.get(channel, ABSENT),
                parent.versions.get(channel) != child.versions.get(channel),
            )
            if has_moved and channel not in child.blobless and is_empty(after):
                self.tallies.setdefault(channel, Tally()).add(ChannelStep(before, [], after))

    def _tally(
        self,
        parent: State,
        child: State,
        written: Mapping[str, Sequence[TaskWrite]],
        by_command: Mapping[str, Sequence[TaskWrite]],
        unproved: frozenset[str],
        *,
        partial: bool,
    ) -> None:
        for channel in {*parent.values, *child.values, *written, *by_command} - unproved:
            if is_control(channel, parent):
                continue
            if channel in self.deltas:
                both = [*by_command.get(channel, ()), *written.get(channel, ())]
                if not partial and not any(overwrite(write.value) for write in both):
                    self._learn_snapshot_frequency(channel, parent, child)
            else:
                of_both = written.get(channel, ()), by_command.get(channel, ())
                self._learn(channel, parent, child, *of_both, partial=partial)

    def _learn(
        self,
        channel: str,
        parent: State,
        child: State,
        written: Sequence[TaskWrite],
        by_command: Sequence[TaskWrite] = (),
        *,
        partial: bool = False,
    ) -> None:
        before, after = (state.values.get(channel, ABSENT) for state in (parent, child))
        values, first = ([write.value for write in writes] for writes in (written, by_command))
        tally, step = self.tallies.setdefault(channel, Tally()), ChannelStep(before, values, after, first)
        if not partial or tally.may_add_partial(step):
            tally.add(step)

    def _learn_snapshot_frequency(self, channel: str, parent: State, child: State) -> None:
        counters = delta_counters.counters(parent.metadata)
        if is_snapshot(child.values.get(channel)) and channel in counters:
            fewest, updates = self.deltas[channel], counters[channel][0] + 1
            self.deltas[channel] = min(fewest or updates, updates)


def count_route(routes: Counter[Route], route: Route, times: int = 1) -> None:
    """Count runs of a route, with the same ways in another order, if such a one is counted.

    Of several edges, each process writes another one first.
    """
    known = next((one for one in routes if sorted(one) == sorted(route)), route)
    routes[known] += times


def _started_by_goto(writes: Sequence[TaskWrite], state: State) -> set[str]:
    """The nodes that a goto alone starts at a checkpoint, unless they are deferred."""
    goto = {node for write in goto_writes(writes) if (node := target(write.channel)) is not None}
    due = {one.node for one in due_tasks(state, Wiring(state))} if goto else set()
    return goto - due


def _hop_of(write: TaskWrite) -> tuple[str, str]:
    if write.channel == TASKS:
        sent = send(write.value)
        return TASKS, sent.node if sent else ""
    return write.channel, write.value if isinstance(write.value, str) else ""
