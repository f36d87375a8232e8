"""The view of ``ckpt threads``: the threads of a database and the status of each."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from ckpt_cli.views.base import View


@dataclass(frozen=True, slots=True)
class WaitingView:
    """A waiting question: the node that asks, and the id for ``Command(resume={id: …})`` (null if it has none)."""

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
        checkpoints: how many there are in all namespaces.
        namespaces: how many subgraph namespaces it has.
        branches: how many tips the head's namespace has.
        step, source: those of the head.
        status: ``done``, ``waiting``, ``failed``, ``unfinished``, ``unknown`` (the next node of an old thread can't be
            determined), or null if the head can't be read; then `problem` says why.
        next: the nodes to run next; null if unknown.
        updated: when the head was made (ISO 8601, UTC); null if neither its id nor its `ts` says so.
        created: when the first checkpoint was made.
        title: what the thread was about: its first human message, else its input.
        size: the bytes of all checkpoints, if the engine knows them.
        metadata: the head's metadata, without the keys that every checkpoint has.
        metadata_problem: which part of it can't be read; null if all can.
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
        more: whether there are more threads than the limit.
        asked: the statuses that were asked for.
        wide: whether every column is to be shown.
        unreadable: how many of the threads shown have a head that can't be decoded; with a filter on status or state,
            how many of all threads that were read, as nobody knows whether they fit.
        problem: why the first of these can't be decoded.
        older: with a filter on metadata, how many more threads fit it in older checkpoints; null if they weren't
            counted.
        unread_metadata: with a filter on metadata, how many threads don't fit it and have metadata that can't be read,
            so that nobody knows whether they would.
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
        """A remark that there are more threads."""
        count = f"{len(self.threads):,} threads" if len(self.threads) != 1 else "thread"
        return f"only the first {count}: --limit 0 lists all" if self.more else ""

    @property
    def exit_code(self) -> int:
        """5 if nothing was found and something couldn't be read, else 0."""
        return 5 if self.unreadable and not self.threads else 0
