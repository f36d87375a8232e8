"""The nodes that made a checkpoint, from ``versions_seen``, where its step left no other trace.

langgraph 0.0 stored no writes, and up to 0.0.48 no outputs in metadata. When a node runs, its entry takes the versions
that its triggers have at that moment (0.0.48 ``pregel/__init__.py: _apply_writes``).
"""

from collections.abc import Sequence

from ckpt_cli.history.state.channels import (
    BRANCH_TO,
    CONTROL_WRITES,
    NOT_NODES,
    START,
    TASKS,
    missing,
    newer,
    order,
    target_in,
)
from ckpt_cli.history.tasks.left_out_sends import left_out_sends
from ckpt_cli.history.tasks.task_ids import pulled
from ckpt_cli.values.state import State, TaskWrite, Version
from ckpt_cli.values.well_known_types import items


def nodes_by_seen(state: State, before: State | None) -> dict[str, int]:
    """The nodes that ran in the one step between two checkpoints, each with 1; {} if they can't all be known.

    Args:
        state: the checkpoint.
        before: the checkpoint before it; None if it is the first of its thread.
    """
    if before is not None and _may_send(before):
        return {}
    return pulled_by_seen(state, before)


def pulled_by_seen(state: State, before: State | None) -> dict[str, int]:
    """The same without tasks of Sends, which see nothing; {} if more than one step lies between the two.

    A node that ran has seen the versions of the checkpoint before; one of a later step has seen newer ones. The input
    itself is newer: langgraph 0.0.38 saved it with the step that took it in. In that step only ``__start__`` ran; nodes
    that were due before are marked too, because the input discards their tasks.
    """
    ran: dict[str, int] = {}
    for node, versions in state.seen.items():
        known = before.seen.get(node, {}) if before is not None else {}
        new = {channel: version for channel, version in versions.items() if version and version != known.get(channel)}
        if node in NOT_NODES or node.endswith(":edges") or not new:
            continue
        if not all(version == _version(channel, state, before) for channel, version in new.items()):
            return {}
        ran[node] = 1
    return {START: 1} if START in ran else ran


def is_first(node: str, state: State, before: State | None) -> bool:
    """Whether a node ran in the step between two checkpoints, and never before: its entry comes with its first task.

    That of a Send's task is empty (1.2 ``pregel/_algo.py: apply_writes``).
    """
    return before is not None and node in state.seen and node not in before.seen


def left_out(state: State, before: State, stored: Sequence[TaskWrite]) -> set[tuple[str, str]]:
    """Task and channel of the writes of tasks that finished, and then weren't among those of the step.

    A deployment may lack the node: the next run drops such a task, and applies nothing of it (langgraph 1.2
    ``pregel/_algo.py: prepare_next_tasks``). The node hasn't seen what triggered the task then, as each task of a step
    has; tasks of Sends see nothing (`left_out_sends`). A delta channel's writes aren't left out: its value is made of
    all that are stored.

    Args:
        state: the checkpoint that a run made of the step.
        before: its parent.
        stored: the writes stored on the parent.
    """
    is_next = state.step is not None and before.step is not None and state.step == before.step + 1
    if not is_next or state.v != before.v:  # a newer library gives older triggers other names
        return set()
    pulls = {write.task_id: pulled(write.row.task_path) for write in stored if write.channel not in CONTROL_WRITES}
    absent = {task_id for task_id, node in pulls.items() if node is not None and _was_left_out(node, state, before)}
    absent |= left_out_sends(state, before, stored)
    deltas = missing(state) if absent else ()
    return {(w.task_id, w.channel) for w in stored if w.task_id in absent and w.channel not in deltas}


def _was_left_out(node: str, state: State, before: State) -> bool:
    """Whether a node was due at a checkpoint and had no task in the next step; its triggers are named after it.

    A task sees a later version than the checkpoint has if the goto of a Command wrote to its trigger before.
    """
    seen, edge = state.seen.get(node, {}), f"{BRANCH_TO}{node}"
    if edge in seen and seen[edge] == before.versions.get(edge):
        return False
    older = before.seen.get(node, {})
    due = {c: v for c, v in before.versions.items() if c in before.values and target_in(c, before.v) == node}
    fired = {c: version for c, version in due.items() if newer(version, older.get(c))}
    return bool(fired) and all(seen.get(channel) == older.get(channel) for channel in fired)


def ran_between(node: str, state: State, before: State) -> bool | None:
    """Whether a node ran in the step between two checkpoints; None if more than one step lies between them.

    Only a run's step counts: an update and an input mark nodes that didn't run. Tasks of Sends see nothing.
    """
    known = before.seen.get(node, {})
    new = {channel: version for channel, version in state.seen.get(node, {}).items() if version != known.get(channel)}
    if not new or state.source not in ("loop", "") or state.seen.get(START) != before.seen.get(START):
        return False
    return True if all(version == before.versions.get(channel) for channel, version in new.items()) else None


def last_to_see(state: State) -> set[str]:
    """The nodes that saw the newest version that any node has seen; those that ran last are among them."""
    newest = {
        node: max(map(order, seen.values())) for node, seen in state.seen.items() if seen and node not in NOT_NODES
    }
    last = max(newest.values(), default=None)
    return {node for node, version in newest.items() if version == last}


def _may_send(state: State) -> bool:
    """Whether a checkpoint holds Sends, or may; once there was one, it keeps an empty list of them."""
    return bool(state.sends) or (TASKS in state.values and items(state.values[TASKS]) != [])


def _version(channel: str, state: State, before: State | None) -> Version | None:
    """The version of a channel at the start of the step that made a checkpoint."""
    if channel == START:
        return state.versions.get(START)
    return None if before is None else before.versions.get(channel)
