"""A task as its writes alone show it; the failure of an entrypoint without task paths."""

from collections.abc import Callable, Iterable, Sequence

from ckpt_cli.history.state.channels import ERROR, INTERRUPT
from ckpt_cli.history.tasks.javascript_errors import is_abort
from ckpt_cli.history.tasks.task_ids import with_id
from ckpt_cli.history.tasks.task_status import Status, Task, status_of
from ckpt_cli.model import NULL_TASK
from ckpt_cli.values.langgraph_values import interrupts
from ckpt_cli.values.same import same
from ckpt_cli.values.state import TaskWrite


def recorded_task(task_id: str | None, node: str | None, writes: list[TaskWrite]) -> Task:
    """The task that left these writes; answers that it hasn't taken yet are added by `answered_tasks`."""
    questions = [i for write in writes if write.channel == INTERRUPT and write.read for i in interrupts(write.value)]
    error = next((write.value for write in writes if write.channel == ERROR and write.read), None)
    path = next((write.row.task_path for write in writes if write.row.task_path), "")
    return Task(task_id, node, status_of(writes), path, error, [with_id(i) for i in questions], writes)


def writes_by_task(writes: Iterable[TaskWrite]) -> dict[str, list[TaskWrite]]:
    """Task id to the writes of the task, without those of no task."""
    by_task: dict[str, list[TaskWrite]] = {}
    for write in writes:
        if write.task_id != NULL_TASK:
            by_task.setdefault(write.task_id, []).append(write)
    return by_task


def failed_entrypoint(candidates: Sequence[list[TaskWrite]], answered: Callable[[Task], Task]) -> list[TaskWrite]:
    """The error of an entrypoint whose call failed too; without task paths, it isn't known which of both it is.

    LangGraph.js 1.x aborts an entrypoint whose call fails, so there the call has the error.

    Args:
        candidates: the writes of each task that may be the entrypoint's.
        answered: gives a task with its answers: one that asked has failed if it took the answer.
    """
    errors = [write for own in candidates for write in own if write.channel == ERROR and write.read]
    errors = [write for write in errors if not is_abort(write)] or errors
    if not errors or not all(same(error.value, errors[0].value) for error in errors):
        return []
    tasks = (answered(recorded_task(own[0].task_id, None, own)) for own in candidates)
    return errors[:1] if all(task.status is Status.FAILED for task in tasks) else []
