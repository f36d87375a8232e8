"""``ckpt threads``: lists the threads, the status of each, and which ones wait for an answer."""

from collections.abc import Iterator
from typing import Annotated

import typer

from ckpt_cli.completion.names import complete_order
from ckpt_cli.errors import UsageError
from ckpt_cli.parameters.options import Limit
from ckpt_cli.parameters.selector import NOTHING_TYPED, SelectorOptions, parse_selector
from ckpt_cli.queries.metadata_filter import UnreadThreads, unread_note
from ckpt_cli.queries.thread_list import Order, ThreadsRequest, count_older, list_in_order, note_key, run
from ckpt_cli.queries.thread_pages import stream
from ckpt_cli.session import Session
from ckpt_cli.views.threads import ThreadsView, ThreadView


def _stream(session: Session, request: ThreadsRequest) -> ThreadsView:
    """The view of all wanted threads; they are read while they are printed, and then the remarks are printed."""
    view, unread_metadata = ThreadsView([], False, list(request.statuses.names), request.wide), UnreadThreads()
    view.order, view.dense = request.order.value, not request.judged

    def listed() -> Iterator[ThreadView]:
        shown = set[str]()
        for one in stream(
            session,
            view,
            lambda reader: list_in_order(reader, request, unread_metadata).threads,
            lambda reader, page: run(reader, request, page),
        ):
            if request.where is not None:
                shown.add(one.thread_id)
            yield one
        view.total = view.count
        if not view.count:
            session.read(lambda reader: note_key(reader, request))
        view.older = session.read(lambda reader: count_older(reader, request, shown))
        if unread_metadata.problems:
            view.unread_metadata = len(unread_metadata.problems)
            view.metadata_problem = next(iter(unread_metadata.problems.values()))
        for line in _talk(view, request):
            session.say(line)

    view.threads = listed()
    return view


_Sort = Annotated[
    str,
    typer.Option(
        "--sort",
        metavar="ORDER",
        help="Sort by activity, id, checkpoints, size or step; -size reverses. All but activity read every thread. "
        "Redis, Valkey, DynamoDB and a checkpointer of your own can't tell sizes.",
        autocompletion=complete_order,
    ),
]


def _parse_order(text: str) -> tuple[Order, bool]:
    """The order that a text names, and whether it is reversed.

    Raises:
        UsageError: there is no such order.
    """
    name = text.removeprefix("-")
    if name not in list(Order):
        raise UsageError(f"no order {name!r}", hint=f"one of {', '.join(Order)}; - before it reverses")
    return Order(name), text != name


def threads(
    session: Session,
    selector: SelectorOptions = NOTHING_TYPED,
    sort: _Sort = "activity",
    limit: Limit = 50,
    wide: Annotated[bool, typer.Option("--wide", help="Show as many columns as there is room for.")] = False,
) -> ThreadsView:
    """List threads, the most recently active first: what each was about, and its status.

    A thread is done, waiting for an answer, failed, or unfinished, which means that its next nodes have not run yet:
    it runs now, or it was stopped or killed, or it was updated, forked or answered and not run since. A breakpoint and
    a kill look alike. A thread has two statuses if one task waits and one failed; both may be the same task. The status
    is unknown if the next nodes can't be determined, as in some old or damaged threads.

    --status stuck lists threads that wait or failed, and unfinished ones that had no new checkpoint for --stuck-after.

    Examples:
      ckpt threads --status waiting,failed
      ckpt threads --status stuck --stuck-after 1h
      ckpt threads --since 2026-11-01 --until 2d --match 'user-*'
      ckpt threads --where 'step >= 5 and source == "update" and len(messages) > 10'
      ckpt threads --where '"timeout" in lower(error) and node == "audit"'
      ckpt threads --where 'user_id == "u-112"' --any
      ckpt threads --sort size --wide
    """
    order, reverse = _parse_order(sort)
    chosen = parse_selector(session, selector)
    request = ThreadsRequest(
        statuses=chosen.statuses,
        period=chosen.period,
        match=chosen.match,
        where=chosen.where,
        any_checkpoint=chosen.any_checkpoint,
        order=order,
        reverse=reverse,
        limit=limit,
        wide=wide,
        named=chosen.named,
    )
    if order is not Order.ACTIVITY:
        session.say(f"sorting by {order.value} looks at every thread")
    view = _stream(session, request) if limit == 0 else session.read(lambda reader: run(reader, request))
    view.narrowed = selector._replace(status=None, stuck_after=NOTHING_TYPED.stuck_after) != NOTHING_TYPED
    for line in _talk(view, request) if limit else ():
        session.say(line)
    return view


def _talk(view: ThreadsView, request: ThreadsRequest) -> Iterator[str]:
    """The remarks for stderr: about the threads that the filter left out, and about heads that can't be read."""
    if request.where is None and view.marked:
        yield _marked(view.marked, view.metadata_problem)
    if request.where is not None and view.unread_metadata:
        yield unread_note(view.unread_metadata, view.metadata_problem)
    if request.where is not None and not view.unreadable and not view.unread_metadata:
        request.where.must_have_worked()
        if request.where.complaint and not request.where.undecided:
            yield request.where.complaint
        if not request.any_checkpoint and not request.where.of_state:
            yield from _heads_only(view)
    if request.where is not None and request.where.undecided:
        yield request.where.complaint or ""
    if view.unreadable:
        yield _unread(view, request)


def _marked(count: int, problem: str) -> str:
    """A remark: how many of the shown threads have metadata that can't be read, and why the first can't."""
    counted = f"{count:,} thread{'' if count == 1 else 's'}"
    return f"{counted} of those shown {'has' if count == 1 else 'have'} unreadable metadata: {problem}"


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
