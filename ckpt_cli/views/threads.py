"""The threads of a database and the status of each."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from ckpt_cli.views.base import View


@dataclass(frozen=True, slots=True)
class WaitingView:
    """A question that waits: who asks, and the id that ``Command(resume={id: …})`` takes (null where there is none)."""

    node: str | None
    id: str | None
    value: Any


@dataclass(frozen=True, slots=True)
class FailedView:
    """A task that failed, with the error as stored."""

    node: str | None
    error: Any


@dataclass(slots=True)
class ThreadView:
    """A thread.

    Attributes:
        ns: the namespace of its head; "" unless the thread has no root graph.
        head: the id of its latest checkpoint.
        short: the head's short form.
        checkpoints: of all namespaces.
        namespaces: how many subgraph namespaces it has.
        branches: tips in the head's namespace.
        step, source: the head's.
        status: ``done``, ``waiting``, ``failed``, ``unfinished``, ``unknown`` (the next node of an old thread can't be
            told), or null where the head can't be read, and then `problem` says why.
        next: the nodes to run next; null where unknown.
        updated: when the head was made (ISO 8601, UTC); null where it doesn't tell.
        created: when the first checkpoint was made.
        title: what it was about: the first human message, else its input.
        size: bytes of all checkpoints, where the engine knows them.
        metadata: of the head, without what every checkpoint has.
        metadata_problem: what of that can't be read; null if all can.
    """

    thread_id: str
    ns: str
    head: str
    short: str
    checkpoints: int
    namespaces: int
    branches: int
    step: int | None
    source: str
    status: str | None
    next: list[str] | None
    updated: str | None
    created: str | None
    title: str
    size: int | None
    interrupts: list[WaitingView] = field(default_factory=list)
    errors: list[FailedView] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    problem: str | None = None
    metadata_problem: str | None = None


@dataclass(slots=True)
class ThreadsView(View):
    """Threads, in the order asked for.

    Attributes:
        more: whether there are more than were asked for.
        asked: the statuses that were asked for.
        wide: whether every column is wanted.
        unreadable: of the threads shown, those whose head can't be decoded; with a filter on status or state, of all
            that were looked at: nobody knows whether it wants them.
        problem: why, of the first of them.
        older: with a filter on metadata, how many more threads have it in older checkpoints; null where that wasn't
            counted.
        unread_metadata: with a filter on metadata, how many threads it passes over whose metadata can't be read, so
            that nobody knows whether they fit.
    """

    verb: ClassVar[str] = "threads"
    rows_field: ClassVar[str] = "threads"
    narrowed = False
    note = ""

    threads: list[ThreadView]
    more: bool = False
    asked: list[str] = field(default_factory=list)
    wide: bool = False
    unreadable: int = 0
    problem: str | None = None
    older: int | None = None
    unread_metadata: int = 0

    @property
    def cut(self) -> str:
        """That there are more."""
        count = f"{len(self.threads):,} threads" if len(self.threads) != 1 else "thread"
        return f"only the first {count}: --limit 0 lists all" if self.more else ""

    @property
    def exit_code(self) -> int:
        """5 where nothing was found and something couldn't be read."""
        return 5 if self.unreadable and not self.threads else 0
