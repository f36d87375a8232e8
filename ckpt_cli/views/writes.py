"""The view of ``ckpt writes``: the writes stored on a checkpoint, by task."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ckpt_cli.views.base import View
from ckpt_cli.views.interrupts import InterruptView
from ckpt_cli.views.sends import SendView


class Written(NamedTuple):
    """One write.

    Attributes:
        idx: the index of the write among the writes of its task; text if the database doesn't store an integer there.
        kind: ``value`` (to one of the user's channels), ``send``, ``trigger`` (to one of the graph's own channels),
            ``interrupt``, ``resume``, ``error``, ``nothing`` (the task ran and wrote to no channel).
        to: the node that a Send calls.
        interrupts: the questions, with their ids.
        tag: the payload's type tag.
        size: the payload's size in bytes.
    """

    channel: str
    idx: int | str
    kind: str
    value: Any
    to: str | None
    interrupts: list[InterruptView]
    tag: str
    size: int


class TaskWrites(NamedTuple):
    """The writes of one task.

    Attributes:
        node: null if it can't be known, and for writes that no task made.
        by: ``task``; ``input`` (input and answers, which belong to the step); ``update`` (``update_state``); ``call``
            (a task that another task started); ``run`` (a task of a run with ``durability="exit"``, which stored this
            at its end, on the checkpoint from which it began).
        status: ``finished``, ``waiting``, ``answered``, ``failed``, ``due``; "" if no task made the writes.
        path: the task's path, "" if none is stored.
        send: the Send that started the task; null for a task of another kind, or if the checkpoint can't be read.
    """

    id: str
    node: str | None
    by: str
    status: str
    path: str
    writes: list[Written]
    send: SendView | None = None


@dataclass
class WritesView(View):
    """The writes stored on one checkpoint.

    Attributes:
        consumed: whether the checkpoint has a child; then the writes are history, else they are pending.
        problem: which part of the checkpoint besides its channels can't be read, so that nodes may be missing; null if
            everything can be read.
    """

    verb: ClassVar[str] = "writes"
    rows_field: ClassVar[str] = "tasks"
    full = False

    thread_id: str
    ns: str
    checkpoint_id: str
    short: str
    step: int | None
    consumed: bool
    tasks: list[TaskWrites]
    problem: str | None = None
