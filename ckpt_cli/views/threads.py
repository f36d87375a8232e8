"""The view of ``ckpt threads``: the threads of a database and the status of each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

from ckpt_cli.views.base import View
from ckpt_cli.views.interrupts import RequestView
from ckpt_cli.views.sends import SendView


class WaitingView(NamedTuple):
    """An open question: the node that asks, then the fields of `InterruptView`, and the Send that started its task."""

    node: str | None
    id: str | None
    value: Any
    requests: tuple[RequestView, ...] = ()
    answer_form: str | None = None
    response_schema: Any = None
    send: SendView | None = None


class FailedView(NamedTuple):
    """A task that failed, with its error as it is stored, and the Send that started it.

    Attributes:
        inside: for a task that failed in a subgraph, the nodes there, the outermost first, down to the one that failed;
            empty if it failed itself, or if what is stored doesn't show the node.
    """

    node: str | None
    error: Any
    send: SendView | None = None
    inside: Sequence[str] = ()


class ThreadView(NamedTuple):
    """A thread.

    Attributes:
        ns: the namespace of its head; "" unless the thread has no root graph.
        head: the id of its latest checkpoint.
        short: the short form of that id.
        checkpoints: the number of checkpoints in all namespaces.
        namespaces: the number of subgraph namespaces.
        branches: the number of tips in the head's namespace.
        step, source: the step and source of the head.
        status: ``done``, ``waiting``, ``failed``, ``unfinished``, ``unknown`` (the next node of an old thread can't be
            determined), or null if the head can't be read; then `problem` says why.
        statuses: `status`, and ``failed`` beside ``waiting`` if a task waits and one failed, maybe the same one;
            empty if the head can't be read.
        next: the nodes to run next; null if unknown.
        updated: when the head was made (ISO 8601, UTC); null if neither its id nor its `ts` contains a time.
        created: when the first checkpoint was made.
        title: what the thread was about: its first human message, else its input.
        size: the number of bytes of all checkpoints; null if the engine doesn't know it. An engine that must add it up
            (Postgres, MySQL) is only asked for it with ``--sort size`` or ``--wide``.
        metadata: the head's metadata, without the keys that every checkpoint has.
        metadata_problem: which part of the head's metadata can't be read; null if all of it can.
        answered: the nodes of tasks whose questions have a recorded answer that they have not taken yet.
        nothing_since: ``update`` or ``fork`` if that made the head of an unfinished thread, and no task has left
            anything since; else null.
        old_answers: the answer that an earlier ``Command(resume=…)`` left; the next run gives it to the first
            ``interrupt()`` that has none.
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
    interrupts: Sequence[WaitingView] = ()
    errors: Sequence[FailedView] = ()
    metadata: Mapping[str, Any] = MappingProxyType({})
    problem: str | None = None
    metadata_problem: str | None = None
    statuses: Sequence[str] = ()
    answered: Sequence[str | None] = ()
    nothing_since: str | None = None
    old_answers: Sequence[Any] = ()


@dataclass(slots=True, eq=False, repr=False)
class ThreadsView(View):
    """Threads, in the order that the user asked for; those of a long list can be taken once, as they are read.

    Attributes:
        more: whether there are more threads than the limit.
        asked: the statuses that the user asked for.
        wide: whether to show every column.
        unreadable: the number of shown threads whose head can't be decoded. With a filter on status or state,
            other threads that were read count too: an unreadable thread might fit.
        problem: why the first of these heads can't be decoded.
        older: with a filter on metadata, the number of further threads that only match in older checkpoints; null if
            they weren't counted.
        unread_metadata: with a filter on metadata, the number of threads that don't match but have metadata that can't
            be read: these threads might match.
        total: the number of threads that fit, with those beyond the limit; null if they weren't counted.
    """

    verb: ClassVar[str] = "threads"
    rows_field: ClassVar[str] = "threads"
    narrowed = False
    order = "activity"
    marked = 0
    metadata_problem = ""
    _count = 0

    threads: list[ThreadView] | Iterator[ThreadView]
    more: bool = False
    asked: list[str] = field(default_factory=list)
    wide: bool = False
    unreadable: int = 0
    problem: str | None = None
    older: int | None = None
    unread_metadata: int = 0
    total: int | None = None

    @property
    def cut(self) -> str:
        """A remark that there are more threads."""
        if self.total is not None:
            shown = f"{self.count:,} of {self.total:,} threads"
        else:
            shown = f"{self.count:,} threads" if self.count != 1 else "thread"
        return f"only the first {shown}: --limit 0 lists all" if self.more else ""

    @property
    def count(self) -> int:
        """The number of threads; of a long list, the number of those that were read."""
        return len(self.threads) if isinstance(self.threads, list) else self._count

    def add(self, part: "ThreadsView") -> None:
        """Count the threads of the next part of a long list, and what can't be read of them."""
        self._count += part.count
        self.unreadable += part.unreadable
        self.problem = self.problem or part.problem
        self.unread_metadata += part.unread_metadata
        self.marked += part.marked
        self.metadata_problem = self.metadata_problem or part.metadata_problem

    @property
    def exit_code(self) -> int:
        """5 if nothing was found and something couldn't be read, else 0."""
        return 5 if self.unreadable and not self.count else 0
