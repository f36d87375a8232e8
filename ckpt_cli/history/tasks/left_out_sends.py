"""The finished tasks of Sends that a step left out, as a deployment lacked their node.

The next run drops such a task, and applies nothing of it (langgraph 1.2 ``pregel/_algo.py: prepare_single_task``). A
task of a Send sees no channel, so two other things show it: each node of a step gets an entry in ``versions_seen``,
which is empty for Sends (``apply_writes``), and each channel that was written to gets a new version.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any

from ckpt_cli.history.state.channels import CONTROL_WRITES, NO_WRITES, TASKS, is_control
from ckpt_cli.history.tasks.node_names import place
from ckpt_cli.history.tasks.stored_sends import indexed_sends
from ckpt_cli.history.tasks.task_ids import sent
from ckpt_cli.history.tasks.write_makers import is_command
from ckpt_cli.model import NULL_TASK
from ckpt_cli.values.langgraph_values import items, js_send
from ckpt_cli.values.node import Node
from ckpt_cli.values.same import same
from ckpt_cli.values.state import State, TaskWrite

_TOGETHER = 3  # nodes of which any may be gone


def left_out_sends(state: State, before: State, stored: Sequence[TaskWrite]) -> set[str]:
    """The tasks of Sends before a step that it provably left out: the node was gone, or a Command replaced the Sends.

    Args:
        state: the checkpoint that a run made of the step.
        before: its parent.
        stored: the writes stored on the parent.
    """
    replaced = _replaced(before, stored)
    absent = {*replaced}
    for node, writes in _by_node(state, before, stored, replaced).items():
        if (state.v >= 4 and node not in state.seen) or any(_is_unapplied(one, state, before) for one in writes):
            absent.update(write.task_id for write in writes)
    return absent if _others(stored, absent) else set()


def _given(before: State, stored: Sequence[TaskWrite]) -> dict[int, str]:
    """The nodes of the Sends of a Command given as input, which took the place of the checkpoint's own, by number.

    The channel of Sends keeps those of the last change alone (langgraph 1.2 ``channels/topic.py: update``).
    """
    given = [write for write in stored if is_command(write) and write.channel == TASKS]
    sends = [send for write in given if write.read and (send := js_send(write.value)) is not None]
    return {at: send.node for at, send in enumerate(sends)} if before.v >= 4 and len(sends) == len(given) else {}


def _replaced(before: State, stored: Sequence[TaskWrite]) -> set[str]:
    """The tasks of the checkpoint's own Sends, where those of a Command given as input took their place.

    A task of a new Send with the same node and number has the same id (1.2 ``pregel/_algo.py: prepare_single_task``).
    """
    if not (given := _given(before, stored)) or (start := place(before)) is None:
        return set()
    new = {one for index, node in given.items() for one in start.push(node, index)}
    return {write.task_id for write in stored if sent(write.row.task_path) is not None} - new


def possibly_left_out(state: State, before: State, stored: Sequence[TaskWrite]) -> Iterator[tuple[str, set[str]]]:
    """The tasks of Sends that a step may have left out, though nothing proves it: their nodes in words, and their ids.

    Each channel that they wrote to has a write of another task too, so that its version says nothing. Of several nodes,
    any may be gone.
    """
    by_node = _by_node(state, before, stored, _replaced(before, stored))
    nodes = [*by_node]
    counts = range(1, len(nodes) + 1) if len(nodes) <= _TOGETHER else (len(nodes),)
    for gone in (some for count in counts for some in combinations(nodes, count)):
        own = [write for node in gone for write in by_node[node]]
        tasks = {write.task_id for write in own}
        others = {write.channel for write in _others(stored, tasks)}
        if others and not any(_has_moved(w.channel, state, before) for w in own if w.channel not in others):
            yield " and ".join(gone), tasks


def _by_node(
    state: State, before: State, stored: Sequence[TaskWrite], replaced: Collection[str]
) -> dict[str, list[TaskWrite]]:
    """The writes of the tasks of Sends by their node, but for nodes that an edge started in the same step.

    Those of `replaced` tasks aren't among them.
    """
    if not any(sent(write.row.task_path) is not None for write in stored):
        return {}
    nodes = _given(before, stored) or {index: send.node for index, send in indexed_sends(before)}
    writes: dict[str, list[TaskWrite]] = {}
    for write in stored:
        index = sent(write.row.task_path)
        node = None if index is None or write.task_id in replaced else nodes.get(index)
        if node is not None and write.channel not in CONTROL_WRITES and not _has_run(node, state, before):
            writes.setdefault(node, []).append(write)
    return writes


def _has_moved(channel: str, state: State, before: State) -> bool:
    """Whether a write set a channel; the channel of Sends, and one that a node consumed, are set without it."""
    is_set = channel != TASKS and (state.updated is None or channel in state.updated)
    return is_set and state.versions.get(channel) != before.versions.get(channel)


def _has_run(node: str, state: State, before: State) -> bool:
    return state.seen.get(node, {}) != before.seen.get(node, {})


def _others(stored: Iterable[TaskWrite], tasks: set[str]) -> list[TaskWrite]:
    """What the other tasks wrote; without any, there was no step."""
    hidden = {NULL_TASK, *tasks}
    return [write for write in stored if write.task_id not in hidden and write.channel not in CONTROL_WRITES]


def _is_unapplied(write: TaskWrite, state: State, before: State) -> bool:
    """Whether a channel that the graph still has got no new version by a write.

    An empty list gives a topic none, nor does a name that a barrier's set has already. Releases that don't record
    ``updated_channels`` give none to a topic that gets the items which it has (0.2 ``channels/topic.py: update``).
    """
    channel = write.channel
    if (
        state.updated is None
        or channel in (NO_WRITES, TASKS)
        or channel not in state.values
        or channel not in before.values
    ):
        return False
    value = state.values[channel]
    if channel in state.updated or state.versions.get(channel) != before.versions.get(channel):
        return False
    if is_control(channel, state) or (isinstance(value, Node) and value.unordered):
        return False
    return bool(write.read) and not _is_there(write.value, value) and same(before.values[channel], value)


def _is_there(given: Any, value: Any) -> bool:
    """Whether a value is or has what is written to it already: then a channel may have got it and say nothing of it."""
    if same(given, value):
        return True
    if isinstance(given, dict):
        return isinstance(value, dict) and all(key in value and same(one, value[key]) for key, one in given.items())
    listed, old = items(given), items(value) or ()
    return all(any(same(one, other) for other in old) for one in ([given] if listed is None else listed))
