"""Answers that a ``Command`` left without a task, and whether the next step may take them."""

from collections.abc import Iterable, Sequence

from ckpt_cli.history.state.channels import RESUME
from ckpt_cli.history.tasks.task_status import Status, Task
from ckpt_cli.model import NULL_TASK
from ckpt_cli.values.state import TaskWrite


def left_answers(writes: Iterable[TaskWrite]) -> list[object]:
    """The answers of ``Command(resume=…)`` that are stored without a task, as far as they can be read.

    The library never removes such an answer when a task takes it. So the first question of the next
    ``invoke(None, config)`` takes it again (1.2 ``pregel/_algo.py: _scratchpad``).
    """
    return [w.value for w in writes if w.task_id == NULL_TASK and w.channel == RESUME and w.read]


def old_answers(writes: Sequence[TaskWrite], tasks: Iterable[Task]) -> list[object]:
    """The `left_answers` that the next run of a step gives to the first ``interrupt()`` that nobody has answered.

    Also those that a question took before its task failed: the task's next question takes them again. A node that
    waits by ``NodeInterrupt`` may ask with ``interrupt()`` when it runs again.
    """
    is_over = {task.status for task in tasks} <= {Status.FINISHED, Status.LEFT}
    return [] if is_over else left_answers(writes)
