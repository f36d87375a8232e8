"""Takes operations back, and finds out how one ended that a crash interrupted."""

from collections.abc import Iterator

from ckpt_cli.errors import NotFound, Refused
from ckpt_cli.model import RowChange
from ckpt_cli.operations.apply import write
from ckpt_cli.operations.log import Operation, OperationLog, Phase, digest
from ckpt_cli.savers.contract import Saver


def find(log: OperationLog, number: int | None) -> Operation:
    """The operation of that number, or the newest that still stands.

    Raises:
        NotFound: there is none.
    """
    for operation in log.operations():
        if operation.number == number or (
            number is None and operation.phase is Phase.DONE and operation.undoes is None
        ):
            return operation
    what = "no operation to undo" if number is None else f"no operation {number}"
    raise NotFound(what, hint="`ckpt operations` lists what was done to this database")


def undo(saver: Saver, log: OperationLog, operation: Operation, *, at: float, reason: str) -> int:
    """Bring back every row as it was before an operation, as an operation of its own that can be undone too.

    Raises:
        Refused: it doesn't stand, a later operation touched the same rows, or somebody else changed them since.
    """
    if operation.phase is not Phase.DONE:
        raise Refused(
            f"operation {operation.number} is {operation.phase}", hint="`ckpt operations` tells what can be undone"
        )
    if later := log.later(operation.number):
        names = ", ".join(map(str, later))
        raise Refused(f"later operations touched the same rows: {names}", hint=f"undo {later[0]} first")
    number = write(
        saver, log, lambda: _inverse(saver, log, operation.number), at=at, undoes=operation.number,
        verb="undo", reason=reason, summary=f"takes back {operation.number}: {operation.summary}",
    )  # fmt: skip
    log.mark(operation.number, Phase.UNDONE)
    if operation.undoes is not None:
        log.mark(operation.undoes, Phase.DONE)
    return number


def _inverse(saver: Saver, log: OperationLog, number: int) -> Iterator[RowChange]:
    for change in log.changes(number, backwards=True):
        if digest(saver.current(change.relation, change.key)) != digest(change.after):
            key = ", ".join(f"{k}={v!r}" for k, v in change.key.items())
            raise Refused(
                f"a row of operation {number} was changed since ({change.relation}: {key}); nothing was written"
            )
        yield change.inverse


def settle(saver: Saver, log: OperationLog) -> list[Operation]:
    """Tell of every operation found planned whether it happened, by comparing rows with both images.

    The database's transaction is all or nothing, so one row that isn't as before means that all of them were written.
    """
    open_ends = [operation for operation in log.operations() if operation.phase is Phase.PLANNED]
    for operation in open_ends:
        untouched = all(
            digest(saver.current(change.relation, change.key)) == digest(change.before)
            for change in log.changes(operation.number)
        )
        log.mark(operation.number, Phase.ABANDONED if untouched else Phase.DONE)
        if not untouched and operation.undoes is not None:
            log.mark(operation.undoes, Phase.UNDONE)
    return open_ends
