"""Finds what a running agent wrote from a checkpoint that an undo removed at that moment.

An agent leaves no trace of having read a checkpoint, so no undo can refuse in time.
"""

from collections.abc import Iterator

from ckpt_cli.model import CheckpointRow, Ref
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Operation, Phase
from ckpt_cli.operations.operation_list import read_parts
from ckpt_cli.savers.contract import Saver

_NAMED = 5  # at most this many threads get a line each


def notes(saver: Saver, log: OperationLog, undo: Operation) -> Iterator[str]:
    """One line about each thread of an undo that now has a checkpoint whose parent the undo removed."""
    threads = 0
    for part in [undo] if undo.parts is None else read_parts(log, undo.number, [Phase.DONE]):
        for child in _first_of_each_thread(saver, _removed(saver, log, part)):
            threads += 1
            if threads <= _NAMED:
                what = f"thread {child.thread_id!r} went on to {child.checkpoint_id} from {child.parent_id}"
                yield f"{what}, which was removed at that moment; `{part.undo_command}` brings it back"
    if threads > _NAMED:
        yield f"and {threads - _NAMED:,} more threads went on from removed checkpoints"


def _removed(saver: Saver, log: OperationLog, part: Operation) -> set[Ref]:
    records = ((saver.record_of(relation, key), after) for relation, key, _, after in log.hashes(part.number))
    return {name for name, after in records if isinstance(name, Ref) and after is None}


def _first_of_each_thread(saver: Saver, removed: set[Ref]) -> Iterator[CheckpointRow]:
    """The oldest checkpoint of each thread whose parent is among the removed."""
    for thread_id in sorted({ref.thread_id for ref in removed}):
        spaces = {ref.ns for ref in removed if ref.thread_id == thread_id}
        rows = (row for ns in sorted(spaces) for row in saver.rows(thread_id, ns) if row.parent_id is not None)
        orphans = (row for row in rows if row.ref._replace(checkpoint_id=row.parent_id or "") in removed)
        if first := min(orphans, key=lambda row: row.checkpoint_id, default=None):
            yield first
