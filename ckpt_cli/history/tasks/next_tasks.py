"""Which tasks are due (``next``): nodes that channels trigger, Sends; which nodes listen to a channel.

They are computed without the graph. The rule is langgraph 1.2's ``pregel/_algo.py: prepare_next_tasks``: a node is due
when a channel that triggers it holds a value and has changed since the node last saw it. From checkpoint format 3 on
(field `v`), the name of a StateGraph's channel contains the node that it triggers. For older checkpoints, and for
graphs of bare Pregel nodes, the listeners of a channel are learned from ``versions_seen``.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from sys import intern
from typing import Any, NamedTuple

from ckpt_cli.history.state import channels
from ckpt_cli.history.state.channels import BRANCH_TO, NOT_NODES, START, TASKS, newer, target_in, without_bumps
from ckpt_cli.history.tasks.availability import Availability
from ckpt_cli.history.tasks.stored_sends import indexed_sends
from ckpt_cli.history.tasks.task_ids import PUSH
from ckpt_cli.values.langgraph_values import items
from ckpt_cli.values.state import State

History = Callable[[], Iterable[State]]
"""Gives the other checkpoints of the same graph in any order; called only if one checkpoint is not enough."""


class Due(NamedTuple):
    """One task of the next step.

    Attributes:
        node: None if it isn't recorded: an entrypoint of the functional API that never finished.
        fired: the channels that triggered it.
        triggers: every channel that is known to trigger the node.
        packet: the index of the task's Send; None for a task that edges start.
    """

    node: str | None
    fired: tuple[str, ...]
    triggers: frozenset[str] = frozenset()
    packet: int | None = None


class Packet(NamedTuple):
    """The Send that starts a task.

    Attributes:
        number: its place among the Sends of the step to the same node, from 1.
        of: the number of those Sends.
        argument: what the node is called with.
    """

    number: int
    of: int
    argument: Any


class Wiring:
    """The nodes of a graph and the channels that trigger them, as far as checkpoints show both.

    Attributes:
        triggers: node to every channel that was seen to trigger it.
        silent: channels with no listeners except those in `triggers`, as a finished step proved.
        deferred: node to whether it waits until all others have finished, as far as a stored trigger shows it.
        availability: which channels hold a value and trigger nothing.
    """

    def __init__(self, state: State, history: History = tuple) -> None:
        self.triggers: dict[str, set[str]] = {}
        self.silent: set[str] = set()
        self.deferred: dict[str, bool] = {}
        self.availability = Availability()
        self._listeners: dict[str, set[str]] = {}
        # a generator, so that `history()` is only called when the first other checkpoint is needed
        self._others = (other for ask in (history,) for other in ask())
        self._steps = _StepPairs()
        self.learn(state)

    def learn(self, state: State) -> None:
        """Learn from the names of a checkpoint's channels and from its ``versions_seen``."""
        for node, seen in without_bumps(state.seen).items():
            if node not in NOT_NODES and not node.endswith(":edges"):
                self._add(node, seen)
        self.learn_names({*state.versions, *state.values}, state.v)
        self._learn_deferred(state)
        self.availability.learn(state)

    def learn_names(self, names: Iterable[str], v: int) -> None:
        """Learn from the names of channels of a checkpoint of format `v`."""
        for channel in names:
            if (listener := target_in(channel, v)) is not None:
                self._add(listener, (channel,))
                if channel.startswith(BRANCH_TO):  # only a StateGraph has these; its ``__start__`` takes the input
                    self._add(START, (START,))
            for source in channels.sources(channel):
                self.triggers.setdefault(source, set())

    def _learn_deferred(self, state: State) -> None:
        """Learn from stored triggers: those of deferred nodes are pairs.

        Only a run proves the pair: ckpt may have stored it for a node that it didn't know.
        """
        for channel, value in state.values.items():
            if channel.startswith(BRANCH_TO):
                node, is_pair = channel[len(BRANCH_TO) :], held_back(value) is not None
                if not is_pair:
                    self.deferred[node] = False
                elif state.source in ("loop", "input"):
                    self.deferred.setdefault(node, True)

    def _add(self, node: str, triggers: Iterable[str]) -> None:
        known = self.triggers.setdefault(node, set())
        for channel in triggers:
            if channel not in known:
                known.add(channel)
                self._listeners.setdefault(channel, set()).add(node)

    def learn_step(self, parent: "_Trace", child: "_Trace") -> None:
        """Learn from a finished step: if the parent sets a channel, the nodes that listen have seen it in the child.

        Updates and forks run nothing. Where no source is recorded (langgraph 0.0), a step ran a node only if parent and
        child differ in `seen`. A step from format 2 or lower to 3 proves nothing, because 3 has other channel names.
        """
        if parent.v < 3 <= child.v:
            return
        if child.source in ("update", "fork") or (not child.source and parent.seen in (None, child.seen)):
            return
        self.silent.update(parent.loose)

    def learn_until(self, enough: Callable[[], bool]) -> bool:
        """Learn from the other checkpoints, one by one, until `enough` is true; False if it never is."""
        if enough():
            return True
        for other in self._others:
            self.learn(other)
            for parent, child in self._steps.completed_by(_Trace(other, self.availability)):
                self.learn_step(parent, child)
            if enough():
                return True
        return False

    def listeners(self, channel: str) -> set[str] | None:
        """The nodes that a channel triggers; None if that is unknown."""
        return self._listeners.get(channel) or (set() if channel in self.silent else None)


class _Trace:
    """The parts of a checkpoint that `learn_step` needs, without the values; there may be one for each checkpoint.

    Attributes:
        loose: the channels that hold a value and may trigger nodes that their names don't contain.
        seen: the checkpoint's ``versions_seen``, if its source isn't recorded.
    """

    __slots__ = ("id", "loose", "parent_id", "seen", "source", "v")

    def __init__(self, state: State, availability: Availability) -> None:
        self.id = state.ref.checkpoint_id
        self.v = state.v
        self.parent_id = state.parent_id
        self.source = intern(state.source)
        self.seen = None if self.source else state.seen
        loose = _edges(state)
        self.loose = tuple(intern(one) for one in loose if not availability.is_missing(one, state))


class _StepPairs:
    """Pairs parents with their children, in whichever order they come."""

    def __init__(self) -> None:
        self._met: dict[str, _Trace] = {}
        self._orphans: dict[str, list[_Trace]] = {}

    def completed_by(self, trace: _Trace) -> Iterator[tuple[_Trace, _Trace]]:
        """The (parent, child) pairs that one more checkpoint completes."""
        self._met[trace.id] = trace
        if trace.parent_id is not None:
            if (parent := self._met.get(trace.parent_id)) is not None:
                yield parent, trace
            else:
                self._orphans.setdefault(trace.parent_id, []).append(trace)
        for child in self._orphans.pop(trace.id, ()):
            yield trace, child


def is_settled(state: State, wiring: Wiring) -> bool:
    """Whether the listeners of every channel that holds a value are known (or that a channel has none)."""
    open_, listeners = wiring.availability.is_open, wiring.listeners
    return all(listeners(channel) is not None and not open_(channel, state) for channel in _edges(state))


def is_start_settled(state: State, wiring: Wiring) -> bool:
    """Whether the node that takes the input is known, if there is an input."""
    return START not in state.values or wiring.listeners(START) is not None


def _edges(state: State) -> Iterator[str]:
    """The channels that hold a value and may trigger nodes that their names don't contain."""
    bare = state.v >= 3 and _bare(state)
    for channel in state.values:
        if target_in(channel, state.v) is None and channel not in (START, TASKS):
            if state.v >= 3:
                edge = bare and channel in state.versions
            else:
                edge = channels.is_edge(channel, state) or state.values[channel] == channel
            if edge:
                yield channel


def _bare(state: State) -> bool:
    """Whether a graph of bare Pregel nodes wrote this: no ``__start__``, and nodes listen to channels with any name."""
    if START in state.versions or state.source not in ("input", "loop"):
        return False
    return not any(target_in(channel, state.v) for channel in state.versions)


def due_tasks(state: State, wiring: Wiring) -> list[Due]:
    """The tasks of the next step: Sends in their order, then nodes by name, as the library does."""
    fired: dict[str, set[str]] = {}
    for channel in state.values:
        for node in _triggered(channel, state, wiring) if not wiring.availability.is_missing(channel, state) else ():
            if newer(state.versions.get(channel), state.seen.get(node, {}).get(channel)):
                fired.setdefault(node, set()).add(channel)
    pulled = [Due(node, tuple(sorted(fired[node])), frozenset(wiring.triggers.get(node, ()))) for node in sorted(fired)]
    return [*_sends(state), *pulled, *_entrypoint(state, wiring)]


def _triggered(channel: str, state: State, wiring: Wiring) -> Iterable[str]:
    node = target_in(channel, state.v)
    if node is None:
        return (wiring.listeners(channel) or ()) if channel != TASKS else ()
    return [node] if ready(channel, state.values[channel]) else ()


def ready(channel: str, value: Any) -> bool:
    """Whether a channel that holds this value triggers its node.

    A join waits until its value has the names of all its nodes. The channel of a deferred node holds a pair ``[value,
    false]`` until the node may run (1.2 ``channels/last_value.py: LastValueAfterFinish``, ``named_barrier_value.py``).
    """
    if held_back(value):
        return False
    if not channel.startswith("join:"):
        return True
    names, arrived = channel[len("join:") :].rpartition(":")[0], arrived_nodes(channel, value)
    return bool(arrived) and (len("+".join(arrived)) == len(names) or {*arrived} == {*channels.sources(channel)})


def held_back(value: Any) -> bool | None:
    """Whether a trigger's value waits until all other nodes have finished; None if its node isn't deferred."""
    parts = items(value)
    is_pair = parts is not None and len(parts) == 2 and isinstance(parts[1], bool)
    return not parts[1] if parts is not None and is_pair else None


def arrived_nodes(channel: str, value: Any) -> list[str]:
    """The nodes that a join has got so far, from its value; [] for other channels."""
    parts = items(value) if channel.startswith("join:") else None
    if parts is not None and len(parts) == 2 and isinstance(parts[1], bool):
        parts = items(parts[0])
    return [part for part in parts or [] if isinstance(part, str)]


def packets(state: State) -> dict[int, Packet]:
    """The Sends that start tasks of the next step, by `Due.packet`."""
    sends = dict(indexed_sends(state))
    totals, numbers = Counter(send.node for send in sends.values()), Counter[str]()
    by_index = {}
    for index, send in sends.items():
        numbers[send.node] += 1
        by_index[index] = Packet(numbers[send.node], totals[send.node], send.arg)
    return by_index


def sent_arguments(state: State) -> list[tuple[str, Packet]]:
    """The node and the Send of each task of the next step that a Send starts, in the order of the Sends."""
    by_index = packets(state)
    return [(send.node, by_index[index]) for index, send in indexed_sends(state)]


def _sends(state: State) -> Iterator[Due]:
    return (Due(send.node, (PUSH,), packet=index) for index, send in indexed_sends(state))


def _entrypoint(state: State, wiring: Wiring) -> list[Due]:
    """The task that takes ``__start__``, if no listener of ``__start__`` is known; else none.

    The task's node can't be computed here; the writes that the task leaves may show the node.
    """
    if START in state.values and wiring.listeners(START) is None:
        return [Due(None, (START,), frozenset({START}))]
    return []
