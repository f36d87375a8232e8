"""The threads that ``ckpt threads`` lists: filtered, sorted and limited."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from ckpt_cli.errors import NotSupported
from ckpt_cli.history.lineage import ids
from ckpt_cli.history.lineage.typed_times import ALWAYS, Period
from ckpt_cli.history.state.filters import Filter
from ckpt_cli.model import Thread
from ckpt_cli.parameters.options import matcher
from ckpt_cli.parameters.statuses import ANY_STATUS, Statuses
from ckpt_cli.queries.any_checkpoint import UnreadMetadata, count_older_by_server, threads_that_fit
from ckpt_cli.queries.thread_status import ThreadStatus, prefetch_threads
from ckpt_cli.reading import Reader
from ckpt_cli.views.threads import ThreadsView


class Order(StrEnum):
    """The orders that ``--sort`` takes."""

    ACTIVITY = "activity"
    ID = "id"
    CHECKPOINTS = "checkpoints"
    SIZE = "size"
    STEP = "step"


@dataclass(frozen=True, slots=True)
class ThreadsRequest:
    """The threads that the user asked for: their heads were made in `period`. A `limit` of 0 means all."""

    statuses: Statuses = ANY_STATUS
    period: Period = ALWAYS
    match: str | None = None
    where: Filter | None = None
    any_checkpoint: bool = False
    order: Order = Order.ACTIVITY
    reverse: bool = False
    limit: int = 50
    wide: bool = False

    @property
    def judged(self) -> bool:
        """Whether the heads must be read to know which threads are wanted."""
        return bool(self.statuses) or (self.where is not None and not self.any_checkpoint)


def list_threads(reader: Reader, request: ThreadsRequest) -> ThreadsView:
    """The view of the wanted threads. Only the parts of a thread that a filter or the view needs are read."""
    candidates: Iterator[Thread] = _candidates(reader, request)
    unread, unread_metadata = list[str](), UnreadMetadata()
    if request.where is not None and request.any_checkpoint:
        candidates = threads_that_fit(reader, candidates, request.where, unread_metadata)
    total = None
    if request.order is not Order.ACTIVITY or request.reverse:
        in_order = _sorted(reader, candidates, request.order)
        candidates, total = iter(in_order[::-1] if request.reverse else in_order), len(in_order)
    statuses = (ThreadStatus(reader, thread) for thread in prefetch_threads(reader, candidates))
    fitting_statuses = (one for one in statuses if _fits(one, request, unread, unread_metadata))
    views = [one.view() for one in islice(fitting_statuses, request.limit or None)]
    more = bool(request.limit) and next(fitting_statuses, None) is not None
    if not request.judged:
        unread = [one.problem for one in views if one.problem]
    view = ThreadsView(
        views, more, list(request.statuses.names), request.wide, len(unread), unread[0] if unread else None
    )
    view.unread_metadata, view.note = len(unread_metadata.problems), unread_metadata.note
    if request.where is None:
        view.note = _marked([one.metadata_problem for one in views if one.metadata_problem])
    view.order = request.order.value
    view.total = len(views) if not more else None if request.judged else total
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
    if request.where is None or request.any_checkpoint or request.statuses or request.period != ALWAYS:
        return None
    return count_older_by_server(reader, request.where, shown, matcher(request.match))


def _candidates(reader: Reader, request: ThreadsRequest) -> Iterator[Thread]:
    fits = matcher(request.match)
    for thread in reader.saver.threads():
        when = ids.unix_time(thread.head.checkpoint_id)
        is_early = when is not None and request.period.begins_after(when)
        if is_early and ids.is_uuid6(thread.head.checkpoint_id):
            return  # these ids are sorted by time, so all further threads are older
        if request.period.holds(when) and fits(thread.thread_id):
            yield thread


def _sorted(reader: Reader, threads: Iterator[Thread], order: Order) -> list[Thread]:
    """All threads, sorted by id, or by a number that must be read for each thread."""
    if order is Order.ACTIVITY:
        return list(threads)
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
    fits = not request.statuses or request.statuses.fit(one.statuses, one.updated)
    if fits and request.where is not None and not request.any_checkpoint:
        fits = one.fits(request.where)
        if not fits:
            unread_metadata.add(one.thread_id, one.metadata_problem)
    if one.problem:
        unread.append(one.problem)
    return fits
