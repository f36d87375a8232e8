"""Finds out how an operation ended that a crash interrupted: the rows themselves tell.

Where the engine has transactions all rows were written or none. Elsewhere some may have been, and they are taken back.
"""

from ckpt_cli.operations import forget
from ckpt_cli.operations.log import Operation, OperationLog, Phase
from ckpt_cli.operations.rows import inverse, is_image
from ckpt_cli.operations.witnesses import Verdict, judge_log
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.contract import Saver


def settle(saver: Saver, log: OperationLog) -> list[Operation]:
    """Decide of every operation found planned whether it happened; gives those of which the rows tell.

    Where nothing proves that the log is of this database, all stay planned. Else what a person wants forgotten is wiped
    then, where an operation was interrupted before that.

    Nobody else is between its log and its end while this transaction has the right to write, and opening it lets the
    engine take back what it had half done.
    """
    found: list[Operation] = []
    if planned_operations(log):
        with log.exclusive(needed=Ability.ATOMIC not in saver.abilities):
            found = saver.transaction(lambda: _settle(saver, log))
    forget.finish(saver, log)
    return found


def planned_operations(log: OperationLog) -> list[Operation]:
    """Operations of which the log can't say how they ended, or which another ckpt is at, newest first."""
    return [operation for operation in log.operations() if operation.phase is Phase.PLANNED]


def _settle(saver: Saver, log: OperationLog) -> list[Operation]:
    if judge_log(saver, log).verdict is not Verdict.MATCHES and not log.is_trusted:
        return []
    settled = []
    for operation in planned_operations(log):  # the newest first, as its rows may be those of an older one
        if Ability.ATOMIC in saver.abilities:
            happened = _happened(saver, log, operation.number)
        else:
            happened = _completed(saver, log, operation.number)
        if happened is None:
            continue
        if happened:
            log.finish(operation.number)
        else:
            log.mark(operation.number, Phase.ABANDONED)
        settled.append(operation)
    return settled


def _happened(saver: Saver, log: OperationLog, number: int) -> bool | None:
    """Whether an operation happened; None where no row tells.

    All rows of an operation were written or none, so one row that is as before or as after is enough. A row that isn't
    there tells less than one that is, as somebody else may have removed it since; least tells one that is there and is
    neither, unless the operation added it.
    """
    likely: bool | None = None
    is_told = True
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
        is_told = is_told and before == after
        if change.before is None:
            likely = True
    return False if likely is None and is_told else likely


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
