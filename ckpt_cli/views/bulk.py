"""The view of a command that changes many threads: totals, a line for each thread, what became of each."""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from ckpt_cli.views.base import Rows, View
from ckpt_cli.views.side_effects import SideEffectLine

REFUSED = 7


class RowCount(NamedTuple):
    """How many rows of a table are added, changed or removed (`change`)."""

    change: str
    table: str
    rows: int


@dataclass(frozen=True, slots=True)
class ThreadLine:
    """One thread.

    Attributes:
        state: ``planned``; ``applied``; ``refused``: it can't be changed so, or has moved since the plan was made.
        summary: what the plan does to it, in one line.
        problem: why it was refused.
        notes: other facts that the user should know before confirming the plan.
        config: the config with which the graph continues from the result; null if there is nothing to continue from.
    """

    thread_id: str
    state: str
    summary: str
    problem: str = ""
    notes: tuple[str, ...] = ()
    config: dict[str, dict[str, str]] | None = None


@dataclass
class BulkView(View):
    """A plan for many threads, shown or applied.

    Attributes:
        command: the verb that made the plan.
        summary: what the plan does, in one line.
        reason: the reason, in the user's words.
        notes: other facts that the user should know before confirming the plan.
        selected: the number of threads that were selected.
        changes: the number of threads that the plan changes.
        refused: the number of threads that can't be changed so.
        rows: the rows that are added, changed and removed, by table.
        log_bytes: the operation log grows by at most so many bytes.
        side_effects: triggers, rules and foreign keys that will fire; what they do is not shown, logged or undone.
        stopped: whether nothing was written because some threads are refused (see ``--skip-refused``).
        applied: whether the plan was applied; never with ``--dry-run``.
        done: the number of threads that were changed.
        moved: the number of threads that were left alone because they changed after the plan was made.
        operation: the number of the operation in the operation log; null if the plan was not applied.
        undo: the command that undoes the operation; null if the plan was not applied.
        threads: every selected thread.
    """

    verb: ClassVar[str] = "bulk"
    rows_field: ClassVar[str] = "threads"
    changes_database: ClassVar[bool] = True
    confirmed = False
    """Whether the user has seen the plan and confirmed it."""
    forgets = False

    command: str
    summary: str
    reason: str = ""
    notes: list[str] = field(default_factory=list)
    selected: int = 0
    changes: int = 0
    refused: int = 0
    rows: list[RowCount] = field(default_factory=list)
    log_bytes: int = 0
    side_effects: list[SideEffectLine] = field(default_factory=list)
    stopped: bool = False
    applied: bool = False
    done: int = 0
    moved: int = 0
    operation: int | None = None
    undo: str | None = None
    threads: Rows | tuple[ThreadLine, ...] = ()

    @property
    def exit_code(self) -> int:
        """7 if nothing was written because some threads are refused, or if some threads moved meanwhile; else 0."""
        return REFUSED if self.stopped or self.moved else 0
