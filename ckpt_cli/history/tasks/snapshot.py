"""`Snapshot`: next, tasks, interrupts, status (waiting, failed …) of one checkpoint, as in ``get_state``.

They come from stored data alone. langgraph 1.2 ``pregel/main.py: _prepare_state_snapshot`` and
``pregel/_task_status.py`` need the graph for this. Here the tasks are those that are due (`history.tasks.next_tasks`)
and those that left writes, matched by id, path and node. If the data doesn't show a task's node, it is unknown and
never guessed. An example is a node that never ran, in a checkpoint of format `v` 1 or 2.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ckpt_cli.history.state.channels import ERROR, INTERRUPT
from ckpt_cli.history.tasks.answered_tasks import with_answers
from ckpt_cli.history.tasks.answers import Below, WaitingQuestions
from ckpt_cli.history.tasks.error_handlers import is_routed
from ckpt_cli.history.tasks.left_answers import old_answers
from ckpt_cli.history.tasks.next_tasks import (
    History,
    Wiring,
    due_tasks,
    is_settled,
    is_start_settled,
    packets,
)
from ckpt_cli.history.tasks.node_names import Names
from ckpt_cli.history.tasks.pending_goto import deferral_of, due_by_goto, with_goto
from ckpt_cli.history.tasks.recorded_tasks import failed_entrypoint, recorded_task, writes_by_task
from ckpt_cli.history.tasks.task_status import Status as Status
from ckpt_cli.history.tasks.task_status import Task as Task
from ckpt_cli.history.tasks.task_status import status_of as status_of
from ckpt_cli.values.langgraph_values import Interrupt
from ckpt_cli.values.state import State, TaskWrite

_ENDED = (Status.FINISHED, Status.LEFT)
_HANDLER_DUE = Task(None, None, Status.DUE)


class Snapshot(NamedTuple):
    """What runs next at a checkpoint.

    Attributes:
        tasks: the known tasks of the step, Sends first and then by name.
        consumed: whether the checkpoint has a child; then none of the tasks waits any more.
        old_answers: the answer that an earlier ``Command(resume=…)`` left, which the next run gives to the first
            question that it asks; see `left_answers.old_answers`.
        complete: whether `tasks` surely has every task of the step; False for a damaged checkpoint, for example.
        handlers: task id of a failed task to the task of its error handler; without id and node if it left nothing. If
            the step goes on, the handler runs again, even if it has finished, and the failed task doesn't (langgraph
            1.2.22 ``pregel/_loop.py: _resume_error_handlers_if_applicable``). `next` has none, as in ``get_state``.
        undecided: nodes to which a Command's pending ``goto`` leads, and which it starts unless they are deferred:
            nothing shows whether they are.
        unplaced: recorded tasks that ask or failed, whose node nothing shows although it is known which nodes are due.
            Each is a task of a due node, or a call by a task of the step, which may have gone on without it.
    """

    tasks: list[Task]
    consumed: bool = False
    complete: bool = True
    old_answers: Sequence[Any] = ()
    handlers: Mapping[str, Task] = MappingProxyType({})
    undecided: Sequence[str] = ()
    unplaced: Sequence[Task] = ()

    @property
    def all_tasks(self) -> list[Task]:
        """The tasks of the step, and those of error handlers."""
        return [*self.tasks, *self.handlers.values()]

    @property
    def failed(self) -> list[Task]:
        """The tasks that failed, also error handlers, without those whose failure an error handler handles."""
        return [t for t in self.all_tasks if t.status is Status.FAILED and t.id not in self.handlers]

    @property
    def with_error(self) -> list[Task]:
        """The tasks of `failed`, those that asked and ended with an error too, and those of `raised_after`."""
        failed = [task for task in self.all_tasks if task.has_failed and task.id not in self.handlers]
        return failed or self.raised_after

    @property
    def raised_after(self) -> list[Task]:
        """The tasks with a result and an error, if every task of the step has finished and no checkpoint followed.

        Such a run mostly ended in the conditional edge behind the node. ``get_state`` has the error, but the next run
        begins by applying what the node wrote, and doesn't take the edge (langgraph 1.2.24 ``pregel/_loop.py:
        _reapply_writes_to_succeeded_nodes``). A node that failed, then finished, and whose process was killed before
        the step ended leaves the same data.
        """
        if self.consumed or not self.complete or any(task.status not in _ENDED for task in self.all_tasks):
            return []
        return [task for task in self.all_tasks if any(write.channel == ERROR for write in task.writes)]

    def only(self, tasks: Iterable[Task]) -> "Snapshot":
        """The snapshot with these of its tasks and their error handlers."""
        kept = list(tasks)
        ids = {task.id for task in kept}
        return self._replace(tasks=kept, handlers={i: task for i, task in self.handlers.items() if i in ids})

    @property
    def next(self) -> list[str] | None:
        """The nodes that must still run, or all nodes that ran if the checkpoint has a child; None if unknown."""
        names = [task.node for task in self.tasks if self.consumed or task.status not in _ENDED]
        known = [name for name in names if name is not None]
        return known if self.complete and len(known) == len(names) else None

    @property
    def interrupts(self) -> list[Interrupt]:
        """The questions that wait for an answer."""
        waiting = [] if self.consumed else [task for task in self.all_tasks if task.status is Status.WAITING]
        return [interrupt for task in waiting for interrupt in task.open]

    @property
    def status(self) -> Status:
        """How far the thread has come, if this is its head: the first of `statuses`."""
        return self.statuses[0]

    @property
    def statuses(self) -> list[Status]:
        """Every status that the thread has, if this is its head; only WAITING and FAILED can come together."""
        of_tasks = {task.status for task in self.all_tasks}
        halted = [Status.WAITING] * (Status.WAITING in of_tasks) + [Status.FAILED] * bool(self.with_error)
        if halted:
            return halted
        if of_tasks - {Status.LEFT}:  # even if all have finished: their writes have not become a checkpoint yet
            return [Status.UNFINISHED]
        return [Status.DONE if self.complete else Status.UNKNOWN]


def snapshot(
    state: State,
    writes: Sequence[TaskWrite],
    *,
    consumed: bool = False,
    history: History = tuple,
    namespaces: Callable[[], Iterable[str]] = tuple,
    ended: Callable[[], bool] = bool,
    below: Below | None = None,
    earlier: Callable[[], str | None] = lambda: None,
    joins: Callable[[], Iterable[str]] = tuple,
    goto: bool = True,
) -> Snapshot:
    """What runs next at a checkpoint, and how far its tasks have come.

    Args:
        state: the checkpoint.
        writes: the writes stored on it, in canonical order.
        consumed: whether the checkpoint has a child, which continues it.
        history: gives the other checkpoints of the same graph; called only if this checkpoint is not enough.
        namespaces: gives the thread's namespaces; called only if a task's node is still unknown, or a question waits.
        ended: says whether the call of this subgraph has finished; called only if a task has left nothing, or if
            nothing else shows the end.
        below: what is stored in the thread's subgraphs.
        earlier: gives the node that took this input at a checkpoint that this one copies; called if nothing else does.
        joins: gives joins of other threads; called only if no checkpoint of this one shows the node of a task.
        goto: whether the tasks that a Command's pending ``goto`` starts are among them; ``get_state`` lacks these.
    """
    stored, state = state, with_goto(state, writes) if goto else state
    (wiring := Wiring(stored, history)).learn_names(state.values, state.v)
    complete = _learn_listeners(state, wiring) and not state.damage
    names, recorded = _name_tasks(state, writes, wiring, namespaces, joins, below), writes_by_task(writes)
    questions = WaitingQuestions(writes, namespaces, below)
    due = _due(state, wiring, names, recorded, earlier, questions)
    found = zip(due, due_by_goto(stored, state, wiring), strict=False)
    tasks, undecided = _decide_goto(stored, wiring, found, consumed=consumed)
    complete = complete and not undecided
    handlers = [recorded_task(i, handler.node, recorded.pop(i, [])) for i, handler in names.handlers.items()]
    unplaced = _unplaced(tasks, recorded, names) if complete and not consumed and state is stored else []
    if not complete:
        tasks += [recorded_task(i, names.node(i), own) for i, own in recorded.items() if names.of_this_step(i)]
    if not consumed:
        tasks, handlers = ([with_answers(task, questions) for task in some] for some in (tasks, handlers))
    if not consumed and any(task.status is Status.DUE for task in tasks) and ended():
        tasks = list(map(_left, tasks))
    ended_here = complete or (not tasks and not consumed and not state.damage and ended())
    is_complete = ended_here or (not state.damage and not undecided and _found_all(tasks))
    by_failed = _handlers(() if consumed else tasks, names, handlers)
    left = () if consumed else old_answers(writes, [*tasks, *handlers])
    return Snapshot(tasks, consumed, is_complete, left, by_failed, undecided, unplaced)


def _handlers(tasks: Iterable[Task], names: Names, recorded: Iterable[Task]) -> dict[str, Task]:
    """See `Snapshot.handlers`; those that left nothing are of `tasks`."""
    failed = (task for task in tasks if task.status is Status.FAILED and is_routed(task.writes))
    due = {task.id: _HANDLER_DUE for task in failed if task.id is not None}
    return due | dict(zip((handler.failed for handler in names.handlers.values()), recorded, strict=True))


def _learn_listeners(state: State, wiring: Wiring) -> bool:
    """Whether it is known what each channel triggers; who takes the input is learned too, if a checkpoint shows it."""
    return wiring.learn_until(lambda: is_settled(state, wiring) and is_start_settled(state, wiring)) or is_settled(
        state, wiring
    )


def _name_tasks(
    state: State,
    writes: Sequence[TaskWrite],
    wiring: Wiring,
    namespaces: Callable[[], Iterable[str]],
    joins: Callable[[], Iterable[str]],
    below: Below | None,
) -> Names:
    names = Names(state, writes, wiring, namespaces, below=below)
    if not names.unmatched(due_tasks(state, wiring)):
        return names
    wiring.learn_until(lambda: False)  # learn from all other checkpoints
    return Names(state, writes, wiring, namespaces, joins, below)


def _decide_goto(
    stored: State, wiring: Wiring, tasks: Iterable[tuple[Task, bool]], *, consumed: bool
) -> tuple[list[Task], list[str]]:
    """The tasks of a step without those of deferred nodes, which a goto doesn't start; the nodes that may be deferred.

    A task that left something has run, so its node isn't deferred. Each task comes with whether only a goto starts it.
    """
    decided, undecided = list[Task](), list[str]()
    for task, by_goto in tasks:
        is_sure = not by_goto or bool(task.writes) or task.packet is not None or task.node is None
        deferral = False if is_sure else deferral_of(stored, task.node or "", wiring)
        if deferral is False:
            decided.append(task._replace(by_goto=True) if by_goto else task)
        elif deferral is None and not consumed:
            undecided.append(task.node or "")
    return decided, undecided


def _due(
    state: State,
    wiring: Wiring,
    names: Names,
    recorded: dict[str, list[TaskWrite]],
    earlier: Callable[[], str | None],
    questions: WaitingQuestions,
) -> Iterator[Task]:
    """The tasks that are due, each with its writes, which are taken out of `recorded`."""
    sends = packets(state)
    for due in due_tasks(state, wiring):
        task_id, node = (names.task_of(due), due.node) if due.node else names.input_task(earlier)
        own = recorded.pop(task_id or "", [])
        if not own and due.node is None:
            candidates = [recorded[i] for i in names.entrypoints() if i in recorded]
            own = failed_entrypoint(candidates, lambda one: with_answers(one, questions))
        task = recorded_task(task_id, node, own)
        yield task if due.packet is None else task._replace(packet=sends[due.packet])


def _unplaced(tasks: Iterable[Task], others: Mapping[str, list[TaskWrite]], names: Names) -> list[Task]:
    """See `Snapshot.unplaced`; [] if every due node has a recorded task.

    Not asked where a goto is pending: the task of a Send that it replaced is none of these.

    Args:
        tasks: those that are due.
        others: the writes of the other recorded tasks, by task id; of them many may be calls that have returned.
        names: their nodes.
    """
    if not any(task.status is Status.DUE and task.packet is None and task.node is not None for task in tasks):
        return []
    halted = {i: own for i, own in others.items() if any(write.channel in (INTERRUPT, ERROR) for write in own)}
    found = (
        recorded_task(i, None, own) for i, own in halted.items() if names.of_this_step(i) and names.node(i) is None
    )
    return [task for task in found if task.status in (Status.WAITING, Status.FAILED)]


def _left(task: Task) -> Task:
    return task._replace(status=Status.LEFT) if task.status is Status.DUE else task


def _found_all(tasks: list[Task]) -> bool:
    """Whether the tasks that were found by their writes are all tasks of the step.

    This is so if one task waits for an answer and none failed: at an interrupt, LangGraph lets the other tasks finish.
    """
    return _has_waiting(tasks) and all(task.status is not Status.FAILED for task in tasks)


def _has_waiting(tasks: Iterable[Task]) -> bool:
    return any(task.status is Status.WAITING for task in tasks)


def graph_of(ns: str) -> str:
    """The path of nodes to a subgraph: its namespace without the ids of the tasks that called it."""
    return "|".join(part.partition(":")[0] for part in ns.split("|"))
