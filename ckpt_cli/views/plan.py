"""The view of every command that changes a database: what it will do or has done, row by row, and how to continue."""

from dataclasses import dataclass, field
from typing import ClassVar

from ckpt_cli.values.difference import Difference
from ckpt_cli.views.base import View
from ckpt_cli.views.side_effects import SideEffectLine


@dataclass(frozen=True, slots=True)
class RowLine:
    """One physical row.

    Attributes:
        change: ``add``, ``change`` or ``remove``.
        table: the table or collection.
        thread_id: null, like the other names, if the row by itself is no checkpoint and no write.
        task_id: null for a checkpoint.
        idx: the write's place among those of its task; text if no integer is stored there.
        before: its size in bytes before.
        after: its size in bytes afterwards.
    """

    change: str
    table: str
    thread_id: str | None
    ns: str | None
    checkpoint_id: str | None
    task_id: str | None
    idx: int | str | None
    before: int
    after: int


@dataclass
class PlanView(View):
    """A plan, shown or applied.

    Attributes:
        command: the verb that made it.
        summary: what it does, in one line.
        reason: why, in the user's words.
        notes: what else to know before confirming it.
        changes: its changes of the state, as in `diff`; empty if the state stays the same.
        rows: every row that is added, changed or removed.
        side_effects: triggers, rules and foreign keys that will fire; what they do is not shown, logged or undone.
        applied: whether it was applied; never with ``--dry-run``.
        operation: its number in the operation log; null if it was not applied.
        undo: the command that takes it back; null if it was not applied or can't be undone.
        log: the file that keeps the rows of a deletion for undo; null if none are kept.
        forgets: whether the operation log is wiped of what is deleted.
        config: the config with which the graph continues from the result; null if there is nothing to continue from.
    """

    verb: ClassVar[str] = "plan"
    changes_database: ClassVar[bool] = True
    confirmed = False
    """Whether the person has seen the plan and confirmed it."""

    command: str
    summary: str
    reason: str = ""
    notes: list[str] = field(default_factory=list)
    changes: list[Difference] = field(default_factory=list)
    rows: list[RowLine] = field(default_factory=list)
    side_effects: list[SideEffectLine] = field(default_factory=list)
    applied: bool = False
    operation: int | None = None
    config: dict[str, dict[str, str]] | None = None
    undo: str | None = None
    log: str | None = None
    forgets: bool = False
