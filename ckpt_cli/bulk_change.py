"""Changes many threads: shows the plans, asks once, applies them as one operation; its undo."""

import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from ckpt_cli.errors import NotFound, NotSupported, Refused
from ckpt_cli.model import Plan, Ref, RowChange
from ckpt_cli.operations import side_effects
from ckpt_cli.operations.bulk import Outcome, Part, RefusedPart, apply_parts, part_of_plan, parts_to_undo
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Heading, Operation, Phase
from ckpt_cli.operations.operation_list import read_parts
from ckpt_cli.operations.plan_spool import PlanSpool, ThreadPlan
from ckpt_cli.operations.recent_writes import is_live
from ckpt_cli.operations.row_sizes import count_rows
from ckpt_cli.operations.streams import Streamed, Streams
from ckpt_cli.operations.undo import describe
from ckpt_cli.operations.undo_hints import hint_redo
from ckpt_cli.operations.witnesses import is_provable
from ckpt_cli.savers.about import SideEffect
from ckpt_cli.savers.contract import Saver
from ckpt_cli.session import Session
from ckpt_cli.views.base import Rows
from ckpt_cli.views.bulk import BulkView, RowCount, ThreadLine
from ckpt_cli.views.plan import LOG_ROW
from ckpt_cli.views.thread_refusals import refusal_of

Expand = Callable[[Plan], Iterator[RowChange]]
"""Gives the row changes of a plan."""

Planned = tuple[str, Plan | Streamed | str]
"""A thread with its plan, or with the reason why it can't be changed."""


def change_many(
    session: Session,
    verb: str,
    summary: str,
    planned: Iterable[Planned],
    *,
    skip_refused: bool = False,
    expand: Expand | None = None,
    notes: Callable[[], Iterable[str]] = tuple,
    streams: Streams | None = None,
) -> BulkView:
    """Plan a change of many threads, show the plan, ask once, and apply it as one operation.

    Args:
        session: the command's session.
        verb: the command.
        summary: what is done to each thread, in a few words; the number of threads is put before it.
        planned: gives each thread with its plan or the reason why it is refused.
        skip_refused: change the others if some threads are refused; otherwise nothing is written.
        expand: gives the rows of a plan; None for the saver's own `expand`.
        notes: gives what is to be said of all threads together, once each has its plan.
        streams: gives the changes of those plans that are `Streamed`.
    """
    session.must_be_writable()
    saver, log, spool = session.reader.saver, session.logs.for_writing(), PlanSpool()
    if not session.options.dry_run:
        session.settle(log)
    view = BulkView(verb, "", session.options.reason)
    live = 0
    for thread_id, plan in planned:
        one = _measured(saver, thread_id, plan, expand)
        live += isinstance(plan, Plan) and any(is_live(saver, log, ref) for ref in plan.recent)
        spool.add(one)
        _count(view, one)
        session.progress(f"{verb}: {view.selected:,} planned")
    view.summary = f"of {_threads(view.changes)}{summary and ' '}{summary}"
    view.threads = _Lines(spool)
    view.notes += notes()
    if live:
        view.notes.append(f"{_threads(live)} written less than a minute ago; the application may be running")

    parts = partial(_parts, saver, spool, expand, streams)
    return _confirm_and_apply(session, view, log, parts, skip_refused=skip_refused)


def _parts(
    saver: Saver, spool: PlanSpool, expand: Expand | None, streams: Streams | None
) -> Iterator[Part | RefusedPart]:
    for one in spool:
        if one.plan is None:
            yield RefusedPart(one.thread_id, one.problem)
        elif streams is not None:
            part = part_of_plan(saver, one.thread_id, one.plan, one.size, partial(streams.logged, one.thread_id))
            yield part._replace(contents=partial(streams.contents, one.thread_id), around=streams.around)
        else:
            part = part_of_plan(saver, one.thread_id, one.plan, one.size)
            yield part if expand is None else part._replace(expand=partial(expand, one.plan))


def undo_many(
    session: Session, log: OperationLog, operation: Operation, threads: Sequence[str], *, skip_refused: bool
) -> BulkView:
    """Undo the parts of an operation that are in effect, on all its threads or on these, as one operation.

    Raises:
        NotFound: the operation has no such thread.
        Refused: it isn't in effect on such a thread.
    """
    saver, spool = session.reader.saver, PlanSpool()
    _must_stand(log, operation, threads)
    view = BulkView("undo", "", session.options.reason)
    for part in parts_to_undo(saver, log, operation, threads):
        one = _measured_part(saver, part)
        spool.add(one)
        _count(view, one)
        session.progress(f"undo: {view.selected:,} planned")
    view.summary = f"{describe(operation)}{f' on {_threads(view.changes)}' if threads else ''}"
    view.threads = _Lines(spool)
    refused = {one.thread_id: one.problem for one in spool if one.problem}

    def parts() -> Iterator[Part | RefusedPart]:
        for part in parts_to_undo(saver, log, operation, threads):
            problem = refused.get(part.thread_id)
            yield part if problem is None else RefusedPart(part.thread_id, problem)

    return _confirm_and_apply(session, view, log, parts, skip_refused=skip_refused, undoes=operation.number)


def _must_stand(log: OperationLog, operation: Operation, threads: Sequence[str]) -> None:
    phases = {one.thread_id: one for one in read_parts(log, operation.number, threads=threads)} if threads else {}
    for thread_id in threads:
        part = phases.get(thread_id)
        if part is None:
            hint = f"`ckpt operations {operation.shown}` lists its threads"
            raise NotFound(f"operation {operation.shown} has no thread {thread_id!r}; nothing was written", hint=hint)
        if part.phase is not Phase.DONE or part.is_forgotten:
            state = "forgotten" if part.is_forgotten else part.phase
            raise Refused(f"{part.name} is {state} already; nothing was written", hint=hint_redo(log, part))


def _measured(saver: Saver, thread_id: str, plan: Plan | Streamed | str, expand: Expand | None) -> ThreadPlan:
    """A plan with the rows that it changes, or why the database refuses it."""
    if isinstance(plan, str):
        return ThreadPlan(thread_id, None, plan)
    if isinstance(plan, Streamed):
        return ThreadPlan(thread_id, plan.plan, "", plan.size, plan.rows)
    try:
        rows, size = saver.moment(lambda: count_rows((expand or saver.expand)(plan)))
    except (Refused, NotSupported) as error:
        return ThreadPlan(thread_id, None, refusal_of(error))
    return ThreadPlan(thread_id, plan, "", size, rows)


def _measured_part(saver: Saver, part: Part) -> ThreadPlan:
    """What the undo of a part changes, or why it is refused."""
    shown = Plan("", verb="undo", summary=part.summary)
    try:
        rows, size = saver.moment(lambda: count_rows(one for one in part.expand() if isinstance(one, RowChange)))
    except Refused as error:
        return ThreadPlan(part.thread_id, None, f"{error.reason}{error.hint and f' (hint: {error.hint})'}")
    return ThreadPlan(part.thread_id, shown, "", size, rows)


def log_bytes(size: int, rows: Iterable[RowCount]) -> int:
    """At most so many bytes are added to the log by images of this size and these rows."""
    return size + LOG_ROW * sum(row.rows for row in rows)


def _count(view: BulkView, one: ThreadPlan) -> None:
    """Add a thread to the totals of a view."""
    view.selected += 1
    if one.plan is None:
        view.refused += 1
        return
    view.changes += 1
    counts = Counter({(row.change, row.table): row.rows for row in view.rows})
    counts.update({(change, table): count for change, table, count in one.rows})
    view.rows = [RowCount(*kind, count) for kind, count in counts.items()]
    view.log_bytes += log_bytes(one.size, [RowCount(*row) for row in one.rows])


def _confirm_and_apply(
    session: Session,
    view: BulkView,
    log: OperationLog,
    parts: Callable[[], Iterator[Part | RefusedPart]],
    *,
    skip_refused: bool,
    undoes: int | None = None,
) -> BulkView:
    session.progress("")
    options, saver = session.options, session.reader.saver
    triggered = _find_side_effects(session, view, log)
    view.stopped = bool(view.refused) and not skip_refused and not options.dry_run
    if options.dry_run or view.stopped or not view.changes:
        return view
    must_have_room(log, view.log_bytes)
    accepted = triggered if options.with_triggers else side_effects.load_accepted(log)
    side_effects.must_be_accepted(triggered, accepted, side_effects.load_accepted_times(log))
    if not options.yes and not session.ask(view):
        raise Refused("not confirmed; nothing was written")

    def report(outcome: Outcome) -> None:
        session.progress(f"{view.command}: {outcome.applied + len(outcome.refused):,} of {view.changes:,} threads")

    heading = Heading(session.clock(), view.command, view.reason, view.summary, undoes)
    try:
        outcome = apply_parts(saver, log, heading, parts(), count=view.selected, accepted=accepted, report=report)
    finally:
        session.progress("")
    _add_outcome(session, view, log, outcome)
    if options.remember and options.with_triggers:
        side_effects.remember(log, triggered, session.clock())
    return view


def _add_outcome(session: Session, view: BulkView, log: OperationLog, outcome: Outcome) -> None:
    view.applied, view.operation = True, outcome.operation
    view.done, view.moved = outcome.applied, len(outcome.refused)
    view.threads = _Outcomes(view.threads, outcome)
    if view.done:
        saver = session.reader.saver
        option = "" if saver.moment(lambda: is_provable(saver, log)) else " --same-database"
        view.undo = f"ckpt undo {view.operation}{option}"


class _Outcomes(Rows):
    """The lines of a plan's threads once it is applied."""

    def __init__(self, lines: Iterable[ThreadLine], outcome: Outcome) -> None:
        self._lines, self._outcome = lines, outcome

    def __iter__(self) -> Iterator[ThreadLine]:
        for line in self._lines:
            if line.state == "refused":
                yield line
            elif (problem := self._outcome.refused.get(line.thread_id)) is not None:
                yield replace(line, state="refused", problem=problem, config=None)
            else:
                yield replace(line, state="applied")


class _Lines(Rows):
    """The lines of a spool's threads; they are made when they are read, and can be read several times."""

    def __init__(self, spool: PlanSpool) -> None:
        self._spool = spool

    def __iter__(self) -> Iterator[ThreadLine]:
        for one in self._spool:
            if one.plan is None:
                yield ThreadLine(one.thread_id, "refused", "", one.problem)
            else:
                plan = one.plan
                yield ThreadLine(one.thread_id, "planned", plan.summary, "", plan.notes, _config(plan.result))


def _config(ref: Ref | None) -> dict[str, dict[str, str]] | None:
    if ref is None:
        return None
    checkpoint = {"checkpoint_id": ref.checkpoint_id} if ref.checkpoint_id else {}
    return {"configurable": {"thread_id": ref.thread_id, "checkpoint_ns": ref.ns, **checkpoint}}


def _find_side_effects(session: Session, view: BulkView, log: OperationLog) -> list[SideEffect]:
    """Find the side effects that the rows of a plan set off, and also add them to the view."""
    saver = session.reader.saver
    existing, caveats = saver.moment(lambda: (saver.side_effects(), saver.caveats()))
    triggered = side_effects.select_triggered(existing, {(row.table, row.change) for row in view.rows})
    accepted: Collection[SideEffect] = triggered
    if not session.options.with_triggers:
        accepted = side_effects.load_accepted(log)
    view.side_effects = side_effects.make_lines(triggered, accepted)
    view.notes += caveats
    return triggered


def must_have_room(log: OperationLog, needed: int) -> None:
    """Refuse an operation whose images may not fit on the disk of the log.

    Raises:
        Refused: there is too little room.
    """
    folder = next((one for one in log.path.parents if one.is_dir()), Path("/"))
    free = shutil.disk_usage(folder).free
    if free < needed:
        what = f"the operation log may grow by {needed:,} bytes, and {folder} has room for {free:,}"
        raise Refused(
            f"{what}; nothing was written", hint="make room, or change less at a time: fewer threads, with --limit N"
        )


def _threads(count: int) -> str:
    return f"{count:,} thread{'' if count == 1 else 's'}"
