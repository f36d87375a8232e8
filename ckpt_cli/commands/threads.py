"""``ckpt threads``: lists the threads, the status of each, and which ones wait for an answer."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Annotated

import typer

from ckpt_cli.errors import NotSupported
from ckpt_cli.history.lineage import ids
from ckpt_cli.history.lineage.typed_times import moment
from ckpt_cli.history.state.filters import Filter
from ckpt_cli.model import Thread
from ckpt_cli.parameters.options import MATCH, AnyCheckpoint, Limit, Since, matcher
from ckpt_cli.queries.metadata_filter import UnreadMetadata, count_older_by_server, parse_filter, threads_that_fit
from ckpt_cli.queries.thread_status import ThreadStatus, prefetch_threads
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.views.threads import ThreadsView


class StatusOption(StrEnum):
    """The statuses that ``--status`` takes."""

    DONE = "done"
    WAITING = "waiting"
    FAILED = "failed"
    UNFINISHED = "unfinished"
    UNKNOWN = "unknown"


class Order(StrEnum):
    """The orders that ``--sort`` takes."""

    ACTIVITY = "activity"
    ID = "id"
    CHECKPOINTS = "checkpoints"
    SIZE = "size"
    STEP = "step"


@dataclass(frozen=True, slots=True)
class ThreadsRequest:
    """The threads that the user asked for. `since` is in seconds since 1970; a `limit` of 0 means all."""

    statuses: tuple[str, ...] = ()
    since: float | None = None
    match: str | None = None
    where: Filter | None = None
    any_checkpoint: bool = False
    order: Order = Order.ACTIVITY
    limit: int = 50

    @property
    def judged(self) -> bool:
        """Whether the heads must be read to know which threads are wanted."""
        return bool(self.statuses) or (self.where is not None and not self.any_checkpoint)


def run(reader: Reader, request: ThreadsRequest, *, wide: bool = False) -> ThreadsView:
    """The view of the wanted threads. Only the parts of a thread that a filter or the view needs are read."""
    candidates: Iterator[Thread] = _candidates(reader, request)
    unread, unread_metadata = list[str](), UnreadMetadata()
    if request.where is not None and request.any_checkpoint:
        candidates = threads_that_fit(reader, candidates, request.where, unread_metadata)
    if request.order is not Order.ACTIVITY:
        candidates = iter(_sorted(reader, candidates, request.order))
    statuses = (ThreadStatus(reader, thread) for thread in prefetch_threads(reader, candidates))
    fitting_statuses = (one for one in statuses if _fits(one, request, unread, unread_metadata))
    views = [one.view() for one in islice(fitting_statuses, request.limit or None)]
    more = bool(request.limit) and next(fitting_statuses, None) is not None
    if not request.judged:
        unread = [one.problem for one in views if one.problem]
    view = ThreadsView(views, more, list(request.statuses), wide, len(unread), unread[0] if unread else None)
    view.unread_metadata, view.note = len(unread_metadata.problems), unread_metadata.note
    if request.where is None:
        view.note = _marked([one.metadata_problem for one in views if one.metadata_problem])
    view.older = None if more else _older(reader, request, {one.thread_id for one in views})
    return view


def _marked(problems: list[str]) -> str:
    """A remark: how many of the shown threads have metadata that can't be read, and why; "" if all can be read."""
    if not problems:
        return ""
    counted = f"{len(problems):,} thread{'' if len(problems) == 1 else 's'}"
    return f"{counted} of those shown {'has' if len(problems) == 1 else 'have'} unreadable metadata: {problems[0]}"


def _older(reader: Reader, request: ThreadsRequest, shown: set[str]) -> int | None:
    """The number of further threads that ``--any`` would list; None if counting them needs a read of all threads."""
    if request.where is None or request.any_checkpoint or request.statuses or request.since is not None:
        return None
    return count_older_by_server(reader, request.where, shown, matcher(request.match))


def _candidates(reader: Reader, request: ThreadsRequest) -> Iterator[Thread]:
    fits = matcher(request.match)
    for thread in reader.saver.threads():
        when = ids.unix_time(thread.head.checkpoint_id)
        if request.since is not None and when is not None and when < request.since:
            if ids.is_uuid6(
                thread.head.checkpoint_id
            ):  # these ids are sorted by time, so all further threads are older
                return
            continue
        if fits(thread.thread_id):
            yield thread


def _sorted(reader: Reader, threads: Iterator[Thread], order: Order) -> list[Thread]:
    """All threads, sorted by id, or by a number that must be read for each thread."""
    if order is Order.ID:
        return sorted(threads, key=lambda t: t.thread_id)
    if order is Order.STEP:
        return sorted(threads, key=lambda t: ids.step(t.head.checkpoint_id) or 0, reverse=True)
    sized: list[tuple[int, Thread]] = []
    while page := list(islice(threads, reader.saver.page)):
        reader.saver.expect_whole([thread.thread_id for thread in page])
        if order is Order.CHECKPOINTS:
            sized += [(reader.saver.count(thread.thread_id), thread) for thread in page]
        else:
            sized += [(_weight(reader, thread), thread) for thread in page]
    return [thread for _, thread in sorted(sized, key=lambda pair: pair[0], reverse=True)]


def _weight(reader: Reader, thread: Thread) -> int:
    total = 0
    for row in reader.saver.rows(thread.thread_id):
        if row.size is None:
            hint = "--sort checkpoints sorts by how many each thread has"
            raise NotSupported("this database doesn't know how large a checkpoint is", hint=hint)
        total += row.size
    return total


def _fits(one: ThreadStatus, request: ThreadsRequest, unread: list[str], unread_metadata: UnreadMetadata) -> bool:
    """Whether a thread is wanted. If its head can't be read, the reason is added to `unread`."""
    fits = not request.statuses or one.status in request.statuses
    if fits and request.where is not None and not request.any_checkpoint:
        fits = one.fits(request.where)
        if not fits:
            unread_metadata.add(one.thread_id, one.metadata_problem)
    if one.problem:
        unread.append(one.problem)
    return fits


_Status = Annotated[
    list[StatusOption] | None,
    typer.Option(
        "--status",
        "-s",
        metavar="STATUS",
        help="Only done, waiting, failed, unfinished or unknown; may be repeated.",
        show_default=False,
    ),
]
_Sort = Annotated[
    Order,
    typer.Option(
        "--sort",
        metavar="ORDER",
        help="Sort by activity, id, checkpoints, size or step; all but activity read every thread.",
    ),
]


def threads(
    session: Session,
    status: _Status = None,
    since: Since = None,
    match: Annotated[str | None, typer.Option("--match", "-m", metavar="TEXT", help=MATCH)] = None,
    where: Annotated[
        str | None,
        typer.Option(
            "--where", "-w", metavar="EXPRESSION", help="A Python expression over the head's metadata and state."
        ),
    ] = None,
    any_: AnyCheckpoint = False,
    sort: _Sort = Order.ACTIVITY,
    limit: Limit = 50,
    wide: Annotated[bool, typer.Option("--wide", help="Show as many columns as there is room for.")] = False,
) -> ThreadsView:
    """List threads, the most recently active first: what each was about, and its status.

    A thread is done, waiting for an answer, failed, or unfinished, which means that its next nodes have not run yet.
    The status is unknown if the next nodes can't be determined, as in some old or damaged threads.

    Examples:
      ckpt threads
      ckpt threads --status waiting
      ckpt threads --since 2h --match 'user-*'
      ckpt threads --where 'step >= 5 and source == "update" and len(messages) > 10'
      ckpt threads --where 'user_id == "u-112"' --any
      ckpt threads --sort size --limit 10 --wide
    """
    request = ThreadsRequest(
        statuses=tuple(one.value for one in status or ()),
        since=None if since is None else moment(since, session.clock()),
        match=match,
        where=parse_filter(where, any_checkpoint=any_),
        any_checkpoint=any_,
        order=sort,
        limit=limit,
    )
    if sort is not Order.ACTIVITY:
        session.say(f"sorting by {sort.value} looks at every thread")
    view = session.read(lambda reader: run(reader, request, wide=wide))
    view.narrowed = not (since is match is where is None)
    for line in _talk(view, request):
        session.say(line)
    return view


def _talk(view: ThreadsView, request: ThreadsRequest) -> Iterator[str]:
    """The remarks for stderr: about the threads that the filter left out, and about heads that can't be read."""
    if view.note:
        yield view.note
    if request.where is not None and not view.unreadable and not view.unread_metadata:
        request.where.must_have_worked()
        if request.where.complaint:
            yield request.where.complaint
        if not request.any_checkpoint and not request.where.of_state:
            yield from _heads_only(view)
    if view.unreadable:
        yield _unread(view, request)


def _heads_only(view: ThreadsView) -> Iterator[str]:
    if view.older:
        count = "1 more thread has" if view.older == 1 else f"{view.older:,} more threads have"
        yield f"{count} it in older checkpoints: --any lists them too"
    elif view.older is None:
        yield "heads only; --any looks at the metadata of every checkpoint"


def _unread(view: ThreadsView, request: ThreadsRequest) -> str:
    """A remark: how many heads can't be read, of the shown threads or of the tested ones."""
    least = "at least " if view.more and request.judged else ""
    counted = f"{least}{view.unreadable:,} thread{'' if view.unreadable == 1 else 's'}"
    shown = " of those shown" if view.more and not request.judged else ""
    return f"{counted}{shown} can't be read: {view.problem}"
