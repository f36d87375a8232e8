"""``ckpt operations``: what was done to this database, newest first; and forgetting old ones."""

from collections.abc import Sequence
from typing import Annotated

import typer

from ckpt_cli.commands.options import DryRun, Yes
from ckpt_cli.errors import Refused, UsageError
from ckpt_cli.history.finder import spans
from ckpt_cli.operations.log import Operation, OperationLog, Phase
from ckpt_cli.session import Session
from ckpt_cli.views.operations import OperationLine, OperationsView
from ckpt_cli.views.plan import PlanView, RowLine

_DAY = 86400


def operations(
    session: Session,
    prune: Annotated[bool, typer.Option("--prune", help="Forget old ones; they can't be undone any more.")] = False,
    keep: Annotated[
        int | None, typer.Option("--keep", metavar="N", min=0, help="With --prune: keep the newest N.")
    ] = None,
    older: Annotated[
        float | None, typer.Option("--older", metavar="DAYS", min=0, help="With --prune: forget those older than this.")
    ] = None,
    settle: Annotated[
        bool, typer.Option("--settle", help="Take back now what an interrupted one wrote of its plan.")
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> OperationsView | PlanView:
    """List what ckpt did to this database: when, why, how many rows, and whether it still stands.

    The log with its before-images is kept beside no database but in $XDG_STATE_HOME/ckpt; --prune bounds it: it shows
    what would go and asks. With both --keep and --older only what is older and not among the newest goes. An operation
    that was interrupted is settled by the next command that changes something, or by --settle.

    Examples:
      ckpt operations
      ckpt operations --json --query "operations[?state=='done'].number"
      ckpt operations --prune --older 30 --keep 10 --dry-run
    """
    if prune is (keep is None and older is None):
        raise UsageError("--prune wants --keep N or --older DAYS" if prune else "--keep and --older belong to --prune")
    if not prune and (dry_run or yes):
        raise UsageError("--dry-run and --yes belong to --prune")
    session.reader  # noqa: B018 - a database that can't be opened is said first
    if settle or (prune and not dry_run):
        session.settle()
    gone = old(session.log.operations(), session.clock(), keep, older) if prune else []
    if prune:
        plan = planned(gone)
        if dry_run:
            return plan
        if gone and not yes and not session.ask(plan):
            raise Refused("not confirmed; nothing was forgotten")
    return run(session.log, gone)


def planned(gone: Sequence[Operation]) -> PlanView:
    """What pruning would forget, operation by operation."""
    rows = [RowLine("remove", "the operation log", None, None, None, None, None, one.size, 0) for one in gone]
    numbers = spans(one.number for one in gone)
    summary = f"--prune forgets operation{'' if len(gone) == 1 else 's'} {numbers}, for which there is no undo then"
    return PlanView("operations", summary if gone else "--prune finds nothing to forget", rows=rows)


def run(log: OperationLog, gone: Sequence[Operation] = ()) -> OperationsView:
    """The log as it stands, after forgetting some."""
    numbers = [one.number for one in gone]
    if numbers:
        log.prune(numbers)
    return OperationsView(str(log.path), [_line(one) for one in log.operations()], len(numbers))


def old(found: Sequence[Operation], now: float, keep: int | None, older: float | None) -> list[Operation]:
    """Those that pruning forgets; never one that was interrupted."""
    return [
        operation
        for place, operation in enumerate(found)
        if place >= (keep or 0)
        and (older is None or operation.at < now - older * _DAY)
        and operation.phase is not Phase.PLANNED
    ]


def _line(operation: Operation) -> OperationLine:
    from datetime import UTC, datetime

    at = datetime.fromtimestamp(operation.at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return OperationLine(
        operation.number,
        at,
        operation.verb,
        operation.summary,
        operation.reason,
        operation.phase.value,
        operation.undoes,
        operation.rows,
        operation.size,
    )
