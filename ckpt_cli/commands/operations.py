"""``ckpt operations``: what was done to this database, newest first; and forgetting old ones."""

from typing import Annotated

import typer

from ckpt_cli.errors import UsageError
from ckpt_cli.operations.log import Operation, OperationLog, Phase
from ckpt_cli.session import Session
from ckpt_cli.views.operations import OperationLine, OperationsView

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
) -> OperationsView:
    """List what ckpt did to this database: when, why, how many rows, and whether it still stands.

    The log with its before-images is kept beside no database but in $XDG_STATE_HOME/ckpt; --prune bounds it. With both
    --keep and --older only what is older and not among the newest goes. An operation that was interrupted is settled
    by the next command that changes something, or by --settle.

    Examples:
      ckpt operations
      ckpt operations --json --query "operations[?state=='done'].number"
      ckpt operations --prune --older 30 --keep 10
    """
    if prune is (keep is None and older is None):
        raise UsageError("--prune wants --keep N or --older DAYS" if prune else "--keep and --older belong to --prune")
    session.reader  # noqa: B018 - a database that can't be opened is said first
    if prune or settle:
        session.settle()
    return run(session.log, session.clock(), keep, older, prune=prune)


def run(
    log: OperationLog, now: float, keep: int | None = None, older: float | None = None, *, prune: bool = False
) -> OperationsView:
    """The log as it stands, after forgetting what `keep` and `older` (days) allow."""
    found = log.operations()
    old = [
        operation
        for place, operation in enumerate(found)
        if prune and place >= (keep or 0) and (older is None or operation.at < now - older * _DAY)
    ]
    gone = [operation.number for operation in old if operation.phase is not Phase.PLANNED]
    if gone:
        log.prune(gone)
    return OperationsView(str(log.path), [_line(o) for o in found if o.number not in gone], len(gone))


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
