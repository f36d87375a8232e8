"""What is pending at a checkpoint where a step is made: values that came with a Command, and what its tasks wrote.

As END they count in every generation. Before an update they count up to langgraph 1.0.2, also where the run has long
gone on; since 1.0.3 ``update_state`` (``pregel/main.py``) drops them.
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
    """What becomes of pending writes in an update."""

    KEEP = "keep"
    DROP = "drop"


def command_values(reader: Reader, at: StepStart) -> list[TaskOutput]:
    """The values that came with a Command and were not used yet, as input."""
    writes = reader.writes(at.origin.ref) if at.stored_writes else []
    null = [(write.channel, write.value) for write in writes if write.task_id == NULL_TASK]
    return [TaskOutput("", "__input__", null)] if null else []


def task_outputs(at: StepStart) -> list[tuple[Task, TaskOutput]]:
    """All tasks of the step, each with what it wrote if it has finished.

    Raises:
        Refused: not all of them are known.
        NotSupported: it isn't a StateGraph's.
    """
    if not at.tasks.complete or any(task.node is None for task in at.tasks.tasks):
        raise Refused("which tasks run there can't be known without the graph")
    sends, found = count_sends(at.origin.state), []
    for place, task in enumerate(at.tasks.tasks):
        finished = task.status is Status.FINISHED
        writes = [(w.channel, w.value) for w in task.writes if finished and w.channel not in CONTROL_WRITES]
        triggers = _PUSHED if place < sends else tuple(written_triggers(task.node or "", at.channels.versions))
        if not triggers:
            raise NotSupported("a step can only be made in threads of a StateGraph")
        path = task.path or task_path_at(place, task.node, sends)
        found.append((task, TaskOutput(path, task.node or "", writes, triggers)))
    return found


def steps_before_update(
    reader: Reader, at: StepStart, said: Finished | None
) -> tuple[list[list[TaskOutput]], list[str]]:
    """The steps that an update of this database's generation makes before its own, and in words which tasks count.

    Raises:
        Refused: there are pending writes, and it isn't recorded which generation goes on with them.
    """
    if not at.stored_writes or said is Finished.DROP or (said is None and _is_recent(reader, at)):
        return [], []
    begun = [(task, one) for task, one in task_outputs(at) if _has_begun(task)]
    steps = [step for step in (command_values(reader, at), [one for _, one in begun]) if step]
    if not steps:
        return [], []
    names = [task.node or "" for task, _ in begun if task.status is Status.FINISHED]
    if said is None and _may_be_old(reader, at):
        what = f"what {', '.join(names)} had finished" if names else "what came with a Command"
        raise Refused(
            f"{what} at that checkpoint counts before an update up to langgraph 1.0.2 and not since 1.0.3; "
            "which of them goes on here isn't recorded",
            hint="--finished keep, or --finished drop, says it",
        )
    return (steps, names) if said is Finished.KEEP else ([], [])


def follows_old_update(reader: Reader, at: StepStart, said: Finished | None) -> bool:
    """Whether update_state of this generation records writes as before delta channels, as far as the data shows.

    They stand on a checkpoint that the run has gone on from too, which on every branch would be read as a delta
    channel's; those of all nodes that are updated without a task have one id; and an input's stand on the new
    checkpoint (1.2.22 ``pregel/main.py: _store_or_fork_delta_writes, _update_task_id``).
    """
    return said is Finished.KEEP or (not _is_recent(reader, at) and _may_be_old(reader, at))


def _has_begun(task: Task) -> bool:
    return any(write.channel not in (ERROR, INTERRUPT) for write in task.writes)


def _is_recent(reader: Reader, at: StepStart) -> bool:
    """Whether something stored proves langgraph 1.0.3 or newer.

    checkpoint-sqlite with task paths (3.1.2) needs langgraph-checkpoint 4.3, and langgraph up to 1.0.2 one before 4.
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
