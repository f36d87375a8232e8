"""After a crash, finds out from the rows whether the operation happened; undoes a half-written one.

If the engine has transactions, all rows were written or none. Otherwise only some rows may have been written; these
rows are undone.
"""

from collections.abc import Iterator, Sequence

from ckpt_cli.operations import forget
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Operation, Phase
from ckpt_cli.operations.rows import inverse, is_image
from ckpt_cli.operations.witnesses import Verdict, judge_log
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.contract import Saver


def settle(saver: Saver, log: OperationLog) -> list[Operation]:
    """Decide for every planned operation and part whether it happened; returns those that could be decided.

    If nothing proves that the log belongs to this database, all operations stay planned. An interrupted wipe of
    forgotten threads is finished too.

    While we hold the write transaction, no other ckpt is in the middle of an operation. Starting the transaction also
    makes the engine roll back half-written changes.
    """
    settled: list[Operation] = []
    if planned := planned_operations(log):
        # the parts of an operation on many threads are logged before their transactions begin
        has_parts = any(one.parts is not None for one in planned)
        with log.exclusive(needed=has_parts or Ability.ATOMIC not in saver.abilities):
            settled = saver.transaction(lambda: _settle(saver, log))
    forget.finish(saver, log)
    return settled


def planned_operations(log: OperationLog) -> list[Operation]:
    """The operations and parts that were interrupted or that another ckpt is applying now, newest first."""
    return log.planned()


def _settle(saver: Saver, log: OperationLog) -> list[Operation]:
    if judge_log(saver, log).verdict is not Verdict.MATCHES and not log.is_trusted:
        return []
    settled = []
    planned = planned_operations(log)
    for operation in planned:  # newest first, as a newer operation may have changed the same rows
        if operation.parts is not None:
            continue
        if Ability.ATOMIC in saver.abilities:
            has_happened = _happened(saver, log, operation.number)
        else:
            has_happened = complete_or_undo(saver, log, operation.number)
        if has_happened is None:
            continue
        if has_happened:
            log.finish(operation.number)
        else:
            log.mark(operation.number, Phase.ABANDONED)
        settled.append(operation)
    return [*settled, *_close(log, planned, settled)]


def _close(log: OperationLog, planned: Sequence[Operation], settled: Sequence[Operation]) -> Iterator[Operation]:
    """End the interrupted operations on many threads whose parts are all settled, and give them."""
    numbers = {one.number for one in settled}
    undecided = {one.part_of for one in planned if one.parts is None and one.number not in numbers}
    for operation in planned:
        if operation.parts is not None and operation.number not in undecided:
            log.mark_by_parts(operation.number)
            yield operation


def _happened(saver: Saver, log: OperationLog, number: int) -> bool | None:
    """Whether an operation happened; None if no row shows it.

    All rows of an operation were written or none. So one row is enough, if it equals its image from before or from
    after the operation. A missing row is weaker evidence, because somebody else may have removed it. A row that equals
    neither image is no evidence, unless the operation added that row.
    """
    guess: bool | None = None
    is_unchanged = True
    for relation, key, before, after in log.hashes(number):
        now = saver.current(relation, key)
        if now is None:
            if guess is None and (before is None) is not (after is None):
                guess = after is None
            continue
        change = log.change(number, relation, key)
        undone, done = (is_image(saver, relation, now, image) for image in (change.before, change.after))
        if undone is not done:
            return done
        is_unchanged = is_unchanged and before == after
        if change.before is None:
            guess = True
    return False if guess is None and is_unchanged else guess


def complete_or_undo(saver: Saver, log: OperationLog, number: int) -> bool:
    """Whether the whole operation was written; if not, the rows that were written are undone.

    Rows are written in order, so the last row shows whether all rows were written.
    """
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
