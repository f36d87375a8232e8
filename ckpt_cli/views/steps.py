"""One checkpoint in one line: what `log` and `tree` tell of it. Field names are the JSON contract."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ckpt_cli.views.interrupts import InterruptView


@dataclass(slots=True)
class ChangeView:
    """What one step did to one channel.

    Attributes:
        kind: ``added`` (items of a list, messages), ``edited`` (items in their places), ``set`` (it is `after` now),
            ``summed`` (a number was added), ``wrote`` (`after` was given to the channel's reducer, or to a channel of
            which it isn't known whether it keeps the last value: what stands there now isn't told), ``same`` (written,
            as it was before), ``changed`` (from `before`), ``replaced`` (an overwrite), ``several`` (so many tasks
            wrote), ``sent`` (nodes called), ``unread`` (too long to be read for this), ``unreadable`` (it can't be
            decoded).
        added: items or messages added, tasks that wrote, Sends.
        removed: messages taken out.
        after: what was written; for ``summed`` the sum of that, for ``added`` the new items, for ``edited`` those and
            the edited.
        to: node to number of Sends.
        size: bytes written.
        text: the same in words.
        edited: items that became others in their places.
        unsure: for ``set``, that what stood there before was not read, so that it may be as it was.
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
        node: null where it can't be known.
        status: ``finished``, ``waiting``, ``answered``, ``failed``, ``due``.
        error: as stored.
        changes: what a finished one has written; it is kept until its siblings are done.
        answers: those recorded that it has not taken yet.
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
    """That a task asked (``interrupt``) or failed (``error``) here; `over` once it finished after all."""

    kind: str
    node: str | None
    over: bool


@dataclass(slots=True)
class StepView:
    """A checkpoint.

    Attributes:
        short: its short form, unique in the thread.
        parent_id: as stored; `missing` if no such checkpoint is there.
        step: null where neither metadata nor id tells it.
        source: ``input``, ``loop``, ``update``, ``fork``; "" where not recorded.
        nodes: the nodes that made it, to their number of tasks; for an update the node it was made as, where recorded.
        changes: null where nothing that was read tells.
        time: ISO 8601, UTC; null where the id doesn't tell.
        head: the saver's own latest one.
        branch: the number of the branch it is the tip of.
        children: how many checkpoints go on from here.
        status: of a tip that was looked into: ``done``, ``waiting``, ``failed``, ``unfinished``, ``unknown``.
        next: the nodes to run next, of such a tip; null where unknown.
        tasks: of such a tip, if it isn't done.
        halts: questions and errors of tasks that started here.
        tags: the names that ``ckpt tag`` gave it.
        problem: what of it can't be read, null where all that was read of it could; most are never looked into.
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
