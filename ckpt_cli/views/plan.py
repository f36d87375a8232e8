"""What every changing command tells: what it will do or has done, row by row, and how to go on."""

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
        thread_id: null, as the other names, where the row is no checkpoint and no write by itself.
        task_id: null where it is a checkpoint.
        idx: the write's place among those of its task; text where what is stored there is no integer.
        before: bytes it has.
        after: bytes it will have.
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
        notes: what else to know before saying yes.
        changes: what it does to the state, as `diff` tells it; empty where it makes no other state.
        rows: every row that is added, changed or removed.
        side_effects: triggers, rules and foreign keys that it sets off: what they do is not shown, logged or undone.
        applied: whether it was; never with ``--dry-run``.
        operation: its number in the operation log, null unless applied.
        undo: the command that takes it back; null unless it was applied and can be.
        log: the file that keeps the rows of a deletion for undo; null where none are kept.
        forgets: whether the operation log is wiped of what is deleted.
        config: what to hand to the graph to go on from the result; null where there is nothing to go on from.
    """

    verb: ClassVar[str] = "plan"
    changes_database: ClassVar[bool] = True
    asked = False
    """Whether the person has seen it already, and said yes."""

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
