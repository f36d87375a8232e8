"""The line about one checkpoint in `log` and `tree`. Field names are the JSON contract."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ckpt_cli.views.interrupts import InterruptView
from ckpt_cli.views.sends import SendView


class ChangeView(NamedTuple):
    """How one step changed one channel.

    Attributes:
        kind: ``added`` (items of a list, messages), ``edited`` (items changed in place), ``set`` (the value is now
            `after`; there was none, or it is unknown), ``summed`` (the number grew by `after`), ``same`` (the value is
            as before), ``changed`` (from `before` to `after`), ``replaced`` (nothing is left of the old value),
            ``cleared`` (the channel held `before`, and holds nothing now), ``corrected`` (the task `task`, or the
            entrypoint, is to run with the argument `after`; it was `before`),
            ``wrote`` (`after` was written; what the channel made of it was not read), ``several`` (the same, for
            several values), ``given`` (`after` is an input), ``sent`` (nodes were called), ``unread`` (too long to be
            read for this), ``unreadable`` (can't be decoded), ``unstored`` (what was written isn't stored).
        added: the number of added items or messages; for ``several``, the number of values; for ``sent``, the number
            of Sends.
        removed: the number of removed items or messages.
        before: the state's value before the step, for ``changed``, ``cleared`` and ``same``.
        after: the state's value after the step; for ``summed`` the sum of the written numbers, for ``added`` the new
            items, for ``edited`` the new and the edited items; for ``wrote``, ``several`` and ``given`` what was
            written.
        to: the nodes that were called, each with its number of Sends.
        size: the number of bytes that were written.
        text: the change in words.
        edited: the number of items that were changed in place.
        unsure: for ``set``, true if the previous value was not read; then both values may be the same.
        task: for ``corrected``, the node of the task, with the number of its Send; "" for an entrypoint.
        unwritten: true if the channel changed without a new version, so nothing wrote to it; code that changes a value
            in place does that.
        by_command: for ``sent``, true if a ``Command`` given as input called the nodes, so that they ran in this step.
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
    task: str = ""
    unwritten: bool = False
    by_command: bool = False


class TaskView(NamedTuple):
    """A task of an unfinished step.

    Attributes:
        node: null if it can't be known.
        status: ``finished``, ``waiting``, ``answered``, ``failed``, ``due``.
        error: the error as it is stored.
        changes: the changes by a finished task; its writes are kept until its siblings have finished.
        answers: the recorded answers that the task has not taken yet.
        send: the Send that started the task; null for a task of another kind, and if the tip wasn't decoded.
        inside: for a task that failed in a subgraph, the nodes there, the outermost first, down to the one that failed;
            empty if it failed itself, or if what is stored doesn't show the node.
        handler: the node of the error handler that ran for this task after it failed; null if none did. Then this is
            no failure of the thread: the handler's own task says how it went on.
        unseen: for the task of a Send, whether no task of its node is recorded in this namespace. Then the graph may
            lack the node; LangGraph ignores such a Send.
        failed_too: for a waiting, answered or finished task, whether it ended with an error too; nothing stored shows
            which came first. Of a finished one only where every task of the step has finished.
    """

    id: str | None
    node: str | None
    status: str
    error: Any = None
    interrupts: Sequence[InterruptView] = ()
    changes: Sequence[ChangeView] = ()
    answers: Sequence[Any] = ()
    send: SendView | None = None
    inside: Sequence[str] = ()
    handler: str | None = None
    unseen: bool = False
    failed_too: bool = False

    @property
    def statuses(self) -> tuple[str, ...]:
        """The status, and ``failed`` beside ``waiting``; no ``failed`` of a task whose error handler ran."""
        failed = ("failed",) if self.failed_too or self.status == "failed" else ()
        return (*((self.status,) if self.status != "failed" else ()), *(failed if self.handler is None else ()))


class HaltView(NamedTuple):
    """A task that asked (``interrupt``) or failed (``error``) at this checkpoint.

    Attributes:
        over: whether it finished later.
        send: the Send that started the task; null for a task of another kind, and if the checkpoint wasn't decoded.
        inside: the same as in `TaskView`; empty if the checkpoint wasn't decoded.
        handler: for an error at a decoded tip, the same as in `TaskView`; else null.
    """

    kind: str
    node: str | None
    over: bool
    send: SendView | None = None
    inside: Sequence[str] = ()
    handler: str | None = None


class CommandView(NamedTuple):
    """A Command that a run was given and that no step has used yet; the next run applies it first.

    Attributes:
        channels: the channels of the user's state to which its ``update`` wrote.
        goto: the nodes to which its ``goto`` leads; null for a Send that wasn't read. A goto starts no deferred node.
    """

    channels: Sequence[str]
    goto: Sequence[str | None]


class StepView(NamedTuple):
    """A checkpoint.

    Attributes:
        short: the short form of the id, unique in the thread.
        parent_id: the parent's id as it is stored.
        missing: whether that parent isn't in the database.
        step: null if neither the metadata nor the id contains it.
        source: ``input``, ``loop``, ``update``, ``fork``; "" if not recorded.
        nodes: the nodes that made the checkpoint, each with its number of tasks; for an update, its ``as_node``, if
            that is recorded.
        changes: null if nothing that was read shows the changes.
        time: ISO 8601, UTC; null if the id contains no time.
        head: whether this is the checkpoint that the saver returns as the latest.
        branch: if the checkpoint is a tip, the number of its branch; else null.
        children: the number of children.
        status: for a decoded tip, ``done``, ``waiting``, ``failed``, ``unfinished`` or ``unknown``; else null.
        next: for a decoded tip, the nodes to run next; null if they are unknown.
        tasks: for a decoded tip that isn't done, its tasks.
        halts: the questions and errors of tasks that started here.
        tags: the names that ``ckpt tag`` gave to the checkpoint.
        problem: which part of the checkpoint can't be read; null if no problem was found. Most checkpoints are not
            decoded, so their problems stay unknown.
        input_id: if the step did nothing but take in an input, the input's checkpoint, its parent; else null. A
            terminal shows both in one row.
        command: for a checkpoint without children, the pending Command that is stored on it; null if there is none.
        unstored_steps: the number of steps between its parent and itself, or before a first checkpoint, that aren't
            stored: they were pruned or deleted, or a run stored only its last step. `changes` are theirs too. null if
            steps with these numbers follow the parent on another branch, or its beginning: its own, if its parent was
            changed or, in a folder of bundles, left out.
        not_continued: for a tip of a subgraph with tasks, why the next run doesn't continue it; null if it may.
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
    tasks: Sequence[TaskView] = ()
    halts: Sequence[HaltView] = ()
    tags: Sequence[str] = ()
    problem: str | None = None
    input_id: str | None = None
    command: CommandView | None = None
    unstored_steps: int | None = 0
    not_continued: str | None = None
