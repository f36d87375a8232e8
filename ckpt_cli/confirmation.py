"""Shows a plan, asks, applies it, says which command undoes it: for every change and every undo."""

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from ckpt_cli.bulk_change import must_have_room, undo_many
from ckpt_cli.errors import Refused, UsageError
from ckpt_cli.model import Plan, Ref, RowChange
from ckpt_cli.operations import late_children, recent_writes, side_effects
from ckpt_cli.operations import settle as settling
from ckpt_cli.operations import undo as undoing
from ckpt_cli.operations.apply import apply
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.row_lines import RowLines, row_lines
from ckpt_cli.operations.survey import Survey
from ckpt_cli.operations.witnesses import is_provable
from ckpt_cli.savers.about import SideEffect
from ckpt_cli.session import Session
from ckpt_cli.values.difference import Difference
from ckpt_cli.views.bulk import BulkView
from ckpt_cli.views.plan import PlanView, RowLine

if TYPE_CHECKING:
    from ckpt_cli.operations.bundles import Packed

_FOR_EVER = "Forget it for ever? Neither undo nor the log brings it back. [y/N] "


def change(
    session: Session, plan: Plan, changes: Sequence[Difference], forget: Survey | None, packed: "Packed | None" = None
) -> PlanView:
    """See `Session.change`."""
    saver, log = session.reader.saver, session.logs.for_writing()
    plan = plan._replace(reason=session.options.reason or plan.reason)
    config = None if plan.result is None else {"configurable": _configurable(plan.result)}
    notes = [*plan.notes, *(recent_writes.notes(saver, log, plan.recent, session.clock()) if plan.recent else ())]
    view = PlanView(plan.verb, plan.summary, plan.reason, notes, list(changes), config=config)
    if plan.verb in ("delete", "prune"):
        view.log, view.forgets = (None, True) if forget else (str(log.path), False)
    expand = saver.expand
    if packed is not None:
        view.bundle, expand = str(packed.path), packed.expand
    threads = forget.threads if forget else ()
    return _confirm_and_apply(
        session,
        view,
        log,
        lambda: expand(plan),
        lambda accepted: apply(saver, log, plan, at=session.clock(), forget=threads, accepted=accepted, expand=expand),
        () if forget is None else forget.rows,
    )


def undo(
    session: Session, number: int | None, threads: Sequence[str] = (), *, skip_refused: bool = False
) -> PlanView | BulkView:
    """See `Session.undo`."""
    saver, log, reason = session.reader.saver, session.logs.for_undo(), session.options.reason
    if not session.options.dry_run:
        settle(session, log)
    operation = saver.moment(lambda: undoing.find_operation(saver, log, number))
    session.must_be_writable()
    if operation.parts is not None:
        bulk = undo_many(session, log, operation, threads, skip_refused=skip_refused)
        _say_late_children(session, log, bulk.operation)
        return bulk
    if threads or skip_refused:
        option = "--thread" if threads else "--skip-refused"
        what = f"{option} is for operations on many threads, each in a transaction of its own"
        raise UsageError(what, hint=f"`ckpt operations` shows operation {operation.shown}, which is one transaction")
    notes = saver.moment(lambda: undoing.undo_notes(saver, log, operation))
    if operation.forgotten:
        notes.append(f"{operation.forgotten} of its {operation.rows} rows were forgotten and don't come back")
    view = _confirm_and_apply(
        session,
        PlanView("undo", undoing.describe(operation), reason, notes),
        log,
        lambda: undoing.inverse(saver, log, operation),
        lambda accepted: undoing.undo(saver, log, operation, at=session.clock(), reason=reason, accepted=accepted),
    )
    _say_late_children(session, log, view.operation)
    return view


def _say_late_children(session: Session, log: OperationLog, shown: int | None) -> None:
    """Say what an agent wrote from checkpoints just as this undo removed them; None if nothing was undone."""
    if shown is None:
        return
    saver, [made] = session.reader.saver, [one for one in log.operations() if one.shown == shown]
    for line in saver.moment(lambda: list(late_children.notes(saver, log, made))):
        session.say(line)


def settle(session: Session, log: OperationLog) -> None:
    """See `Session.settle`."""
    settled = settling.settle(session.reader.saver, log)
    for operation in (one for one in settled if one.part_of is None):
        session.say(f"{operation.name} ({operation.verb}) was interrupted: `ckpt operations` shows how it ended")
    for operation in (one for one in settling.planned_operations(log) if one.part_of is None):
        what = f"{operation.name} ({operation.verb}) was interrupted"
        session.say(f"{what}, and no row of the database shows how it ended; it stays planned")


def _confirm_and_apply(
    session: Session,
    view: PlanView,
    log: OperationLog,
    expand: Callable[[], Iterable[RowChange]],
    act: Callable[[Collection[SideEffect]], int],
    wiped: Sequence[RowLine] = (),
) -> PlanView:
    options, saver = session.options, session.reader.saver
    if not options.dry_run:
        settle(session, log)
    view.rows = session.reader.moment(lambda: RowLines(row_lines(saver, expand())))
    view.locate()
    if wiped:
        view.rows = RowLines(chain(view.rows, wiped))
    if not view.rows:
        return view
    triggered = _find_side_effects(session, view, log)
    if options.dry_run:
        return view
    must_have_room(log, view.log_growth)
    accepted = triggered if options.with_triggers else side_effects.load_accepted(log)
    side_effects.must_be_accepted(triggered, accepted, side_effects.load_accepted_times(log))
    if not options.yes and not (session.ask(view) and (not view.forgets or session.ask_again(_FOR_EVER))):
        raise Refused("not confirmed; nothing was written")
    view.operation = log.operation(act(accepted)).shown
    view.applied = True
    if not view.forgets:
        view.undo = _undo_command(session, view, log)
    if options.remember and options.with_triggers:
        side_effects.remember(log, triggered, session.clock())
    return view


def _undo_command(session: Session, view: PlanView, log: OperationLog) -> str:
    """The command that undoes an applied plan, with ``--same-database`` if no row is left that proves the log."""
    saver = session.reader.saver
    option = "" if saver.moment(lambda: is_provable(saver, log)) else " --same-database"
    return f"ckpt undo{f' {view.operation}' if view.command == 'undo' else ''}{option}"


def _find_side_effects(session: Session, view: PlanView, log: OperationLog) -> list[SideEffect]:
    """Find the side effects that the rows of a plan set off, and also add them to the view."""
    saver = session.reader.saver
    existing, caveats = saver.moment(lambda: (saver.side_effects(), saver.caveats()))
    triggered = side_effects.select_triggered(existing, {(row.table, row.change) for row in view.rows})
    accepted = triggered if session.options.with_triggers else side_effects.load_accepted(log)
    view.side_effects = side_effects.make_lines(triggered, accepted)
    view.notes += caveats
    return triggered


def _configurable(ref: Ref) -> dict[str, str]:
    """The ``configurable`` keys that name a checkpoint in a LangGraph config."""
    checkpoint = {"checkpoint_id": ref.checkpoint_id} if ref.checkpoint_id else {}
    return {"thread_id": ref.thread_id, "checkpoint_ns": ref.ns, **checkpoint}
