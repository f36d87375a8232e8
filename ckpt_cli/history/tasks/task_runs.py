"""`TaskRun`: what one task left at a checkpoint, with its node; calls, updates, Commands as input too."""

from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from ckpt_cli.history.state.channels import ERROR, INTERRUPT, PARENT_COMMAND
from ckpt_cli.history.tasks.branch_writes import of_task
from ckpt_cli.history.tasks.snapshot import Status, status_of
from ckpt_cli.history.tasks.step_nodes import StepNodes
from ckpt_cli.history.tasks.task_ids import caller, sent
from ckpt_cli.history.tasks.write_makers import is_call, is_command, is_update, path
from ckpt_cli.model import NULL_TASK
from ckpt_cli.values.state import TaskWrite


class RunKind(StrEnum):
    """Who left some writes at a checkpoint."""

    TASK = "task"
    CALL = "call"
    """A ``@task`` function that an entrypoint called; its name isn't recorded."""
    HANDLER = "handler"
    """A node that handled the failure of another one."""
    UPDATE = "update"
    """``update_state``; the node that it named isn't recorded."""
    COMMAND = "command"
    """A ``Command`` that a run got as its input."""


class TaskRun(NamedTuple):
    """What one task left at the checkpoint where it started.

    Attributes:
        node: None if it isn't known; for a call, the entrypoint that called it.
        writes: in the order in which they are stored.
        failed: for an error handler, one of the writes of the task whose failure it handled.
        by_send: whether a Send started it.
        kept: those of the writes that ``edit --task`` stored again, with what an earlier task left.
    """

    task_id: str
    kind: RunKind
    node: str | None
    writes: Sequence[TaskWrite]
    failed: TaskWrite | None = None
    by_send: bool = False
    kept: Collection[TaskWrite] = ()

    @property
    def is_task(self) -> bool:
        """Whether a task left this; ``update_state`` and a ``Command`` given as input run nothing."""
        return self.kind not in (RunKind.UPDATE, RunKind.COMMAND)

    @property
    def path(self) -> str:
        """The task's path; "" if none is stored."""
        return path(self.writes[0]) if self.writes else ""

    @property
    def finished(self) -> bool:
        """Whether it left an output."""
        return not self.is_task or status_of(self.writes) is Status.FINISHED

    @property
    def is_kept(self) -> bool:
        """Whether it didn't run: all that it left is kept from an earlier checkpoint."""
        return len(self.kept) == len(self.writes)

    @property
    def has_left(self) -> bool:
        """Whether LangGraph.js stored only that it left to the graph above; Python stores nothing of such a task."""
        return all(write.channel == PARENT_COMMAND for write in self.writes)

    @property
    def ran_again(self) -> bool:
        """Whether a failure is recorded of a task that has finished here since."""
        return self.finished and not self.is_kept and any(write.channel == ERROR for write in self.writes)

    @property
    def asked(self) -> bool:
        """Whether it asked something, which may have been answered since; a next question replaces the one before."""
        return any(write.channel == INTERRUPT and write not in self.kept for write in self.writes)

    @property
    def has_failed(self) -> bool:
        """Whether a failure of it is recorded; it may have finished when it ran again."""
        return any(write.channel == ERROR and write not in self.kept for write in self.writes)


def task_runs(nodes: StepNodes, checkpoint_id: str, stored: Sequence[TaskWrite]) -> Iterator[TaskRun]:
    """What each task, update and Command left at a checkpoint; `stored` are all writes on it, which `nodes` knows.

    The writes that ``durability="exit"`` stores for the delta channels of a whole run belong to no task, and answers to
    questions neither: both are left out. ``update_state`` as a task that failed or asked stores under the task's id.
    """
    by_task: dict[str, list[TaskWrite]] = {}
    updates: dict[str, list[TaskWrite]] = {}
    for write in stored:
        if write.task_id == NULL_TASK and is_command(write):
            by_task.setdefault("", []).append(write)
        elif of_task(write):
            (updates if is_update(write) else by_task).setdefault(write.task_id, []).append(write)
    handlers = nodes.handlers(checkpoint_id)
    for task_id, writes in by_task.items():
        first, task_path = writes[0], path(writes[0])
        if not task_id:
            yield TaskRun(NULL_TASK, RunKind.COMMAND, None, writes)
        elif is_call(writes):
            yield TaskRun(task_id, RunKind.CALL, caller(task_path), writes)
        elif handler := handlers.get(task_id):
            failed = by_task.get(handler.failed, [None])[0]
            yield TaskRun(task_id, RunKind.HANDLER, handler.node, writes, failed)
        else:
            yield TaskRun(
                task_id, RunKind.TASK, nodes.node(first), writes, by_send=sent(nodes.path_of(first) or "") is not None
            )
    yield from (TaskRun(task_id, RunKind.UPDATE, None, writes) for task_id, writes in updates.items())
