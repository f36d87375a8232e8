"""The stored writes of a step's tasks in the library's order, each with its node."""

from collections.abc import Sequence

from ckpt_cli.history.state.channels import TASKS
from ckpt_cli.history.tasks.stored_sends import stored_sends
from ckpt_cli.history.tasks.task_ids import is_called, pulled, sent
from ckpt_cli.history.tasks.write_makers import is_command, is_update, path
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import NULL_TASK, Ref
from ckpt_cli.reading import Reader
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
    return len(stored_sends(state))


def count_lost_sends(state: State, stored: Sequence[TaskWrite]) -> tuple[int, int]:
    """The number of Sends that a step starts with, and of those that left no writes, as far as paths show it.

    Args:
        state: the checkpoint where it starts.
        stored: all writes on it. The Sends of a Command among them replace those of the checkpoint.
    """
    given = sum(is_command(write) and write.channel == TASKS for write in stored)
    sends, tasks = given or count_sends(state), dict[str, str]()
    for write in stored:
        if write.task_id != NULL_TASK and not is_update(write) and not is_called(path(write)):
            tasks[write.task_id] = path(write)
    from_sends = sum(not one or sent(one) is not None for one in tasks.values())
    return sends, max(sends - from_sends, 0)


def task_path_at(place: int, node: str | None, sends: int) -> str:
    """The path that the library gives to the task at this place of a step; the tasks of Sends come first."""
    return f"~__pregel_push, {place:010d}" if place < sends else f"~__pregel_pull, {node}"
