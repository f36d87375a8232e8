"""Whether the records of an undo still fit: the thread continued, or was deleted and made again.

Since the operation, a thread may have continued, or may have been deleted and created again under the same id.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from ckpt_cli.history.lineage import ids
from ckpt_cli.model import CheckpointRow, Ref, Row, Scalar, WriteKey
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Operation, Phase
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.paging import pages

_ID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
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
    added = _added_later(saver, log, operation)
    witnessed = log.witnessed_at(operation.number) if restored.newest else set()
    cleared: set[Ref] | None = None  # read from the log when it is first needed, and once
    for page in pages(sorted(restored.newest), saver.page):
        present: dict[str, list[CheckpointRow]] = {}
        for row in saver.rows_of(page):
            if row.ref not in restored.added:
                present.setdefault(row.thread_id, []).append(row)
        for thread_id, rows in present.items():
            old = {row.ref for row in rows if row.ref in witnessed or _existed_before(row, operation, restored)} - added
            new = [row for row in rows if row.ref not in old]
            if len(new) == len(rows):
                return Clash(thread_id, tuple(row.checkpoint_id for row in new))
            if new and not has_side_rows and cleared is None:
                cleared = _cleared(saver, log, operation)
            if clash := (_first_clash(new) if has_side_rows else _find_continued(new, cleared or ())):
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


def _added_later(saver: Saver, log: OperationLog, operation: Operation) -> set[Ref]:
    """The checkpoints that later operations added to threads of this one.

    The first later operation on a checkpoint decides: one that was removed and then brought back existed before.
    """
    added: dict[Ref, bool] = {}
    for later in reversed(log.later_on_threads(operation)):
        for relation, key, before, after in log.hashes(later.number):
            name = saver.record_of(relation, key)
            if isinstance(name, Ref):
                added.setdefault(name, before is None and after is not None)
    return {name for name, is_added in added.items() if is_added}


def _cleared(saver: Saver, log: OperationLog, operation: Operation) -> set[Ref]:
    """The checkpoints of which an operation deleted writes."""
    cleared = set[Ref]()
    for relation, key, before, after in log.hashes(operation.number):
        name = saver.record_of(relation, key)
        if isinstance(name, WriteKey) and before is not None and after is None:
            cleared.add(name.ref)
    return cleared


def _find_continued(new: list[CheckpointRow], cleared: Collection[Ref]) -> Clash | None:
    """The clash with a new checkpoint whose parent would get back writes that the operation deleted (`cleared`)."""
    for row in new:
        parent = row.ref._replace(checkpoint_id=row.parent_id or "")
        if parent in cleared:
            return Clash(row.thread_id, (row.checkpoint_id,), parent)
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


class ParentSearch:
    """Finds the parents of restored checkpoints among removed ones; each restored one is looked at once."""

    def __init__(self, removed: Collection[Ref]) -> None:
        self._removed = removed
        self._odd: dict[tuple[str, str], list[Ref]] = {}  # those whose ids no library makes
        for ref in removed:
            if not _ID.fullmatch(ref.checkpoint_id):
                self._odd.setdefault((ref.thread_id, ref.ns), []).append(ref)

    def find(self, ref: Ref, image: Row) -> Ref | None:
        """The removed checkpoint that a restored one names as its parent; None if its parent isn't among them.

        A table has a column for it. A document has the parent's id as text, and no other id of its own namespace.
        """
        columns = [value for name, value in image.items() if name.startswith("parent")]
        if columns:
            ids_named = [str(value) for value in columns]
        else:
            odd = self._odd.get((ref.thread_id, ref.ns), ())
            texts = [_text(value) for value in image.values()]
            ids_named = [found for text in texts for found in _ID.findall(text)]
            ids_named += [one.checkpoint_id for one in odd if any(one.checkpoint_id in text for text in texts)]
        parents = (ref._replace(checkpoint_id=name) for name in ids_named)
        return next((one for one in parents if one in self._removed and (columns or one != ref)), None)


def _text(value: Scalar) -> str:
    """A text in which ids are found as they are in the value."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value if isinstance(value, str) else ""


def head_beside(saver: Saver, log: OperationLog, operation: Operation) -> Ref | None:
    """The present head if it stays the head, and the checkpoints that the undo restores are none of its ancestors.

    Otherwise None; also if several threads are restored, or checkpoints that are newer than the head.
    """
    restored = set(_removed(saver, log, operation))
    if len({ref.thread_id for ref in restored}) != 1:
        return None
    newest = max(restored, key=lambda ref: ref.checkpoint_id)
    head = next(iter(saver.newest(newest.thread_id, "", 1)), None)
    if head is None or head.checkpoint_id <= newest.checkpoint_id:
        return None
    return None if _descends(saver, log, operation, head.ref, restored) else head.ref


def _descends(saver: Saver, log: OperationLog, operation: Operation, head: Ref, restored: Collection[Ref]) -> bool:
    """Whether the head has a restored checkpoint among its ancestors, once each has its earlier parent again."""
    parents = {row.ref: row.ref._replace(checkpoint_id=row.parent_id or "") for row in saver.rows(head.thread_id, "")}
    search = ParentSearch(restored)
    for change in log.changes(operation.number):
        name = saver.record_of(change.relation, change.key)
        if isinstance(name, Ref) and name in parents and change.before is not None:
            parents[name] = search.find(name, change.before) or parents[name]
    ref: Ref | None = head
    while ref is not None and ref not in restored:
        ref = parents.pop(ref, None)
    return ref is not None
