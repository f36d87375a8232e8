"""The line about one checkpoint in `log` and `tree`. Field names are the JSON contract."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ckpt_cli.views.interrupts import InterruptView


@dataclass(slots=True)
class ChangeView:
    """What one step did to one channel.

    Attributes:
        kind: ``added`` (items of a list, messages), ``edited`` (items changed in place), ``set`` (the value is now
            `after`), ``summed`` (a number was added), ``wrote`` (`after` was written to a channel that has a reducer or
            may have one; the value of the channel was not read), ``same`` (the write left the value the same),
            ``changed`` (from `before`), ``replaced`` (an overwrite), ``several`` (several tasks wrote), ``sent`` (nodes
            were called), ``unread`` (too long to be read for this), ``unreadable`` (can't be decoded).
        added: how many items or messages were added, tasks wrote, or Sends there were.
        removed: how many messages were removed.
        after: what was written; for ``summed`` the sum of it, for ``added`` the new items, for ``edited`` the new and
            the edited items.
        to: the nodes that were called, to their number of Sends.
        size: how many bytes were written.
        text: the change in words.
        edited: how many items were changed in place.
        unsure: for ``set``, that the previous value was not read, so that it may be the same.
    """

    channel: str
    kind: str
    added: int
    removed: int
    before: Any
    after: Any
    to: Mapping[str, int]
    size: int
    text: str = ""
    edited: int = 0
    unsure: bool = False


@dataclass(slots=True)
class TaskView:
    """A task of the step that has not been finished.

    Attributes:
        node: null if it can't be known.
        status: ``finished``, ``waiting``, ``answered``, ``failed``, ``due``.
        error: as stored.
        changes: what a finished task has written, which is kept until its siblings have finished.
        answers: the recorded answers that it has not taken yet.
    """

    id: str | None
    node: str | None
    status: str
    error: Any = None
    interrupts: list[InterruptView] = field(default_factory=list)
    changes: list[ChangeView] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class HaltView:
    """A task that asked (``interrupt``) or failed (``error``) at this checkpoint; `over` if it finished after all."""

    kind: str
    node: str | None
    over: bool


@dataclass(slots=True)
class StepView:
    """A checkpoint.

    Attributes:
        short: its short form, unique in the thread.
        parent_id: as stored; `missing` if that checkpoint is not in the database.
        step: null if neither metadata nor the id holds it.
        source: ``input``, ``loop``, ``update``, ``fork``; "" if not recorded.
        nodes: the nodes that made it, to their number of tasks; for an update, the node it was made as, if recorded.
        changes: null if nothing that was read shows them.
        time: ISO 8601, UTC; null if the id holds none.
        head: whether it is the latest one for the saver.
        branch: the number of the branch whose tip it is.
        children: how many children it has.
        status: of a tip that was decoded: ``done``, ``waiting``, ``failed``, ``unfinished``, ``unknown``.
        next: of such a tip, the nodes to run next; null if unknown.
        tasks: of such a tip that isn't done, the tasks.
        halts: questions and errors of tasks that started here.
        tags: the names that ``ckpt tag`` gave it.
        problem: which part of it can't be read; null if everything that was read could be. Most checkpoints are never
            decoded.
    """

    checkpoint_id: str
    short: str
    parent_id: str | None
    ns: str
    step: int | None
    source: str
    nodes: dict[str, int]
    changes: list[ChangeView] | None
    time: str | None
    head: bool
    branch: int | None
    children: int
    missing: bool = False
    size: int | None = None
    status: str | None = None
    next: list[str] | None = None
    tasks: list[TaskView] = field(default_factory=list)
    halts: list[HaltView] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    problem: str | None = None
