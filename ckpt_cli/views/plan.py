"""The view of every command that changes a database: what it will do or has done, row by row.

It also says how to continue.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import ClassVar

from ckpt_cli.values.difference import Difference
from ckpt_cli.views.base import Rows, View
from ckpt_cli.views.changed_threads import ChangedNamespace, changed_threads
from ckpt_cli.views.side_effects import SideEffectLine

LOG_ROW = 600
"""Bytes of the operation log for a row, beside its images: key, hashes, names, indexes."""


@dataclass(frozen=True, slots=True)
class RowLine:
    """One physical row.

    Attributes:
        change: ``add``, ``change`` or ``remove``.
        table: the table or collection.
        thread_id: null if the row alone is neither a checkpoint nor a write; then the other names are null too.
        task_id: null for a checkpoint.
        idx: the index of the write among the writes of its task; text if the database doesn't store an integer there.
        before: the size of the row in bytes before the change.
        after: the size of the row in bytes after the change.
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
        command: the verb that made the plan.
        summary: what the plan does, in one line.
        reason: the reason, in the user's words.
        notes: other facts that the user should know before confirming the plan.
        changes: how the plan changes the state, as in `diff`; empty if the state stays the same.
        rows: every row that is added, changed or removed.
        side_effects: triggers, rules and foreign keys that will fire; what they do is not shown, logged or undone.
        applied: whether the plan was applied; never with ``--dry-run``.
        operation: the number of the operation in the operation log; null if the plan was not applied.
        undo: the command that undoes the operation; null if the plan was not applied or can't be undone.
        log: the file that keeps the deleted rows for undo; null if no rows are kept.
        forgets: whether the deleted data is wiped from the operation log too.
        config: the config with which the graph continues from the result; null if there is nothing to continue from.
        threads: the number of threads whose checkpoints or writes are changed.
        namespaces: the number of namespaces in these threads.
        where: the first of these namespaces, at most ten.
    """

    verb: ClassVar[str] = "plan"
    changes_database: ClassVar[bool] = True
    confirmed = False
    """Whether the user has seen the plan and confirmed it."""
    bundle = ""
    """The bundle that keeps the rows for undo, so that the log doesn't; "" if there is none."""

    command: str
    summary: str
    reason: str = ""
    notes: list[str] = field(default_factory=list)
    changes: list[Difference] = field(default_factory=list)
    rows: Rows | list[RowLine] = field(default_factory=list)
    side_effects: list[SideEffectLine] = field(default_factory=list)
    applied: bool = False
    operation: int | None = None
    config: dict[str, dict[str, str]] | None = None
    undo: str | None = None
    log: str | None = None
    forgets: bool = False
    threads: int = 0
    namespaces: int = 0
    where: tuple[ChangedNamespace, ...] = ()

    @property
    def log_growth(self) -> int:
        """At most so many bytes are added to the operation log."""
        return sum(row.after + (0 if self.bundle else row.before) + LOG_ROW for row in self.rows)

    def locate(self) -> None:
        """Set the number of threads and namespaces, and the first of them, from the rows."""
        counts = Counter(
            (row.thread_id, row.ns) for row in self.rows if row.thread_id is not None and row.ns is not None
        )
        places = changed_threads(counts)
        self.threads, self.namespaces, self.where = places.threads, places.namespaces, places.named
