"""`quick_snapshot`: what is due at a head, from it and its writes alone, in the usual cases.

`history.tasks.snapshot` would say the same with ten times the work. What may need another checkpoint, a subgraph, a
computed task id or a Send is left to it.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Any

from ckpt_cli.history.state.channels import (
    ABORTED,
    BRANCH_TO,
    BUMPS,
    CONTROL_WRITES,
    ERROR,
    INTERRUPT,
    NOT_NODES,
    START,
    TASKS,
    newer,
    target,
)
from ckpt_cli.history.tasks.snapshot import Snapshot
from ckpt_cli.history.tasks.task_ids import pulled, with_id
from ckpt_cli.history.tasks.task_status import Status, Task, status_of
from ckpt_cli.model import NULL_TASK, CheckpointRow, Payload
from ckpt_cli.values.langgraph_values import interrupts
from ckpt_cli.values.state import TaskWrite

_SHAPES = 1000  # shapes of heads whose judgement is kept
_TEXT = frozenset({str})
_PLAIN = frozenset({str, int, float, bool, type(None)})
_MARKS = frozenset({INTERRUPT, ERROR, ABORTED})


class DueNodes:
    """Finds the nodes that edges start at heads; what it learns of one head serves the next of the same shape."""

    def __init__(self) -> None:
        self._shapes: dict[Any, tuple[str, ...] | None] = {}

    def of(self, body: Mapping[str, Any], apart: Mapping[str, Payload] | None) -> Sequence[str] | None:
        """The nodes in their order; None if the head alone doesn't show them.

        `body` has the three dicts of a checkpoint; `apart` are the channels that are stored outside of it.
        """
        values, versions, seen = body["channel_values"], body["channel_versions"], body["versions_seen"]
        held = [*values, *(c for c, payload in apart.items() if payload.tag != "empty")] if apart else [*values]
        counts = map(len, seen.values())  # of the channels that follow, so many belong to each node
        shape = (*held, None, *versions, None, *seen, *counts, *chain.from_iterable(seen.values()))
        try:
            triggers = self._shapes[shape]
        except KeyError:
            if len(self._shapes) >= _SHAPES:
                self._shapes.clear()
            triggers = self._shapes[shape] = _triggers(held, versions, seen)
        if not triggers:
            return triggers
        if not all(channel in values and type(values[channel]) in _PLAIN for channel in triggers):
            return None  # a deferred node's trigger is a pair
        nodes = ((channel, channel[len(BRANCH_TO) :]) for channel in triggers)
        return sorted(n for channel, n in nodes if newer(versions.get(channel), seen.get(n, {}).get(channel)))


def _triggers(
    held: Collection[str], versions: Collection[str], seen: Mapping[str, Mapping[str, Any]]
) -> tuple[str, ...] | None:
    """The channels that hold a value and can trigger a node; None if they aren't all edges of a StateGraph.

    A StateGraph's channels name their listeners. See `history.tasks.next_tasks`: such a head needs no other checkpoint
    to show what is due.
    """
    if not _TEXT.issuperset(map(type, chain(held, versions, seen, *seen.values()))):
        return None
    nodes = (node for node in seen if node not in NOT_NODES and not node.endswith(":edges"))
    heard = {channel for node in nodes for channel in seen[node]}
    triggers = tuple(channel for channel in held if channel.startswith(BRANCH_TO))
    others = (channel for channel in held if not channel.startswith(BRANCH_TO))
    if any(channel in heard or channel in (START, TASKS) or target(channel) is not None for channel in others):
        return None
    if (triggers and BUMPS in seen) or not any(channel == START or target(channel) is not None for channel in versions):
        return None
    return triggers


def quick_snapshot(due: Sequence[str], writes: Sequence[TaskWrite]) -> Snapshot | None:
    """The tasks of a root graph's head that has no child and no subgraph; None if the writes leave a doubt.

    They do if they aren't all by tasks that the due edges started, a value wasn't read, an answer is recorded, or an
    error was handled.
    """
    tasks: dict[str, list[TaskWrite]] = {}
    for write in writes:
        if write.task_id == NULL_TASK or (write.channel in CONTROL_WRITES and write.channel not in _MARKS):
            return None
        if write.channel in _MARKS and not write.read:
            return None
        tasks.setdefault(write.task_id, []).append(write)
    by_node = {pulled(own[0].row.task_path): (task_id, own) for task_id, own in tasks.items()}
    if len(by_node) < len(tasks) or not by_node.keys() <= set(due):
        return None
    found = [_task(node, *by_node.get(node, (None, []))) for node in due]
    return Snapshot(found) if all(map(_is_plain, found)) else None


def _task(node: str, task_id: str | None, writes: list[TaskWrite]) -> Task:
    asked = [with_id(i) for write in writes if write.channel == INTERRUPT for i in interrupts(write.value)]
    error = next((write.value for write in writes if write.channel == ERROR), None)
    path = writes[0].row.task_path if writes else ""
    return Task(task_id, node, status_of(writes), path, error, asked, writes)


def _is_plain(task: Task) -> bool:
    """Whether a task that asked only waits; one that failed or finished too may have got an answer."""
    return not any(write.channel == INTERRUPT for write in task.writes) or (
        task.status is Status.WAITING and task.error is None
    )


def is_chain(rows: Sequence[CheckpointRow]) -> bool:
    """Whether these rows are a root and its descendants, each the child of the one before; so the last has no child."""
    before = None
    for row in rows:
        if row.parent_id != before:
            return False
        before = row.checkpoint_id
    return True
