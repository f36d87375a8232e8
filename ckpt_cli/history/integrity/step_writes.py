"""Faults of a step's writes: no such task, writes that are gone, versions without a write."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ckpt_cli.history.integrity.faults import Fault, Kind
from ckpt_cli.history.reducers.agreement import is_empty
from ckpt_cli.history.reducers.reducer import ABSENT
from ckpt_cli.history.reducers.verdict import Verdict
from ckpt_cli.history.state.channels import BRANCH_TO, ERROR, INTERRUPT, RESUME, TASKS, is_control, target
from ckpt_cli.history.state.delta_counters import counters
from ckpt_cli.history.tasks.next_tasks import held_back
from ckpt_cli.history.tasks.task_ids import pulled, sent
from ckpt_cli.history.tasks.write_makers import is_command, is_update
from ckpt_cli.model import NULL_TASK
from ckpt_cli.values.langgraph_values import items
from ckpt_cli.values.node import Node
from ckpt_cli.values.state import State, TaskWrite


class MadeStep(NamedTuple):
    """A step that one run made by its stored writes, all of them.

    Attributes:
        parent: the state in which its tasks began.
        state: the state that they made.
        writes: the writes of its tasks, and of a Command.
        stored: all writes that are stored on the parent.
    """

    parent: State
    state: State
    writes: Sequence[TaskWrite]
    stored: Sequence[TaskWrite]

    @property
    def was_repeated(self) -> bool:
        """Whether a task failed or asked. Then tasks may have run again, with other code."""
        return any(write.channel in (ERROR, INTERRUPT) for write in self.stored)


def check_writes(step: MadeStep) -> Iterator[Fault]:
    """The faults of a step's writes."""
    if step.state.damage or step.parent.damage:
        return
    if not step.was_repeated:
        yield from _tasks(step)
        yield from _gone(step)
        yield from _triggers(step)
    by_command = {write.channel for write in step.stored if is_command(write)}  # each run from the parent applies them
    written = {write.channel for write in step.writes}
    yield from _counters(step, written | by_command)
    if not by_command:
        yield from _updated(step, written)


def _tasks(step: MadeStep) -> Iterator[Fault]:
    """Writes of tasks that can't have run: a node that saw nothing and wasn't due, a Send that nobody sent.

    A deployment may have renamed a node that was due: then it has finished and seen nothing (`seen_nodes.left_out`).
    The Sends of a Command that the run got as its input are stored as writes (1.2 ``pregel/_io.py: map_command``).
    """
    by_command = sum(write.channel == TASKS and write.task_id == NULL_TASK for write in step.stored)
    sends = len(step.parent.sends) + len(items(step.parent.values.get(TASKS)) or []) + by_command
    due = {target(channel) for channel in step.parent.values}
    by_tasks = (write for write in step.stored if write.task_id != NULL_TASK and not is_update(write))
    for path, task in dict.fromkeys((write.row.task_path, write.task_id) for write in by_tasks):
        node, index = pulled(path), sent(path)
        if node is not None and node not in step.state.seen and node not in due:
            why = f"a write of task {task} is stored before it, and no node {node} ran"
        elif index is not None and index >= sends and TASKS in step.parent.versions:
            why = f"a write of task {task} is stored before it, of Send {index + 1}, and {sends} were sent"
        else:
            continue
        yield Fault(Kind.NO_SUCH_TASK, Verdict.DIFFERS, "", why)


def _gone(step: MadeStep) -> Iterator[Fault]:
    """Writes that are missing between others of the same task: the library numbers them from 0.

    Each answer that a node took is written before the node's own writes, and all answers become one row outside of the
    numbers (langgraph 1.2 ``types.py: interrupt``, langgraph-checkpoint 4.3 ``WRITES_IDX_MAP``). So as many numbers as
    there are answers may be missing at the beginning.
    """
    numbers: dict[str, set[int]] = {}
    nodes: dict[str, str | None] = {}
    for write in step.writes:
        if write.task_id != NULL_TASK and isinstance(write.row.idx, int) and write.row.idx >= 0:
            numbers.setdefault(write.task_id, set()).add(write.row.idx)
            nodes[write.task_id] = nodes.get(write.task_id) or pulled(write.row.task_path)
    answers = {write.task_id: _answers(write) for write in step.stored if write.channel == RESUME}
    for task, own in numbers.items():
        missing = max(own) + 1 - len(own)
        if missing > 0 and not (min(own) == missing <= answers.get(task, 0)):
            by = f"node {nodes[task]} (task {task})" if nodes[task] else f"task {task}"
            gone = "1 before it is" if missing == 1 else f"{missing} before it are"
            on = f"its parent, step {step.parent.step} ({step.parent.ref.checkpoint_id})"
            why = f"on {on}, {by} has a write {max(own)}, and {gone} gone"
            yield Fault(Kind.WRITE_GONE, Verdict.DIFFERS, "", why)


def _triggers(step: MadeStep) -> Iterator[Fault]:
    """Channels that make a node due, and that were set though no stored write set them.

    Such a channel holds a value only after a step that wrote to it (langgraph 1.2 ``graph/state.py: attach_branch``,
    ``channels/ephemeral_value.py``). That of a deferred node was written before: it gets a new version, and makes the
    node due, at the end of the step after which no other node is due (``channels/last_value.py: finish``).
    """
    written, state = {write.channel for write in step.stored}, step.state
    for channel in state.updated or ():
        is_new = channel in state.versions and state.versions[channel] != step.parent.versions.get(channel)
        is_set = channel.startswith(BRANCH_TO) and is_new and channel in state.values and channel not in written
        if is_set and not held_back(step.parent.values.get(channel)):
            why = f"it makes node {target(channel)} due, and no task's stored write set it: that write is gone"
            yield Fault(Kind.CHANGED_UNWRITTEN, Verdict.DIFFERS, channel, why)


def _answers(write: TaskWrite) -> int:
    """The number of answers that a task took: its ``__resume__`` is the list of them."""
    return len(write.value) if isinstance(write.value, list) else 1


def _counters(step: MadeStep, written: set[str]) -> Iterator[Fault]:
    """Delta channels that were written to, as their counters say, by a write that isn't stored."""
    older, own = counters(step.parent.metadata), counters(step.state.metadata)
    for channel, (updates, _) in own.items():
        if updates > older.get(channel, (0, 0))[0] and channel not in written and channel in older:
            why = "its counter says that the step wrote to it, and no such write is stored: its value is lost"
            yield Fault(Kind.DELTA_GAP, Verdict.DIFFERS, channel, why)


def _is_set(value: Any) -> bool:
    return isinstance(value, Node) and value.unordered


def _updated(step: MadeStep, written: set[str]) -> Iterator[Fault]:
    """Channels that hold a value under a new version, and that ``updated_channels`` leaves out.

    A topic that the step emptied is one of them, and is stored as ``[]`` (langgraph 1.2 ``pregel/_algo.py:
    apply_writes``, ``channels/topic.py``): empty lists prove nothing. Nor do the names that a barrier has so far, in a
    set, and a value that waits for the run's end: a channel that isn't available yet isn't listed.
    """
    state, versions = step.state, step.parent.versions
    if state.updated is None:
        return
    moved = (c for c, version in state.versions.items() if version != versions.get(c))
    for channel in moved:
        is_left_out = channel not in state.updated and not is_control(channel, state)
        value = state.values.get(channel, ABSENT) if is_left_out else ABSENT
        if not is_empty(value) and not (held_back(value) or _is_set(value)):
            by = "a task wrote to it" if channel in written else "no task wrote to it"
            why = f"it has a new version, updated_channels leaves it out, and {by}"
            yield Fault(Kind.UPDATED_CHANNELS, Verdict.DIFFERS, channel, why)
