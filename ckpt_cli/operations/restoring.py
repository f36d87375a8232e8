"""Whether the records of an undo still fit: the thread continued, or was deleted and made again.

Since the operation, a thread may have continued, or may have been deleted and created again under the same id.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from ckpt_cli.history.lineage import ids
from ckpt_cli.model import CheckpointRow, Ref, Row, Scalar, WriteKey
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Operation, Phase
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.paging import pages

_OLD = 3600
"""A checkpoint made so many seconds before an operation is older than it, even if the clocks of two machines differ."""


@dataclass(frozen=True, slots=True)
class Clash:
    """A thread into which the restored records don't fit.

    Attributes:
        added: checkpoints of this thread that were made since the operation.
        at: the checkpoint from which the thread has continued; None if the thread was created again.
    """

    thread_id: str
    added: tuple[str, ...]
    at: Ref | None = None


@dataclass(slots=True)
class Restored:
    """The checkpoints that an undo restores, changes and removes.

    Attributes:
        newest: thread id to the highest id of its restored checkpoints.
        changed: the checkpoints that the operation changed but didn't delete.
        added: the checkpoints that the operation added; the undo removes them.
    """

    newest: dict[str, str] = field(default_factory=dict)
    changed: set[Ref] = field(default_factory=set)
    added: set[Ref] = field(default_factory=set)

    def add_row(self, name: Ref | WriteKey | None, *, was_there: bool, is_left: bool) -> None:
        """Add a row of the operation: its record, and whether the row existed before and after the operation."""
        if not isinstance(name, Ref):
            return
        if not was_there:
            self.added.add(name)
        elif is_left:
            self.changed.add(name)
        else:
            self.newest[name.thread_id] = max(name.checkpoint_id, self.newest.get(name.thread_id, ""))


def find_restored(saver: Saver, log: OperationLog, number: int) -> Restored:
    """Find the checkpoints that the undo of an operation restores, changes and removes; no images are read."""
    restored = Restored()
    for relation, key, before, after in log.hashes(number):
        name = saver.record_of(relation, key)
        restored.add_row(name, was_there=before is not None, is_left=after is not None)
    return restored


def find_clash(
    saver: Saver, log: OperationLog, operation: Operation, restored: Restored, *, has_side_rows: bool = False
) -> Clash | None:
    """The first thread into which the restored records don't fit; None if they fit everywhere.

    They don't fit in two cases:

    - All checkpoints of the thread were made since the operation.
    - A checkpoint gets restored writes but has a new child, which would then seem to come from these writes.

    With `has_side_rows`, one new checkpoint is enough. Redis and Valkey store side rows for a thread (a list or a
    pointer), and these can't be undone in part.
    """
    for page in pages(sorted(restored.newest), saver.page):
        present: dict[str, list[CheckpointRow]] = {}
        for row in saver.rows_of(page):
            if row.ref not in restored.added:
                present.setdefault(row.thread_id, []).append(row)
        for thread_id, rows in present.items():
            later = set(_added_later(saver, log, operation, thread_id))
            new = [row for row in rows if row.ref in later or not _existed_before(row, operation, restored)]
            if len(new) == len(rows):
                return Clash(thread_id, tuple(row.checkpoint_id for row in new))
            if clash := (_first_clash(new) if has_side_rows else _find_continued(saver, log, operation, new)):
                return clash
    return None


def _existed_before(row: CheckpointRow, operation: Operation, restored: Restored) -> bool:
    """Whether a checkpoint existed when the operation was made. The ids of a thread ascend with time.

    If an id contains no time, the checkpoint counts as older, because nothing shows that it is newer.
    """
    if row.ref in restored.changed or row.checkpoint_id <= restored.newest[row.thread_id]:
        return True
    made = ids.unix_time(row.checkpoint_id)
    return made is None or made < operation.at - _OLD


def _added_later(saver: Saver, log: OperationLog, operation: Operation, thread_id: str) -> Iterator[Ref]:
    """The checkpoints that later operations added to a thread."""
    for later in log.later_on_threads(operation):
        for relation, key, before, after in log.hashes(later.number):
            name = saver.record_of(relation, key)
            if isinstance(name, Ref) and name.thread_id == thread_id and before is None and after is not None:
                yield name


def _find_continued(saver: Saver, log: OperationLog, operation: Operation, new: list[CheckpointRow]) -> Clash | None:
    """The clash with a new checkpoint whose parent would get back writes that the operation deleted."""
    parents = {Ref(row.thread_id, row.ns, row.parent_id or ""): row.checkpoint_id for row in new}
    for relation, key, before, after in log.hashes(operation.number) if parents else ():
        name = saver.record_of(relation, key)
        if isinstance(name, WriteKey) and name.ref in parents and before is not None and after is None:
            return Clash(name.ref.thread_id, (parents[name.ref],), name.ref)
    return None


def _first_clash(new: list[CheckpointRow]) -> Clash | None:
    """The clash with the oldest new checkpoint."""
    row = min(new, key=lambda row: row.checkpoint_id, default=None)
    if row is None or row.parent_id is None:
        return None
    return Clash(row.thread_id, (row.checkpoint_id,), row.ref._replace(checkpoint_id=row.parent_id))


def removed_later(saver: Saver, log: OperationLog, operation: Operation) -> dict[Ref, Operation]:
    """The checkpoints that later operations removed, each with the newest such operation.

    Left out are those that exist again, and those that the undo of this operation brings back.
    """
    removed: dict[Ref, Operation] = {}
    for later in log.later_on_threads(operation):
        for ref in _removed(saver, log, later) if later.phase is Phase.DONE else ():
            removed.setdefault(ref, later)
    for ref in _removed(saver, log, operation) if removed else ():
        removed.pop(ref, None)
    for page in pages(sorted({ref.thread_id for ref in removed}), saver.page):
        for row in saver.rows_of(page):
            removed.pop(row.ref, None)
    return removed


def _removed(saver: Saver, log: OperationLog, operation: Operation) -> Iterator[Ref]:
    for relation, key, before, after in log.hashes(operation.number):
        name = saver.record_of(relation, key)
        if isinstance(name, Ref) and before is not None and after is None:
            yield name


def find_parent(ref: Ref, image: Row, removed: Collection[Ref]) -> Ref | None:
    """The removed checkpoint that a restored one names as its parent; None if its parent isn't among them.

    A table has a column for it. A document has the parent's id as text, and no other id of its own namespace.
    """
    columns = [value for name, value in image.items() if name.startswith("parent")]
    if columns:
        return next((one for value in columns if (one := ref._replace(checkpoint_id=str(value))) in removed), None)
    names = [one for one in removed if (one.thread_id, one.ns) == (ref.thread_id, ref.ns) and one != ref]
    return next((one for one in names if any(_has_text(value, one.checkpoint_id) for value in image.values())), None)


def _has_text(value: Scalar, text: str) -> bool:
    if isinstance(value, bytes):
        return text.encode() in value
    return isinstance(value, str) and text in value


def head_beside(saver: Saver, restored: Restored) -> Ref | None:
    """The present head if it stays the head: only one thread is restored, and all restored checkpoints are older.

    Otherwise None.
    """
    if len(restored.newest) != 1:
        return None
    [(thread_id, newest)] = restored.newest.items()
    head = next(iter(saver.newest(thread_id, "", 1)), None)
    return head.ref if head is not None and head.checkpoint_id > newest else None
