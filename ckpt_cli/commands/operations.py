"""``ckpt operations``: lists what ckpt did to this database, newest first, and forgets old operations."""

from collections.abc import Collection, Sequence
from typing import Annotated

import typer

from ckpt_cli.completion.names import complete_changed_thread, complete_remembered
from ckpt_cli.errors import NotFound, Refused, UsageError
from ckpt_cli.history.lineage.finder import spans
from ckpt_cli.operations import remembered_reducers, side_effects
from ckpt_cli.operations.changed_threads import operations_on, read_changed_threads
from ckpt_cli.operations.forget import is_pending
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Operation, Phase
from ckpt_cli.operations.operation_list import read_parts
from ckpt_cli.parameters.options import DryRun, Limit, SameDatabase, Yes
from ckpt_cli.session import Session
from ckpt_cli.views.changed_threads import ChangedNamespace
from ckpt_cli.views.operations import OperationLine, OperationsView, PartLine, PartsLine
from ckpt_cli.views.plan import PlanView, RowLine

_DAY = 86400

_Numbers = Annotated[
    list[int] | None,
    typer.Argument(
        metavar="OPERATION",
        help="Show one operation, thread by thread; with --prune: forget these.",
        show_default=False,
    ),
]
_ThreadOption = Annotated[
    str | None,
    typer.Option(
        "--thread",
        metavar="THREAD",
        help="Only operations that changed this thread, also a deleted one.",
        autocompletion=complete_changed_thread,
        show_default=False,
    ),
]
_Prune = Annotated[bool, typer.Option("--prune", help="Forget old operations; they can't be undone any more.")]
_Keep = Annotated[int | None, typer.Option("--keep", metavar="N", min=0, help="With --prune: keep the newest N.")]
_Older = Annotated[
    float | None, typer.Option("--older", metavar="DAYS", min=0, help="With --prune: forget those older than this.")
]
_Settle = Annotated[bool, typer.Option("--settle", help="Take back now what an interrupted operation wrote.")]
_ForgetTriggers = Annotated[
    bool, typer.Option("--forget-triggers", help="Ask again about triggers accepted with --remember.")
]
_ForgetReducer = Annotated[
    list[str] | None,
    typer.Option(
        "--forget-reducer",
        metavar="CHANNEL",
        help="Forget the reducer of a channel that update or replay --remember named; may be repeated.",
        autocompletion=complete_remembered,
    ),
]


def operations(
    session: Session,
    numbers: _Numbers = None,
    thread: _ThreadOption = None,
    limit: Limit = 0,
    prune: _Prune = False,
    keep: _Keep = None,
    older: _Older = None,
    settle: _Settle = False,
    forget_triggers: _ForgetTriggers = False,
    forget_reducer: _ForgetReducer = None,
    same_database: SameDatabase = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> OperationsView | PlanView:
    """List what ckpt did to this database: where, when, why, how many rows, and whether it is still in effect.

    Each operation has its threads and namespaces, who made it (user and host) and by which version of ckpt. --thread
    lists only the operations that changed one thread, -n only the newest. A number shows one, thread by thread.

    The log keeps the changed rows as they were before. It is stored in $XDG_STATE_HOME/ckpt, never beside the database.
    --prune shows which operations it would forget, asks, and leaves no byte of them in the log. With both --keep and
    --older, it forgets what is older and not among the newest; a number is forgotten together with its undo, or with
    what it undid. --settle finds out how an interrupted operation ended, and so does the next change.

    Examples:
      ckpt operations
      ckpt operations 7
      ckpt operations --json --query "operations[?state=='done'].number"
      ckpt operations --prune --older 30 --keep 10 --dry-run
      ckpt operations --forget-reducer retries
    """
    _must_list(thread, limit, prune=prune)
    _check_options(numbers or (), prune=prune, has_limits=(keep, older) != (None, None), confirmed=dry_run or yes)
    session.same_database = same_database
    if numbers and not prune:
        return describe_operation(session, numbers)
    log = _log_without(session, forget_reducer or (), triggers=forget_triggers)
    if settle or (prune and not dry_run):
        session.settle(log)
    known = log.operations()
    pruned = operations_by_number(known, numbers or ())
    if prune:
        pruned = pruned if numbers else operations_to_prune(known, session.clock(), keep, older)
        plan = plan_pruning(pruned)
        if dry_run:
            return plan
        if pruned and not yes and not session.ask(plan):
            raise Refused("not confirmed; nothing was forgotten")
    return run(log, pruned, None if thread is None else _operations_on(session, log, thread), thread, limit)


def _operations_on(session: Session, log: OperationLog, thread_id: str) -> set[int]:
    """The numbers of the operations that changed a thread.

    Raises:
        NotFound: neither the log nor the database has this thread.
    """
    uncounted = [one.number for one in log.operations() if one.counts is None]
    numbers = operations_on(log, session.reader.saver.record_of, thread_id, uncounted)
    if not numbers:
        session.read(lambda reader: reader.thread(thread_id))
    return numbers


def _log_without(session: Session, channels: Sequence[str], *, triggers: bool) -> OperationLog:
    """The log, after it has forgotten the reducers of these channels, and the accepted triggers if `triggers`."""
    if channels:
        remembered_reducers.forget(session.logs.for_undo(), channels)
    log = session.log
    if triggers:
        side_effects.forget(log)
    return log


def describe_operation(session: Session, numbers: Sequence[int]) -> OperationsView:
    """One operation, thread by thread.

    Raises:
        NotFound: no operation has that number.
    """
    log = session.log
    operation = next((one for one in log.operations() if one.shown == numbers[0]), None)
    if operation is None:
        raise NotFound(f"no operation {numbers[0]}", hint="`ckpt operations` lists them")
    parts = (
        PartLine(
            one.thread_id,
            one.phase.value,
            one.summary,
            one.problem,
            one.rows,
            one.size,
            one.forgotten or 0,
            one.details,
        )
        for one in read_parts(log, operation.number)
    )
    view = OperationsView(
        str(log.path), [_line(log, operation, None)], threads=() if operation.parts is None else parts
    )
    view.full = True
    return view


def operations_by_number(known: Sequence[Operation], numbers: Sequence[int]) -> list[Operation]:
    """The operations with these numbers, each together with its undo or with the operation that it undid.

    Raises:
        NotFound: no operation has that number.
        Refused: an operation was interrupted. Its rows are still needed to find out how that operation ended.
    """
    internal = {one.shown: one.number for one in known}
    chosen = {internal[number] for number in numbers if number in internal}
    if missing := sorted({*numbers} - internal.keys()):
        raise NotFound(f"no operation {missing[0]}; nothing was forgotten", hint="`ckpt operations` lists them")
    size = 0
    while size != len(chosen):
        size = len(chosen)
        pairs = [(one.number, one.undoes) for one in known if one.undoes is not None]
        chosen.update(number for pair in pairs if chosen.intersection(pair) for number in pair)
    chosen_operations = [one for one in known if one.number in chosen]
    for one in chosen_operations:
        if one.phase is Phase.PLANNED:
            what = f"{one.name} was interrupted, or is still running; nothing was forgotten"
            raise Refused(what, hint="`ckpt operations --settle` finds out how it ended")
    return chosen_operations


def _check_options(numbers: Sequence[int], *, prune: bool, has_limits: bool, confirmed: bool) -> None:
    if confirmed and not prune:
        raise UsageError("--dry-run and --yes belong to --prune")
    if prune is (bool(numbers) or has_limits) and not (numbers and has_limits):
        return
    if len(numbers) == 1 and not has_limits:
        return
    if numbers and has_limits:
        raise UsageError("--keep and --older choose operations, and so do numbers", hint="use one or the other")
    if prune:
        raise UsageError("--prune needs --keep N, --older DAYS or numbers of operations")
    raise UsageError("several numbers, --keep and --older belong to --prune")


def _must_list(thread_id: str | None, limit: int, *, prune: bool) -> None:
    if prune and (thread_id is not None or limit):
        option = "--limit" if thread_id is None else "--thread"
        raise UsageError(f"{option} chooses what is listed, not what --prune forgets", hint="name operations by number")


def plan_pruning(pruned: Sequence[Operation]) -> PlanView:
    """The plan that lists the operations that ``--prune`` would forget."""
    rows = [RowLine("remove", "the operation log", None, None, None, None, None, one.size, 0) for one in pruned]
    numbers = spans(one.shown for one in pruned)
    summary = f"--prune forgets operation{'' if len(pruned) == 1 else 's'} {numbers}, for which there is no undo then"
    return PlanView("operations", summary if pruned else "--prune finds nothing to forget", rows=rows)


def run(
    log: OperationLog,
    pruned: Sequence[Operation] = (),
    listed: Collection[int] | None = None,
    thread_id: str | None = None,
    limit: int = 0,
) -> OperationsView:
    """Forget the `pruned` operations, and return the view of the log.

    Args:
        log: the operation log.
        pruned: operations to forget.
        listed: the numbers of the operations to list; None lists all.
        thread_id: where an operation changed several threads, name this one.
        limit: list at most so many, the newest; 0 lists all.
    """
    numbers = [one.number for one in pruned]
    if numbers:
        log.prune(numbers)
    accepted = side_effects.load_accepted(log)
    lines = [_line(log, one, thread_id) for one in log.operations() if listed is None or one.number in listed]
    return OperationsView(
        str(log.path),
        lines[: limit or None],
        len(numbers),
        is_pending(log),
        side_effects.make_lines(accepted, accepted),
        {one.channel: one.name for one in remembered_reducers.read_remembered(log)},
    )


def operations_to_prune(
    operations: Sequence[Operation], now: float, keep: int | None, older: float | None
) -> list[Operation]:
    """The operations that ``--prune`` with ``--keep`` or ``--older`` forgets, without interrupted operations."""
    return [
        operation
        for index, operation in enumerate(operations)
        if index >= (keep or 0)
        and (older is None or operation.at < now - older * _DAY)
        and operation.phase is not Phase.PLANNED
    ]


def _line(log: OperationLog, operation: Operation, thread_id: str | None) -> OperationLine:
    from datetime import UTC, datetime

    at = datetime.fromtimestamp(operation.at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    threads, namespaces, where = _where(log, operation, thread_id)
    user, host, version = operation.origin or (None, None, None)
    return OperationLine(
        operation.shown,
        at,
        operation.verb,
        operation.summary,
        operation.reason,
        operation.phase.value,
        None if operation.undoes is None else log.shown(operation.undoes),
        operation.rows,
        operation.size,
        operation.forgotten or 0,
        threads=threads,
        namespaces=namespaces,
        where=where,
        user=user,
        host=host,
        version=version,
        parts=None if operation.parts is None else PartsLine(*operation.parts),
        details=operation.details,
    )


def _where(
    log: OperationLog, operation: Operation, thread_id: str | None
) -> tuple[int | None, int | None, tuple[ChangedNamespace, ...]]:
    """The columns `threads`, `namespaces` and `where` of an operation."""
    changed = read_changed_threads(log, operation.number, operation.counts, thread_id)
    return (None, None, ()) if changed is None else (changed.threads, changed.namespaces, changed.named)
