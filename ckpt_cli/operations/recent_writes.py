"""Warns about threads written to less than a minute ago, because their application may be running."""

from collections.abc import Iterator, Sequence

from ckpt_cli.history.lineage import ids
from ckpt_cli.model import Ref
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.savers.contract import Saver

_NAMED = 5  # at most this many threads get a line each
_ROWS = 1000  # an operation with more rows isn't searched for the checkpoint


def notes(saver: Saver, log: OperationLog, newest: Sequence[Ref], now: float) -> Iterator[str]:
    """One line about each thread that the application wrote to; `newest` has the newest checkpoint of each thread.

    A thread is left out if ckpt itself made that checkpoint.
    """
    live = [ref for ref in newest if is_live(saver, log, ref)]
    for ref in live[:_NAMED]:
        seconds = max(0, round(now - (ids.unix_time(ref.checkpoint_id) or now)))
        yield f"the thread {ref.thread_id} was last written {seconds}s ago; the application may be running"
    if len(live) > _NAMED:
        yield f"and {len(live) - _NAMED:,} more threads were also written to just now"


def is_live(saver: Saver, log: OperationLog, newest: Ref) -> bool:
    """Whether the application, and not ckpt, made the newest checkpoint of a thread."""
    return not _is_made_by_ckpt(saver, log, newest)


def _is_made_by_ckpt(saver: Saver, log: OperationLog, ref: Ref) -> bool:
    """Whether an operation of ckpt made this checkpoint. Such an operation isn't older than the checkpoint's id.

    One that removed or changed it didn't make it, nor did the undo that brought it back.
    """
    made = ids.unix_time(ref.checkpoint_id) or 0.0
    for operation in log.on_thread(ref.thread_id):
        if operation.at < made:
            return False
        if operation.rows <= _ROWS and operation.undoes is None:
            added = ((relation, key) for relation, key, before, _ in log.hashes(operation.number) if before is None)
            if any(saver.record_of(relation, key) == ref for relation, key in added):
                return True
    return False
