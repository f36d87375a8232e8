"""The threads that ``ckpt threads`` lists: filtered, sorted and limited."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from ckpt_cli.errors import NotSupported
from ckpt_cli.history.lineage import ids
from ckpt_cli.history.lineage.typed_times import ALWAYS, Period
from ckpt_cli.history.tasks.metadata_notes import note
from ckpt_cli.model import Thread
from ckpt_cli.parameters.options import matcher
from ckpt_cli.parameters.statuses import ANY_STATUS, Statuses
from ckpt_cli.queries.metadata_filter import UnreadThreads, count_older_by_server, threads_that_fit
from ckpt_cli.queries.thread_order import sort_threads
from ckpt_cli.queries.thread_status import ThreadStatus, prefetch_threads
from ckpt_cli.reading import Reader
from ckpt_cli.savers.paging import pages
from ckpt_cli.savers.thread_order import head_id
from ckpt_cli.views.threads import ThreadsView, ThreadView

if TYPE_CHECKING:
    from ckpt_cli.history.state.filters import Filter
    from ckpt_cli.queries.quick_threads import QuickThread

_AT_ONCE = 1000  # threads whose sizes are asked for at once


class Order(StrEnum):
    """The orders that ``--sort`` takes."""

    ACTIVITY = "activity"
    ID = "id"
    CHECKPOINTS = "checkpoints"
    SIZE = "size"
    STEP = "step"


class ThreadsRequest(NamedTuple):
    """The threads that the user asked for: their heads were made in `period`. A `limit` of 0 means all.

    If any are `named`, only these are listed, in the order of the list.
    """

    statuses: Statuses = ANY_STATUS
    period: Period = ALWAYS
    match: str | None = None
    where: "Filter | None" = None
    any_checkpoint: bool = False
    order: Order = Order.ACTIVITY
    reverse: bool = False
    limit: int = 50
    wide: bool = False
    named: Mapping[str, str] | None = None

    @property
    def filtered(self) -> bool:
        """Whether only some threads are wanted."""
        narrowed = self.match is not None or self.where is not None or self.named is not None
        return self.judged or narrowed or self.period != ALWAYS

    @property
    def judged(self) -> bool:
        """Whether the heads must be read to know which threads are wanted."""
        return bool(self.statuses) or self.filters_heads

    @property
    def filters_heads(self) -> bool:
        """Whether an expression is tested on each head."""
        return self.where is not None and not self.any_checkpoint


class Listing(NamedTuple):
    """Threads in the order of the list.

    Attributes:
        threads: those that may be wanted.
        listed: the threads that the saver gave.
        total: the number of threads that may be wanted; None if they aren't sorted.
    """

    threads: Iterator[Thread]
    listed: "_Counted"
    total: int | None


def run(reader: Reader, request: ThreadsRequest, candidates: Iterable[Thread] | None = None) -> ThreadsView:
    """The view of the wanted threads. Only the parts of a thread that a filter or the view needs are read.

    `candidates` are some threads of a longer list, which may have been deleted meanwhile; None for all threads.
    """
    unread, unread_metadata = list[str](), UnreadThreads()
    listing = None if candidates is not None else list_in_order(reader, request, unread_metadata)
    threads = candidates if listing is None else listing.threads
    statuses = _statuses(reader, request, threads or (), is_page=candidates is not None)
    fitting_statuses = statuses if listing is not None else (one for one in statuses if one.exists)
    if request.judged:
        fitting_statuses = (one for one in fitting_statuses if _fits(one, request, unread, unread_metadata))
    views = [one.view() for one in islice(fitting_statuses, request.limit or None)]
    more = bool(request.limit) and next(fitting_statuses, None) is not None
    if not views and listing is not None:
        note_key(reader, request)
    if not request.judged:
        unread = [one.problem for one in views if one.problem]
    if request.wide or request.order is Order.SIZE:
        views = _with_sizes(reader, views)
    view = ThreadsView(views, more, list(request.statuses.names), request.wide)
    view.unreadable, view.problem = len(unread), unread[0] if unread else None
    marked = [one.metadata_problem for one in views if one.metadata_problem]
    problems = list(unread_metadata.problems.values()) if request.where is not None else marked
    view.unread_metadata, view.marked = len(unread_metadata.problems), len(marked)
    view.metadata_problem = problems[0] if problems else ""
    view.order = request.order.value
    view.total = _total(reader, request, listing.listed, listing.total) if listing is not None and more else len(views)
    view.older = None if more or listing is None else count_older(reader, request, {one.thread_id for one in views})
    return view


def list_in_order(reader: Reader, request: ThreadsRequest, unread_metadata: UnreadThreads) -> Listing:
    """The threads that may be wanted; metadata that can't be read is added to `unread_metadata`."""
    listed = _Counted(_listed(reader, request))
    candidates: Iterator[Thread] = _candidates(listed, request)
    if request.where is not None and request.any_checkpoint:
        candidates = threads_that_fit(reader, candidates, request.where, unread_metadata)
    if request.order is Order.ACTIVITY and not request.reverse:
        return Listing(candidates, listed, None)
    in_order = sort_threads(_keyed(reader, candidates, request.order), reverse=request.reverse)
    return Listing(in_order.threads, listed, in_order.number)


def _listed(reader: Reader, request: ThreadsRequest) -> Iterator[Thread]:
    if request.named is not None:
        from ckpt_cli.queries.selected_threads import named_threads

        return iter(sorted(named_threads(reader, list(request.named)), key=head_id, reverse=True))
    if not request.judged:
        return reader.saver.threads()
    from ckpt_cli.queries.thread_prefilter import threads_that_may_fit

    return threads_that_may_fit(reader, request.statuses, None if request.any_checkpoint else request.where)


def note_key(reader: Reader, request: ThreadsRequest) -> None:
    """After a search that found no thread: note in the filter whether any head has the key that the database compared.

    Heads with another text under it were left out by the database, but they have been decided.
    """
    if request.where is not None and not request.any_checkpoint:
        from ckpt_cli.queries import thread_prefilter

        thread_prefilter.note_key(reader, request.where)


def _statuses(
    reader: Reader, request: ThreadsRequest, threads: Iterable[Thread], *, is_page: bool
) -> "Iterator[ThreadStatus | QuickThread]":
    """The statuses of threads; many at once if all are wanted or all must be read to know which are."""
    if request.filters_heads or not (is_page or request.statuses):
        return (ThreadStatus(reader, thread) for thread in prefetch_threads(reader, threads))
    from ckpt_cli.queries.quick_threads import read_statuses

    return read_statuses(reader, threads)


class _Counted(Iterator[Thread]):
    """Gives threads on, and counts them."""

    def __init__(self, threads: Iterator[Thread]) -> None:
        self._threads = threads
        self.count = 0

    def __next__(self) -> Thread:
        thread = next(self._threads)
        self.count += 1
        return thread


def _total(reader: Reader, request: ThreadsRequest, listed: _Counted, in_order: int | None) -> int | None:
    """The number of threads that fit; None if counting them needs a read of more threads than the shown ones."""
    if request.judged:
        return None
    if in_order is not None or request.filtered:
        return in_order
    counted = reader.saver.count_threads()
    if counted is None:  # then the saver has read all threads before it gave the first
        for _ in listed:
            pass
        return listed.count
    return counted


def count_older(reader: Reader, request: ThreadsRequest, shown: set[str]) -> int | None:
    """The number of further threads that ``--any`` would list; None if counting them needs a read of all threads."""
    if request.where is None or request.any_checkpoint or request.statuses or request.period != ALWAYS:
        return None
    return count_older_by_server(reader, request.where, shown, _may_be_listed(request))


def _may_be_listed(request: ThreadsRequest) -> Callable[[str], bool]:
    """Whether a thread's id fits."""
    fits, named = matcher(request.match), request.named
    return fits if named is None else lambda thread_id: thread_id in named and fits(thread_id)


def _candidates(threads: Iterator[Thread], request: ThreadsRequest) -> Iterator[Thread]:
    if request.match is None and request.period == ALWAYS:
        yield from threads
        return
    fits = matcher(request.match)
    for thread in threads:
        when = ids.unix_time(thread.head.checkpoint_id)
        is_early = when is not None and request.period.begins_after(when)
        if is_early and ids.is_uuid6(thread.head.checkpoint_id):
            return  # these ids are sorted by time, so all further threads are older
        if request.period.holds(when) and fits(thread.thread_id):
            yield thread


def _keyed(reader: Reader, threads: Iterator[Thread], order: Order) -> Iterator[tuple[int | str, Thread]]:
    """The threads with what they are sorted by: their ids, or a number, the highest first, that may have to be read."""
    if order is Order.ACTIVITY:
        yield from ((0, thread) for thread in threads)
    elif order is Order.ID:
        yield from ((thread.thread_id, thread) for thread in threads)
    else:
        number = {Order.CHECKPOINTS: _count, Order.SIZE: _sizes, Order.STEP: _steps}[order]
        for page in pages(threads, reader.saver.page if order is Order.CHECKPOINTS else _AT_ONCE):
            by_id = number(reader, page)
            yield from ((-by_id[thread.thread_id], thread) for thread in page)


def _steps(reader: Reader, threads: list[Thread]) -> Mapping[str, int]:
    """The step of each head by its metadata: its id counts a fork's otherwise."""
    found = reader.saver.metadata([thread.head for thread in threads])
    steps = {ref.thread_id: note(reader.value(data), ref.checkpoint_id).step for ref, data in found}
    return {thread.thread_id: steps.get(thread.thread_id) or 0 for thread in threads}


def _count(reader: Reader, threads: list[Thread]) -> Mapping[str, int]:
    thread_ids = [thread.thread_id for thread in threads]
    reader.saver.expect_whole(thread_ids)
    return {thread_id: reader.saver.count(thread_id) for thread_id in thread_ids}


def _sizes(reader: Reader, threads: list[Thread]) -> Mapping[str, int]:
    """The bytes of each thread, by the engine's sums or by the sizes of rows.

    Raises:
        NotSupported: neither is known.
    """
    thread_ids = [thread.thread_id for thread in threads]
    by_engine = reader.saver.sizes(thread_ids)
    if by_engine is not None:
        return by_engine
    sizes = dict.fromkeys(thread_ids, 0)
    for row in reader.saver.rows_of(thread_ids):
        if row.size is None:
            hint = "--sort checkpoints sorts by the number of checkpoints"
            raise NotSupported("this database can't tell how large a thread is", hint=hint)
        sizes[row.thread_id] = sizes.get(row.thread_id, 0) + row.size
    return sizes


def _with_sizes(reader: Reader, views: Sequence[ThreadView]) -> list[ThreadView]:
    """The threads; those whose rows have no size get one if the engine can add it up."""
    sizes = reader.saver.sizes([one.thread_id for one in views if one.size is None]) or {}
    return [ThreadView(*one)._replace(size=sizes.get(one.thread_id)) if one.size is None else one for one in views]


def _fits(
    one: "ThreadStatus | QuickThread", request: ThreadsRequest, unread: list[str], unread_metadata: UnreadThreads
) -> bool:
    """Whether a thread is wanted. If its head can't be read, the reason is added to `unread`."""
    fits = not request.statuses or request.statuses.fit(one.statuses, one.updated)
    if fits and request.filters_heads and request.where is not None and isinstance(one, ThreadStatus):
        fits = one.fits(request.where)
        if not fits:
            unread_metadata.add(one.thread_id, one.metadata_problem)
    if one.problem:
        unread.append(one.problem)
    return fits
