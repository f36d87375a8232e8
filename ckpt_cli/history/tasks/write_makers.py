"""What a stored write shows of who made it: a Command, a whole run, ``update_state``, a task."""

from collections.abc import Iterable

from ckpt_cli.history.lineage import ids
from ckpt_cli.history.state.channels import INTERRUPT, RESUME, RETURN
from ckpt_cli.history.tasks.task_ids import is_called, update_ids
from ckpt_cli.model import NULL_TASK
from ckpt_cli.values.state import TaskWrite

_BARE_STEPS = 3  # the input and the first step; an update's id may contain one step less than the update has
_MOST_STEPS = 1_000  # of a run that stores its writes at its end without paths


def is_command(write: TaskWrite) -> bool:
    """Whether a ``Command`` given as input made this write (1.2 ``pregel/_io.py: map_command``); not an answer."""
    return write.task_id == NULL_TASK and not write.row.task_path and write.channel not in (RESUME, INTERRUPT)


def path(write: TaskWrite) -> str:
    """The task's path; ``durability="exit"`` puts the step in front of it (``~~0000000001~__pregel_pull, a``)."""
    stored = write.row.task_path
    return stored[stored.index("~", 2) :] if stored.startswith("~~") and "~" in stored[2:] else stored


def is_of_run(write: TaskWrite) -> bool:
    """Whether a run stored this write at its end, for all its steps (1.2 ``_checkpoint.py: exit_delta_task_id``)."""
    task_id = write.task_id
    if write.row.task_path.startswith("~~") or task_id.startswith("ffffffff-"):
        return True
    is_numbered = task_id.startswith("000") and task_id[:8].isdecimal() and task_id != NULL_TASK
    return is_numbered and _is_step_after(write.row.checkpoint_id, int(task_id[:8]), by_path=bool(write.row.task_path))


def _is_step_after(checkpoint_id: str, number: int, *, by_path: bool) -> bool:
    """Whether the number at the beginning of a task's id may be that of a step of a run from this checkpoint.

    Of 43,000 ids of real tasks, which are hashes, one begins as such a number does. Where paths are stored, a later
    step is in the path, so only the run's input and its first step have a bare number.
    """
    begun = ids.sequence(checkpoint_id)
    return begun is None or 0 < (number - begun) % ids.SEQUENCES <= (_BARE_STEPS if by_path else _MOST_STEPS)


def is_call(writes: Iterable[TaskWrite]) -> bool:
    """Whether another task called the task that left these writes (functional API); only such a task returns."""
    return any(write.channel == RETURN or is_called(path(write)) for write in writes)


def is_update(write: TaskWrite) -> bool:
    """Whether ``update_state`` made this write, not a task (langgraph 1.2 ``pregel/main.py: _bulk_update``)."""
    row = write.row
    if row.task_path:
        return row.task_path.startswith("~__interrupt__")
    if row.task_id[14:15] != "5" or not ids.is_uuid6(row.checkpoint_id):  # an update's id is a UUID of version 5
        return False
    return row.task_id in update_ids(row.checkpoint_id)
