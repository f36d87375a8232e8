"""Finds out how an operation ended that a crash interrupted: the rows themselves tell."""

from ckpt_cli.operations.images import digest
from ckpt_cli.operations.log import Operation, OperationLog, Phase
from ckpt_cli.savers.contract import Saver


def settle(saver: Saver, log: OperationLog) -> list[Operation]:
    """Tell of every operation found planned whether it happened; gives those that were.

    Nobody else is between its log and its end while this transaction has the right to write, and opening it lets the
    engine take back what it had half done.
    """
    if not _planned(log):
        return []
    return saver.transaction(lambda: _settle(saver, log))


def _planned(log: OperationLog) -> list[Operation]:
    return [operation for operation in log.operations() if operation.phase is Phase.PLANNED]


def _settle(saver: Saver, log: OperationLog) -> list[Operation]:
    found = _planned(log)
    for operation in reversed(found):
        if _happened(saver, log, operation.number):
            log.finish(operation.number)
        else:
            log.mark(operation.number, Phase.ABANDONED)
    return found


def _happened(saver: Saver, log: OperationLog, number: int) -> bool:
    """All rows of an operation were written or none, so one row that is as before or as after tells it of all.

    A row that isn't there tells less than one that is: somebody else may have removed it since.
    """
    likely: bool | None = None
    for relation, key, before, after in log.hashes(number):
        now = digest(saver.current(relation, key))
        if before == after or now not in (before, after):
            continue
        if now is not None:
            return now == after
        likely = now == after if likely is None else likely
    return bool(likely)
