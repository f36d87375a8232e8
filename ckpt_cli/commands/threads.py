"""``ckpt threads``: what there is, where each thread stands, and who waits for an answer."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import islice
from typing import Annotated, Any

import typer

from ckpt_cli.commands.describing import Describer
from ckpt_cli.commands.options import Limit, Since
from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.history import ids, titles
from ckpt_cli.history.filters import Filter
from ckpt_cli.history.snapshot import Snapshot, Status
from ckpt_cli.history.when import moment
from ckpt_cli.model import Ref, Thread
from ckpt_cli.output.quantities import iso
from ckpt_cli.output.text.brief import brief
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.values.state import State
from ckpt_cli.views.threads import FailedView, ThreadsView, ThreadView, WaitingView

_INPUT_BYTES = 65536  # a first checkpoint that is longer isn't read for a title
_TITLE = 120  # cells of an input that has no text
_PLAIN = frozenset({"source", "step", "parents", "writes", "thread_id", "counters_since_delta_snapshot"})


class Asked(StrEnum):
    """The statuses that may be asked for."""

    DONE = "done"
    WAITING = "waiting"
    FAILED = "failed"
    UNFINISHED = "unfinished"


class Order(StrEnum):
    """What threads may be sorted by."""

    ACTIVITY = "activity"
    ID = "id"
    CHECKPOINTS = "checkpoints"
    SIZE = "size"
    STEP = "step"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which threads are asked for; `since` in seconds since 1970, `limit` 0 for all."""

    statuses: tuple[str, ...] = ()
    since: float | None = None
    match: str | None = None
    where: Filter | None = None
    order: Order = Order.ACTIVITY
    limit: int = 50


def run(reader: Reader, wanted: Wanted, *, wide: bool = False) -> ThreadsView:
    """Take threads newest first until there are enough; only what is printed is counted."""
    candidates: Iterator[Thread] = _candidates(reader, wanted)
    if wanted.order is not Order.ACTIVITY:
        candidates = iter(_sorted(reader, candidates, wanted.order))
    found = (one for thread in candidates if _fits(one := _Looked(reader, thread), wanted))
    some = [one.view() for one in islice(found, wanted.limit or None)]
    more = bool(wanted.limit) and next(found, None) is not None
    return ThreadsView(some, more, list(wanted.statuses), wide)


def _candidates(reader: Reader, wanted: Wanted) -> Iterator[Thread]:
    fits = _matcher(wanted.match)
    for thread in reader.saver.threads():
        when = ids.unix_time(thread.head.checkpoint_id)
        if wanted.since is not None and when is not None and when < wanted.since:
            return
        if fits(thread.thread_id):
            yield thread


def _matcher(pattern: str | None) -> Callable[[str], bool]:
    """A glob where there is a ``*`` or ``?``, else a part of the id in any case."""
    if pattern is None:
        return lambda _: True
    if any(sign in pattern for sign in "*?"):
        from fnmatch import fnmatchcase

        return lambda thread_id: fnmatchcase(thread_id, pattern)
    part = pattern.casefold()
    return lambda thread_id: part in thread_id.casefold()


def _sorted(reader: Reader, threads: Iterator[Thread], order: Order) -> list[Thread]:
    """All of them by something that only a look at each can tell."""
    if order is Order.ID:
        return sorted(threads, key=lambda t: t.thread_id)
    keys: dict[Order, Callable[[Thread], Any]] = {
        Order.CHECKPOINTS: lambda t: reader.saver.count(t.thread_id),
        Order.SIZE: lambda t: sum(row.size or 0 for row in reader.saver.rows(t.thread_id)),
        Order.STEP: lambda t: ids.step(t.head.checkpoint_id) or 0,
    }
    return sorted(threads, key=keys[order], reverse=True)


class _Looked:
    """A thread, looked into as far as somebody asks."""

    def __init__(self, reader: Reader, thread: Thread) -> None:
        self._reader = reader
        self._thread = thread
        self.problem: str | None = None

    @cached_property
    def state(self) -> State | None:
        """The head, None where it can't be read."""
        try:
            return self._reader.state(self._thread.head)
        except PayloadCorrupt as error:
            self.problem = error.message
            return None

    @cached_property
    def snapshot(self) -> Snapshot | None:
        """What runs next at the head."""
        return self._reader.snapshot(self._thread.head) if self.state is not None else None

    @property
    def status(self) -> str | None:
        """How far it has come."""
        return str(self.snapshot.status) if self.snapshot is not None else None

    def name(self, name: str) -> Any:
        """What a filter may ask for: the thread, its head's metadata, then its state.

        Raises:
            LookupError: there is no such name.
        """
        state = self.state
        if name == "thread_id":
            return self._thread.thread_id
        if name == "status":
            return self.status
        if name == "next":
            return self.snapshot.next if self.snapshot is not None else None
        if state is None:
            raise LookupError(name)
        if name in ("metadata", "values") and name not in state.values:
            return dict(state.metadata if name == "metadata" else state.values)
        return state.metadata[name] if name in state.metadata else state.values[name]

    def view(self) -> ThreadView:
        """Everything that is printed of it."""
        thread, state, found = self._thread, self.state, self.snapshot
        head = thread.head
        rows = self._reader.rows(thread.thread_id)
        lineage = self._reader.lineage(thread.thread_id, head.ns)
        first = next(iter(lineage.rows), head.checkpoint_id)
        sizes = [row.size for row in rows if row.size is not None]
        tasks = found.tasks if found is not None else []
        step = state.step if state is not None and state.step is not None else ids.step(head.checkpoint_id)
        return ThreadView(
            thread_id=thread.thread_id,
            ns=head.ns,
            head=head.checkpoint_id,
            short=self._reader.short(thread.thread_id)(head.checkpoint_id),
            checkpoints=len(rows),
            namespaces=len({row.ns for row in rows} - {head.ns}),
            branches=len(lineage.branches),
            step=step,
            source=state.source if state is not None else "",
            status=self.status,
            next=found.next if found is not None else None,
            updated=_when(head.checkpoint_id, state),
            created=iso(ids.unix_time(first)),
            title=self._title(first),
            size=sum(sizes) if sizes else None,
            interrupts=[
                WaitingView(t.node, i.id, i.value) for t in tasks if t.status is Status.WAITING for i in t.interrupts
            ],
            errors=[FailedView(task.node, task.error) for task in tasks if task.status is Status.FAILED],
            metadata={key: value for key, value in (state.metadata if state else {}).items() if key not in _PLAIN},
            problem=self.problem,
        )

    def _title(self, first: str) -> str:
        title = titles.from_values(self.state.values) if self.state is not None else ""
        if title:
            return title
        head = self._thread.head
        describer = Describer(self._reader, head.thread_id, head.ns)
        describer.read_notes([first])
        describer.read_writes([first])
        changes = describer.steps.changes(first) or []
        told = titles.from_changes(changes) or self._from_input(Ref(head.thread_id, head.ns, first))
        return told or (brief({change.channel: change.after for change in changes}, _TITLE) if changes else "")

    def _from_input(self, ref: Ref) -> str:
        """The raw input, which the first checkpoint alone holds."""
        row = self._reader.saver.row(ref)
        if row is None or (row.size or 0) > _INPUT_BYTES:
            return ""
        try:
            values = self._reader.state(ref).values
        except PayloadCorrupt:
            return ""
        given = values.get("__start__")
        return titles.from_input(given) or ("" if given in (None, {}, []) else brief(given, _TITLE))


def _when(checkpoint_id: str, state: State | None) -> str | None:
    return iso(ids.unix_time(checkpoint_id) or (ids.unix_time(state.ts) if state is not None else None))


def _fits(one: _Looked, wanted: Wanted) -> bool:
    if wanted.statuses and one.status not in wanted.statuses:
        return False
    return wanted.where is None or wanted.where.matches(one.name)


def threads(
    session: Session,
    status: Annotated[
        list[Asked] | None, typer.Option("--status", "-s", help="Only these; may be repeated.", show_default=False)
    ] = None,
    since: Since = None,
    match: Annotated[
        str | None, typer.Option("--match", "-m", metavar="TEXT", help="Ids with this part, or a glob: 'user-*'.")
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(
            "--where", "-w", metavar="EXPRESSION", help="Over the head's metadata and state, in Python's words."
        ),
    ] = None,
    sort: Annotated[Order, typer.Option("--sort", help="All but activity look at every thread.")] = Order.ACTIVITY,
    limit: Limit = 50,
    wide: Annotated[bool, typer.Option("--wide", help="Every column.")] = False,
) -> ThreadsView:
    """List threads, the most recently active first: what each was about and where it stands.

    done, waiting for an answer, failed, or unfinished: its next nodes have not run.

    Examples:
      ckpt threads
      ckpt threads --status waiting
      ckpt threads --since 2h --match 'user-*'
      ckpt threads --where 'step >= 5 and source == "update" and len(messages) > 10'
      ckpt threads --sort size --limit 10 --wide
    """
    wanted = Wanted(
        statuses=tuple(one.value for one in status or ()),
        since=None if since is None else moment(since, session.clock()),
        match=match,
        where=None if where is None else Filter(where),
        order=sort,
        limit=limit,
    )
    if sort is not Order.ACTIVITY:
        session.say(f"sorting by {sort.value} looks at every thread")
    view = session.look(lambda reader: run(reader, wanted, wide=wide))
    if wanted.where is not None and wanted.where.complaint:
        session.say(wanted.where.complaint)
    unread = [one for one in view.threads if one.problem]
    if unread:
        count = "1 thread" if len(unread) == 1 else f"{len(unread):,} threads"
        session.say(f"{count} can't be read: {unread[0].problem}")
    return view
