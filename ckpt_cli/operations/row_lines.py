"""One line for each row that a plan changes, for people and for ``--dry-run --json``."""

from collections.abc import Iterable, Iterator

from ckpt_cli.model import Row, RowChange, WriteKey
from ckpt_cli.operations.side_effects import kind_of
from ckpt_cli.savers.contract import Saver
from ckpt_cli.views.plan import RowLine


def row_lines(saver: Saver, changes: Iterable[RowChange]) -> Iterator[RowLine]:
    """One line for each row change."""
    for change in changes:
        name = saver.record_of(change.relation, change.key)
        ref = name.ref if isinstance(name, WriteKey) else name
        task, idx = (name.task_id, name.idx) if isinstance(name, WriteKey) else (None, None)
        thread_id, ns, checkpoint_id = (ref.thread_id, ref.ns, ref.checkpoint_id) if ref else (None, None, None)
        sizes = _size(change.before), _size(change.after)
        yield RowLine(kind_of(change), change.relation, thread_id, ns, checkpoint_id, task, idx, *sizes)


def _size(row: Row | None) -> int:
    return sum(len(value) for value in (row or {}).values() if isinstance(value, bytes | str))
