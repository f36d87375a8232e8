"""Pending writes where an update starts: a Command's values; which results of tasks are kept.

They are stored on the checkpoint where the step starts. An update as END applies these writes in every version of
langgraph that has such updates. An update as a node applies them from langgraph 0.2.46 to 1.0.2, but up to 0.6.8 only
if the config has no ``checkpoint_id``, so at the head; from 0.6.9 on even if the run continued from that checkpoint
long ago. Since 1.0.3, an update as a node drops them (``pregel/main.py: update_state``).
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum

from ckpt_cli.errors import Refused
from ckpt_cli.history.state import delta_counters
from ckpt_cli.history.state.channels import CONTROL_WRITES, END, ERROR, ERROR_SOURCE, INTERRUPT, PARENT_COMMAND, target
from ckpt_cli.history.tasks.snapshot import Status, Task
from ckpt_cli.model import NULL_TASK
from ckpt_cli.plans.command_lines import command_at
from ckpt_cli.plans.node_writes import task_path_at
from ckpt_cli.plans.step_start import StepStart, not_of_state_graph
from ckpt_cli.plans.superstep import TaskOutput, written_triggers
from ckpt_cli.reading import Reader
from ckpt_cli.values.langgraph_values import has_response_schema
from ckpt_cli.values.state import TaskWrite

_PUSHED = ("__pregel_push",)


class Finished(StrEnum):
    """What an update does with the pending writes of finished tasks."""

    KEEP = "keep"
    DROP = "drop"


def command_values(reader: Reader, at: StepStart) -> list[TaskOutput]:
    """The values of a Command that no step has used yet, as if an input had written them; empty if there are none."""
    writes = reader.writes(at.origin.ref) if at.stored_writes else []
    own = [write for write in writes if write.task_id == NULL_TASK and target(write.channel) != END]
    null = [(write.channel, write.value) for write in own]  # a goto of END writes to a channel that no graph has
    return [TaskOutput("", "__input__", null)] if null else []


def must_know_goto(at: StepStart, by_command: Sequence[TaskOutput]) -> None:
    """Check that it is known of each node to which a Command's goto leads whether the node is deferred.

    A goto alone doesn't start a deferred node, and starts any other; the stored form must be that of the node.

    Raises:
        Refused: nothing shows it, and this is no preview.
    """
    why = "a Command's goto leads to {}, and nothing shows whether that is deferred: only if it isn't, it runs next"
    for node in dict.fromkeys(target(channel) for one in by_command for channel, _ in one.writes):
        if node is not None:
            at.channels.must_know_deferred(node, why)


def task_outputs(at: StepStart) -> list[tuple[Task, TaskOutput]]:
    """All tasks of the step, each with its output, which is empty unless the task has finished.

    Raises:
        Refused: not all tasks of the step are known.
        NotSupported: the thread isn't a StateGraph's.
    """
    if not at.tasks.complete or any(task.node is None for task in at.tasks.tasks):
        hint = f"{command_at('ckpt edit', at.origin.ref, '--set', 'PATH=JSON')} changes the state without them"
        raise Refused("which tasks run there can't be known without the graph", hint=hint)
    sends, outputs = sum(task.packet is not None for task in at.tasks.tasks), []
    for place, task in enumerate(at.tasks.tasks):
        finished = task.status is Status.FINISHED
        writes = [(w.channel, w.value) for w in task.writes if finished and w.channel not in CONTROL_WRITES]
        triggers = _PUSHED if place < sends else tuple(written_triggers(task.node or "", at.channels.versions))
        if not triggers:
            raise not_of_state_graph()
        path = task.path or task_path_at(place, task.node, sends)
        outputs.append((task, TaskOutput(path, task.node or "", writes, triggers)))
    return outputs


def steps_before_update(
    reader: Reader, at: StepStart, finished: Finished | None
) -> tuple[list[list[TaskOutput]], list[str]]:
    """The steps that must be made before the update's own step, and the finished nodes whose results are applied.

    Raises:
        Refused: there are pending writes, but nothing shows which version of langgraph runs this thread.
    """
    if not at.stored_writes or finished is Finished.DROP or (finished is None and _is_recent(reader, at)):
        return [], []
    started = [(task, one) for task, one in task_outputs(at) if _has_results(task)]
    steps = [step for step in (command_values(reader, at), [one for _, one in started]) if step]
    if not steps:
        return [], []
    names = [task.node or "" for task, _ in started if task.status is Status.FINISHED]
    if finished is None and _may_be_old(reader, at):
        raise _unknown_version(reader, at, f"the results of {', '.join(names)}" if names else "the values of a Command")
    return (steps, names) if finished is Finished.KEEP else ([], [])


def follows_old_update(reader: Reader, at: StepStart, finished: Finished | None) -> bool:
    """Whether ``update_state`` of the thread's langgraph records writes in the old way, as far as the data shows.

    The old way is from before delta channels existed. It differs in three ways from newer releases (1.2.22
    ``pregel/main.py: _store_or_fork_delta_writes, _update_task_id``):

    - It stores writes even on a checkpoint from which the run has continued. With delta channels, every branch from
      this checkpoint would then apply these writes.
    - It gives one task id to all updated nodes that have no task.
    - It stores the writes of an input on the new checkpoint.
    """
    return finished is Finished.KEEP or (not _is_recent(reader, at) and _may_be_old(reader, at))


def _unknown_version(reader: Reader, at: StepStart, what: str) -> Refused:
    """The refusal where versions of langgraph differ; it names those that can write the thread, so none before 0.5."""
    ref = at.origin.ref
    if reader.head(ref.thread_id, ref.ns).ref == ref:
        applied = "langgraph up to 1.0.2 applies {} at that checkpoint (up to 0.6.8 only without a checkpoint_id)"
        dropped = "1.0.3 and later drop them"
    else:
        applied, dropped = (
            "langgraph 0.6.9 to 1.0.2 applies {} at a past checkpoint",
            "older and newer versions drop them",
        )
    return Refused(
        f"before an update, {applied.format(what)}; {dropped}; nothing shows which version runs this thread",
        hint="--finished keep applies them, --finished drop drops them",
    )


def _has_results(task: Task) -> bool:
    return any(write.channel not in (ERROR, INTERRUPT, PARENT_COMMAND) for write in task.writes)


def _is_recent(reader: Reader, at: StepStart) -> bool:
    """Whether the stored data proves that langgraph 1.0.3 or newer runs this thread.

    One proof is a SQLite table with task paths. checkpoint-sqlite 3.1.2 makes such a table, and needs
    langgraph-checkpoint 4.3. But langgraph up to 1.0.2 needs a langgraph-checkpoint below 4.
    """
    writes = reader.writes(at.origin.ref)
    recent = delta_counters.COUNTERS in at.origin.metadata or any(write.channel == ERROR_SOURCE for write in writes)
    of_sqlite = reader.saver.about().layout == "E"
    return recent or of_sqlite or any(map(has_response_schema, _questions(writes)))


def _may_be_old(reader: Reader, at: StepStart) -> bool:
    """Whether langgraph up to 1.0.2 may run this thread: no write has a path, or a question has no response schema."""
    writes = reader.writes(at.origin.ref)
    pathless = "task_paths" not in reader.saver.abilities and not any(write.row.task_path for write in writes)
    return pathless or any(not has_response_schema(one) for one in _questions(writes))


def _questions(writes: list[TaskWrite]) -> Iterator[object]:
    for write in writes:
        if write.channel == INTERRUPT:
            yield from write.value if isinstance(write.value, list) else [write.value]
