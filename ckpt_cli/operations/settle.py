"""Finds out how an operation ended that a crash interrupted: the rows themselves tell.

Where the engine has transactions all rows were written or none. Elsewhere some may have been, and they are taken back.
"""

from ckpt_cli.operations import forget
from ckpt_cli.operations.log import Operation, OperationLog, Phase
from ckpt_cli.operations.rows import inverse, is_image
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.contract import Saver


def settle(saver: Saver, log: OperationLog) -> list[Operation]:
    """Tell of every operation found planned whether it happened; gives those that were.

    What a person wants forgotten is wiped then, where an operation was interrupted before that.

    Nobody else is between its log and its end while this transaction has the right to write, and opening it lets the
    engine take back what it had half done.
    """
    found: list[Operation] = []
    if planned(log):
        with log.alone(needed=Ability.ATOMIC not in saver.abilities):
            found = saver.transaction(lambda: _settle(saver, log))
    forget.finish(saver, log)
    return found


def planned(log: OperationLog) -> list[Operation]:
    """Operations of which the log can't say how they ended, or which another ckpt is at, newest first."""
    return [operation for operation in log.operations() if operation.phase is Phase.PLANNED]


def _settle(saver: Saver, log: OperationLog) -> list[Operation]:
    found = planned(log)
    for operation in found:  # the newest first, as its rows may be those of an older one
        if Ability.ATOMIC in saver.abilities:
            happened = _happened(saver, log, operation.number)
        else:
            happened = _completed(saver, log, operation.number)
        if happened:
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
        now = saver.current(relation, key)
        if now is None:
            if likely is None and (before is None) is not (after is None):
                likely = after is None
            continue
        change = log.change(number, relation, key)
        undone, done = (is_image(saver, relation, now, image) for image in (change.before, change.after))
        if undone is not done:
            return done
    return bool(likely)


def _completed(saver: Saver, log: OperationLog, number: int) -> bool:
    """Whether the last row was written, as rows are written in order; what was written of the others is taken back."""
    last = True
    for change in log.changes(number, backwards=True):
        if is_image(saver, change.relation, change.before, change.after):
            continue
        now = saver.current(change.relation, change.key)
        done = is_image(saver, change.relation, now, change.after)
        if last and done:
            return True
        last = False
        if done:
            saver.change([inverse(saver, change, now)])
    return False
