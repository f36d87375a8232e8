"""`Snapshot`: next, tasks and interrupts of a checkpoint as ``graph.get_state`` tells them, from stored data alone.

langgraph 1.2 ``pregel/main.py: _prepare_state_snapshot`` and ``pregel/_task_status.py`` need the graph for this; here
the tasks come from what is due (`history.tasks.next_tasks`) and from the tasks that left writes, matched by id, path
and node. Where the data can't tell (a node of v 1 or 2 that never ran) it says unknown, never a wrong name.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from ckpt_cli.history.state.channels import CONTROL_WRITES, ERROR, INTERRUPT
from ckpt_cli.history.tasks.answers import Below, answered, asked, taken
from ckpt_cli.history.tasks.next_tasks import History, Wiring, due, settled, start_settled
from ckpt_cli.history.tasks.node_names import Names
from ckpt_cli.history.tasks.task_ids import identified
from ckpt_cli.model import NULL_TASK
from ckpt_cli.values.known import Interrupt, interrupts
from ckpt_cli.values.state import State, TaskWrite


class Status(StrEnum):
    """How far a task or the head of a thread has come."""

    DONE = "done"
    """A thread with nothing left to run."""
    FINISHED = "finished"
    """A task that left an output."""
    WAITING = "waiting"
    """For the answer to an interrupt."""
    FAILED = "failed"
    """With an error, to be run again; with the answers that it has taken, if it asked before."""
    ANSWERED = "answered"
    """Its questions have answers that it hasn't taken yet: it goes on with them when the thread is resumed."""
    DUE = "due"
    """A task that has not run: at a breakpoint, or its process ended."""
    UNFINISHED = "unfinished"
    """A thread whose next tasks have not run, or have and left no checkpoint."""
    UNKNOWN = "unknown"
    """A thread whose next node can't be known: of v 1 or 2, or damaged."""


class Task(NamedTuple):
    """One task of the step that begins at a checkpoint.

    Attributes:
        id: None where nothing was recorded under it and it can't be computed.
        node: None where it can't be known.
        path: ``~__pregel_pull, NODE`` and so on, where stored.
        error: as stored: ``repr`` text, or ``{"message", "name"}`` in JavaScript.
        interrupts: the questions it asked last, answered or not.
        writes: what it wrote, control writes included.
        answered: those of its questions that have an answer it hasn't taken yet, by id; with the answer where it can
            be read.
    """

    id: str | None
    node: str | None
    status: Status
    path: str = ""
    error: Any = None
    interrupts: Sequence[Interrupt] = ()
    writes: Sequence[TaskWrite] = ()
    answered: Mapping[str, Sequence[Any]] = MappingProxyType({})

    @property
    def answers(self) -> list[Any]:
        """What it goes on with when the thread is resumed, as far as that can be read."""
        return [answer for some in self.answered.values() for answer in some]

    @property
    def open(self) -> list[Interrupt]:
        """Those of its questions that have no answer yet."""
        return [one for one in self.interrupts if one.id not in self.answered]


class Snapshot(NamedTuple):
    """What runs next at a checkpoint.

    Attributes:
        tasks: the known tasks of the step, Sends first and then by name.
        consumed: a child continues this checkpoint, so nothing of it is waiting any more.
        complete: every task of the step is in `tasks`; never known where the checkpoint is damaged.
    """

    tasks: list[Task]
    consumed: bool = False
    complete: bool = True

    @property
    def next(self) -> list[str] | None:
        """The nodes still to run; of a checkpoint with a child, all that ran; None where that can't be known."""
        names = [task.node for task in self.tasks if self.consumed or task.status is not Status.FINISHED]
        known = [name for name in names if name is not None]
        return known if self.complete and len(known) == len(names) else None

    @property
    def interrupts(self) -> list[Interrupt]:
        """The questions that wait for an answer."""
        waiting = [] if self.consumed else [task for task in self.tasks if task.status is Status.WAITING]
        return [interrupt for task in waiting for interrupt in task.open]

    @property
    def status(self) -> Status:
        """How far a thread has come whose head this is."""
        found = {task.status for task in self.tasks}
        for status in (Status.WAITING, Status.FAILED):
            if status in found:
                return status
        if self.tasks:  # even if all have finished: their writes have not become a checkpoint yet
            return Status.UNFINISHED
        return Status.DONE if self.complete else Status.UNKNOWN


def snapshot(
    state: State,
    writes: Sequence[TaskWrite],
    *,
    consumed: bool = False,
    history: History = tuple,
    namespaces: Callable[[], Iterable[str]] = tuple,
    ended: Callable[[], bool] = bool,
    below: Below | None = None,
) -> Snapshot:
    """What runs next at a checkpoint, and how far its tasks have come.

    Args:
        state: the checkpoint.
        writes: those stored on it, in canonical order.
        consumed: whether a child continues it.
        history: the other checkpoints of the same graph; asked only if the checkpoint leaves something open.
        namespaces: those of the thread; asked only if a task's node is not found otherwise, or a question waits.
        ended: whether the run of this subgraph is known to have ended here; asked only if nothing else tells.
        below: what the subgraphs left that wait too; they hold the answers to their own questions.
    """
    known = Wiring(state, history)
    complete = known.learn_until(lambda: settled(state, known) and start_settled(state, known)) or settled(state, known)
    complete = complete and not state.damage
    names = Names(state, writes, known, namespaces)
    if names.unmatched(due(state, known)):
        known.learn_until(lambda: False)
        names = Names(state, writes, known, namespaces)
    recorded = _by_task(writes)
    tasks: list[Task] = []
    for one in due(state, known):
        task_id = names.task_of(one)
        tasks.append(_task(task_id, one.node or names.node(task_id), recorded.pop(task_id or "", [])))
    if not complete:
        tasks += [_task(i, names.node(i), kept) for i, kept in recorded.items() if names.of_this_step(i)]
    if not consumed:
        tasks = [_weighed(task, writes, namespaces, below) for task in tasks]
    ended_here = complete or (not tasks and not consumed and not state.damage and ended())
    return Snapshot(tasks, consumed, ended_here or (not state.damage and _all_told(tasks)))


def _weighed(
    task: Task, writes: Sequence[TaskWrite], namespaces: Callable[[], Iterable[str]], below: Below | None
) -> Task:
    """A task whose questions are all answered waits no more; one that failed with its answers has failed."""
    ids = {i.id for i in task.interrupts if i.id} if task.status is Status.WAITING else set()
    if not ids:
        return task
    found = {i: one for i in sorted(ids) if (one := asked(writes, i, namespaces, below)) is not None}
    if task.error is not None:
        called = below is not None and any(ns.rpartition("|")[2].partition(":")[2] == task.id for ns in namespaces())
        if all(i in found and taken(found[i], i, called) for i in ids):
            return task._replace(status=Status.FAILED, answered={i: one.answers[-1:] for i, one in found.items()})
    told = {i: one.answers[-1:] for i, one in found.items() if answered(one, i)}
    status = Status.ANSWERED if told and told.keys() == {i.id for i in task.interrupts} else task.status
    return task._replace(status=status, answered=told) if told else task


def _all_told(tasks: list[Task]) -> bool:
    """Whether tasks that were only found by their writes are all there are: an interrupt lets its siblings finish."""
    return any(t.status is Status.WAITING for t in tasks) and all(t.status is not Status.FAILED for t in tasks)


def _by_task(writes: Iterable[TaskWrite]) -> dict[str, list[TaskWrite]]:
    found: dict[str, list[TaskWrite]] = {}
    for write in writes:
        if write.task_id != NULL_TASK:
            found.setdefault(write.task_id, []).append(write)
    return found


def _task(task_id: str | None, node: str | None, writes: list[TaskWrite]) -> Task:
    questions = [i for write in writes if write.channel == INTERRUPT and write.read for i in interrupts(write.value)]
    error = next((write.value for write in writes if write.channel == ERROR and write.read), None)
    path = next((write.row.task_path for write in writes if write.row.task_path), "")
    return Task(task_id, node, status_of(writes), path, error, [identified(i) for i in questions], writes)


def status_of(writes: Sequence[TaskWrite]) -> Status:
    """How far the task has come that left these writes.

    A task is finished if and only if it has an output write; failed ones may run again and then ask.
    """
    channels = {write.channel for write in writes}
    if channels - CONTROL_WRITES:
        return Status.FINISHED
    if INTERRUPT in channels:
        return Status.WAITING
    return Status.FAILED if ERROR in channels else Status.DUE


def graph_of(ns: str) -> str:
    """The path of nodes to a subgraph: its namespace without the ids of the tasks that called it."""
    return "|".join(part.partition(":")[0] for part in ns.split("|"))
