"""The stored writes of a step's tasks in the library's order, each with its node."""

from ckpt_cli.history.state.channels import TASKS
from ckpt_cli.history.tasks.task_ids import pulled
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import NULL_TASK, Ref
from ckpt_cli.reading import Reader
from ckpt_cli.values.langgraph_values import items
from ckpt_cli.values.state import State, TaskWrite


def node_writes(reader: Reader, ref: Ref, stored: list[TaskWrite] | None = None) -> list[tuple[str | None, TaskWrite]]:
    """The writes of a checkpoint's own tasks in the order in which the library applies them, each with its node.

    `stored`: all writes that are stored on the checkpoint, if they have been read already.
    """
    stored = reader.writes(ref) if stored is None else stored
    by_path = [(pulled(write.row.task_path), write) for write in stored]
    if all(node is not None for node, _ in by_path):
        return list(by_path)
    names = Inspection(reader, ref).names(stored)
    writes = [w for w in stored if w.task_id == NULL_TASK or names.of_this_step(w.task_id)]
    if all(write.row.task_path or write.task_id == NULL_TASK for write in writes):
        return [(names.node(write.task_id), write) for write in writes]
    snapshot = Inspection(reader, ref).snapshot()
    sends = count_sends(reader.state(ref))
    places = {task.id: task_path_at(place, task.node, sends) for place, task in enumerate(snapshot.tasks)}
    nodes = {task.id: task.node for task in snapshot.tasks}
    named = [(nodes.get(w.task_id) or names.node(w.task_id), w) for w in writes]
    return sorted(named, key=lambda pair: places.get(pair[1].task_id, ""))


def count_sends(state: State) -> int:
    """The number of Sends that a step starts with."""
    return len(state.sends) + len(items(state.values.get(TASKS)) or [])


def task_path_at(place: int, node: str | None, sends: int) -> str:
    """The path that the library gives to the task at this place of a step; the tasks of Sends come first."""
    return f"~__pregel_push, {place:010d}" if place < sends else f"~__pregel_pull, {node}"
