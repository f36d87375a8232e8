"""Searches threads for lists of messages that models refuse, page by page; plans to mend them."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ckpt_cli.bulk_change import Planned
from ckpt_cli.errors import CkptError, DatabaseUnreachable, Failed, PayloadCorrupt
from ckpt_cli.history.messages.mended_messages import Mend
from ckpt_cli.model import CheckpointRow, Plan, Thread
from ckpt_cli.output.quantities import iso
from ckpt_cli.parameters.target import Target
from ckpt_cli.plans.mint import Mint
from ckpt_cli.plans.tool_calls import Broken, find_broken, plan_mend, plan_rollback, why_left_alone
from ckpt_cli.queries.thread_plans import selected
from ckpt_cli.queries.thread_status import ThreadStatus
from ckpt_cli.reading import Reader
from ckpt_cli.savers.paging import pages
from ckpt_cli.session import Session
from ckpt_cli.views.repair import BrokenThread, CallLine, FaultLine, RepairView

_AT_ONCE = 20  # threads that are read in one moment


class How(NamedTuple):
    """How a person wants lists to be mended; `mend` is None for a rollback."""

    mend: Mend | None
    text: str = ""


class Request(NamedTuple):
    """What is searched, and how it is to be mended.

    Attributes:
        target: the threads; its limit counts those that are not left alone.
        how: None if a person only wants to see the faults.
        channels: only these; empty for all.
    """

    target: Target
    how: How | None
    channels: frozenset[str] = frozenset()


class _Search(NamedTuple):
    """A broken thread: its line, and how to plan the change; no plan if the thread is left alone."""

    line: BrokenThread
    plan: Plan | str | None


def run(session: Session, view: RepairView, request: Request) -> RepairView:
    """The view with the broken threads of a selection."""
    for one in _search(session, view, request):
        view.add(one.line)
    return view


def planned(session: Session, view: RepairView, request: Request) -> Iterator[Planned]:
    """Each broken thread with the plan that mends it, or the reason why it can't be; those left alone are counted."""
    left_alone = 0
    for one in _search(session, view, request):
        if one.plan is None:
            left_alone += 1
        else:
            yield one.line.thread_id, one.plan
    if left_alone:
        count = f"{left_alone:,} thread{' is' if left_alone == 1 else 's are'}"
        session.say(f"{count} left alone: a result may still come (without --yes, --all lists them)")


def _search(session: Session, view: RepairView, request: Request) -> Iterator[_Search]:
    """The broken threads, until the limit is reached."""
    counted = 0
    for page in pages(selected(session, request.target._replace(limit=0)), _AT_ONCE):
        for one in session.read(_on(page, view, request, Mint(session.clock))):
            yield one
            counted += not one.line.left_alone
            if request.target.limit and counted >= request.target.limit:
                session.progress("")
                return
        view.searched += len(page)
        session.progress(f"repair: {view.searched:,} threads searched")
    session.progress("")


def _on(page: list[Thread], view: RepairView, request: Request, mint: Mint) -> Callable[[Reader], list[_Search]]:
    def search(reader: Reader) -> list[_Search]:
        reader.saver.expect_threads(page)
        found = [_search_one(reader, thread, view, request, mint) for thread in page]
        return [one for one in found if one is not None]

    return search


def _search_one(reader: Reader, thread: Thread, view: RepairView, request: Request, mint: Mint) -> _Search | None:
    try:
        row = reader.head(thread.thread_id, request.target.ns or thread.head.ns)
        broken = find_broken(reader, row.ref, request.channels)
        if not broken:
            return None
        left_alone = why_left_alone(reader, row, broken)
    except PayloadCorrupt as error:
        view.unreadable += 1
        view.problem = view.problem or error.message
        return None
    except (DatabaseUnreachable, Failed):
        raise
    except CkptError:  # it was deleted meanwhile, or has no such namespace
        return None
    what, plan = "", None
    if not left_alone and request.how is not None:
        what, plan = _plan(reader, row, broken, request, request.how, mint)
    return _Search(_line(ThreadStatus(reader, Thread(row.thread_id, row.ref)), broken, left_alone, what), plan)


def _plan(
    reader: Reader, row: CheckpointRow, broken: list[Broken], request: Request, how: How, mint: Mint
) -> tuple[str, Plan | str]:
    """What a mend would do to a thread, and its plan, or twice the reason why it can't be mended so."""
    try:
        if how.mend is None:
            plan, what = plan_rollback(reader, row, mint, request.channels)
        else:
            plan, what = plan_mend(reader, row, broken, how.mend, how.text, mint)
    except (DatabaseUnreachable, Failed):
        raise
    except CkptError as error:
        reason = error.reason
        reason += f" ({error.hint})" if error.hint else ""
        return f"refused: {reason}", reason
    return what, plan


def _line(one: ThreadStatus, broken: list[Broken], left_alone: str, what: str) -> BrokenThread:
    faults = tuple(
        FaultLine(
            some.channel,
            str(fault.kind),
            fault.position,
            tuple(CallLine(call.id, call.name) for call in fault.calls),
            fault.rule,
        )
        for some in broken
        for fault in some.faults
    )
    head = one.state.ref if one.state is not None else None
    return BrokenThread(
        one.thread_id,
        head.ns if head else "",
        head.checkpoint_id if head else "",
        one.status,
        iso(one.updated),
        faults,
        left_alone,
        what,
    )
