"""The pending writes of a checkpoint where a step is made: values of a Command, and what its tasks wrote.

An update as END applies them in every generation. An update as a node applies them up to langgraph 1.0.2, even where
the run has long continued; since 1.0.3 ``update_state`` (``pregel/main.py``) drops them.
"""

from collections.abc import Iterator
from enum import StrEnum

from ckpt_cli.errors import NotSupported, Refused
from ckpt_cli.history.reducers import delta
from ckpt_cli.history.state.channels import CONTROL_WRITES, ERROR, ERROR_SOURCE, INTERRUPT
from ckpt_cli.history.tasks.snapshot import Status, Task
from ckpt_cli.model import NULL_TASK
from ckpt_cli.plans.step_start import StepStart
from ckpt_cli.plans.superstep import TaskOutput, written_triggers
from ckpt_cli.plans.thread_history import count_sends, task_path_at
from ckpt_cli.reading import Reader
from ckpt_cli.values.known import has_response_schema
from ckpt_cli.values.state import TaskWrite

_PUSHED = ("__pregel_push",)


class Finished(StrEnum):
    """What an update does with the pending writes of finished tasks."""

    KEEP = "keep"
    DROP = "drop"


def command_values(reader: Reader, at: StepStart) -> list[TaskOutput]:
    """The values of a Command that are not used yet, as input; nothing if there are none."""
    writes = reader.writes(at.origin.ref) if at.stored_writes else []
    null = [(write.channel, write.value) for write in writes if write.task_id == NULL_TASK]
    return [TaskOutput("", "__input__", null)] if null else []


def task_outputs(at: StepStart) -> list[tuple[Task, TaskOutput]]:
    """All tasks of the step, each with its output, which is empty unless the task has finished.

    Raises:
        Refused: not all tasks are known.
        NotSupported: the thread isn't a StateGraph's.
    """
    if not at.tasks.complete or any(task.node is None for task in at.tasks.tasks):
        raise Refused("which tasks run there can't be known without the graph")
    sends, outputs = count_sends(at.origin.state), []
    for place, task in enumerate(at.tasks.tasks):
        finished = task.status is Status.FINISHED
        writes = [(w.channel, w.value) for w in task.writes if finished and w.channel not in CONTROL_WRITES]
        triggers = _PUSHED if place < sends else tuple(written_triggers(task.node or "", at.channels.versions))
        if not triggers:
            raise NotSupported("a step can only be made in threads of a StateGraph")
        path = task.path or task_path_at(place, task.node, sends)
        outputs.append((task, TaskOutput(path, task.node or "", writes, triggers)))
    return outputs


def steps_before_update(
    reader: Reader, at: StepStart, finished: Finished | None
) -> tuple[list[list[TaskOutput]], list[str]]:
    """The steps that an update makes before its own, and the names of the finished nodes that they apply.

    Raises:
        Refused: there are pending writes, and it isn't recorded which generation of langgraph runs this thread.
    """
    if not at.stored_writes or finished is Finished.DROP or (finished is None and _is_recent(reader, at)):
        return [], []
    started = [(task, one) for task, one in task_outputs(at) if _has_results(task)]
    steps = [step for step in (command_values(reader, at), [one for _, one in started]) if step]
    if not steps:
        return [], []
    names = [task.node or "" for task, _ in started if task.status is Status.FINISHED]
    if finished is None and _may_be_old(reader, at):
        what = f"the results of {', '.join(names)}" if names else "the values of a Command"
        raise Refused(
            f"before an update, langgraph up to 1.0.2 applies {what} at that checkpoint, and since 1.0.3 drops them; "
            "which version runs this thread isn't recorded",
            hint="--finished keep applies them, --finished drop drops them",
        )
    return (steps, names) if finished is Finished.KEEP else ([], [])


def follows_old_update(reader: Reader, at: StepStart, finished: Finished | None) -> bool:
    """Whether ``update_state`` of this generation records writes as before delta channels, as far as the data shows.

    It then stores writes also on a checkpoint from which the run has continued, where every branch would read them as
    a delta channel's. All nodes that are updated without a task have one task id, and the writes of an input are
    stored on the new checkpoint (1.2.22 ``pregel/main.py: _store_or_fork_delta_writes, _update_task_id``).
    """
    return finished is Finished.KEEP or (not _is_recent(reader, at) and _may_be_old(reader, at))


def _has_results(task: Task) -> bool:
    return any(write.channel not in (ERROR, INTERRUPT) for write in task.writes)


def _is_recent(reader: Reader, at: StepStart) -> bool:
    """Whether the stored data proves langgraph 1.0.3 or newer.

    checkpoint-sqlite with task paths (3.1.2) needs langgraph-checkpoint 4.3; langgraph up to 1.0.2 needs one below 4.
    """
    writes = reader.writes(at.origin.ref)
    recent = delta.COUNTERS in at.origin.metadata or any(write.channel == ERROR_SOURCE for write in writes)
    of_sqlite = reader.saver.about().layout == "E"
    return recent or of_sqlite or any(map(has_response_schema, _questions(writes)))


def _may_be_old(reader: Reader, at: StepStart) -> bool:
    writes = reader.writes(at.origin.ref)
    pathless = "task_paths" not in reader.saver.abilities and not any(write.row.task_path for write in writes)
    return pathless or any(not has_response_schema(one) for one in _questions(writes))


def _questions(writes: list[TaskWrite]) -> Iterator[object]:
    for write in writes:
        if write.channel == INTERRUPT:
            yield from write.value if isinstance(write.value, list) else [write.value]
