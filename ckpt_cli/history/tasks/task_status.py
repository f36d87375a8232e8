"""`Task` and `Status`: one task of a step, and how far it, or a thread, has come."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from ckpt_cli.history.state.channels import CONTROL_WRITES, ERROR, INTERRUPT
from ckpt_cli.history.tasks.next_tasks import Packet
from ckpt_cli.values.langgraph_values import Interrupt
from ckpt_cli.values.state import TaskWrite


class Status(StrEnum):
    """How far a task or the head of a thread has come."""

    DONE = "done"
    """A thread with nothing left to run."""
    FINISHED = "finished"
    """A task that left an output."""
    WAITING = "waiting"
    """A task, or a thread, that waits for the answer to an interrupt."""
    FAILED = "failed"
    """A task that ended with an error. It runs again when the thread is resumed, with the answers it has taken."""
    ANSWERED = "answered"
    """A task with answers that it hasn't taken yet: it continues with them when the thread is resumed."""
    DUE = "due"
    """A task that has left nothing: its run was stopped or killed, or goes on; the data look alike."""
    LEFT = "left"
    """A task of a subgraph without a result, although the call of the subgraph has finished: no run continues it.

    It ran and left to the graph above by ``Command(graph=PARENT)``, or the call ended before it ran.
    """
    UNFINISHED = "unfinished"
    """A thread whose next tasks have not run, or have run and left no checkpoint."""
    UNKNOWN = "unknown"
    """A thread whose next node can't be known: it never ran (checkpoint format `v` 1 or 2), or data is damaged."""


class Task(NamedTuple):
    """One task of the step that begins at a checkpoint.

    Attributes:
        id: None if no stored row has this task's id and the id can't be computed.
        node: None if the node can't be known.
        path: ``~__pregel_pull, NODE`` and so on, where stored.
        error: as stored: ``repr`` text, or ``{"message", "name"}`` in JavaScript.
        interrupts: the questions that the task asked last, answered or not.
        writes: all the task's writes, control writes included.
        answered: question id to ``[answer]``, for each question whose answer the task hasn't taken yet; ``[]`` if the
            answer can't be read.
        packet: the Send that started the task; None for a task of another kind.
        by_goto: whether only a Command's pending ``goto`` starts the task (`history.tasks.pending_goto`). A child of
            the checkpoint has the task only if a run makes the child.
    """

    id: str | None
    node: str | None
    status: Status
    path: str = ""
    error: Any = None
    interrupts: Sequence[Interrupt] = ()
    writes: Sequence[TaskWrite] = ()
    answered: Mapping[str, Sequence[Any]] = MappingProxyType({})
    packet: Packet | None = None
    by_goto: bool = False

    @property
    def has_failed(self) -> bool:
        """Whether the task ended with an error and hasn't finished; it may have asked too, before or since.

        Nothing shows which came first, nor whether a run with a recorded answer failed. ``get_state`` has the error.
        """
        has_error = any(write.channel == ERROR for write in self.writes)
        return self.status is Status.FAILED or (self.status in (Status.WAITING, Status.ANSWERED) and has_error)

    @property
    def answers(self) -> list[Any]:
        """The answers, as far as they can be read, with which the task continues when the thread is resumed."""
        return [answer for some in self.answered.values() for answer in some]

    @property
    def open(self) -> list[Interrupt]:
        """The questions of the task that have no answer yet; none if the task has finished."""
        if self.status is Status.FINISHED:
            return []
        return [one for one in self.interrupts if one.id not in self.answered]


def status_of(writes: Sequence[TaskWrite]) -> Status:
    """How far the task that left these writes has come.

    A task is finished if and only if it has an output write. A failed task may run again and then ask a question, so a
    question counts more than an error.
    """
    channels = {write.channel for write in writes}
    if channels - CONTROL_WRITES:
        return Status.FINISHED
    if INTERRUPT in channels:
        return Status.WAITING
    return Status.FAILED if ERROR in channels else Status.DUE
