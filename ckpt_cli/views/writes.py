"""What ``ckpt writes`` tells: the writes stored on a checkpoint, by task."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ckpt_cli.views.base import View
from ckpt_cli.views.interrupts import InterruptView


class Written(NamedTuple):
    """One write.

    Attributes:
        idx: its place among its task's writes; text where what is stored there is no integer.
        kind: ``value`` (to a channel of the user's), ``send``, ``trigger`` (to one of the graph's own), ``interrupt``,
            ``resume``, ``error``, ``nothing`` (the task ran and wrote to no channel).
        to: the node that a Send calls.
        interrupts: the questions, with their ids.
        tag: the payload's type tag.
        size: its bytes.
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
    """What one task wrote.

    Attributes:
        node: null where it can't be known, and for writes that no task made.
        by: ``task``; ``input`` (input and answers, which belong to the step); ``update`` (``update_state``); ``call``
            (a task that another one started); ``run`` (a whole run with ``durability="exit"``).
        status: ``finished``, ``waiting``, ``answered``, ``failed``, ``due``; "" where no task made them.
        path: the task's path, "" where none is stored.
    """

    id: str
    node: str | None
    by: str
    status: str
    path: str
    writes: list[Written]


@dataclass
class WritesView(View):
    """The writes stored on one checkpoint.

    Attributes:
        consumed: a child continues the checkpoint, so they are history; else they are pending.
        problem: what beside its channels can't be read of the checkpoint, which tells the nodes; null if all can.
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
