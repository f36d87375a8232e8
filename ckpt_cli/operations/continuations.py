"""Refuses an undo that would remove checkpoints from which somebody continued.

A child that the undo itself gives another parent is no continuation: `prune` and `delete --reparent` change a child, so
the undo of their undo removes its parent and changes it again.
"""

from collections.abc import Collection, Iterator, Sequence

from ckpt_cli.errors import Refused
from ckpt_cli.model import CheckpointRow, Ref, WriteKey
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Operation
from ckpt_cli.operations.restoring import ParentSearch, Restored
from ckpt_cli.operations.undo_hints import hint_continued, hint_later_operation, hint_written
from ckpt_cli.savers.contract import Saver


def must_have_no_later_records(
    saver: Saver, log: OperationLog, removed: set[Ref | WriteKey], restored: Restored, operation: Operation
) -> None:
    """Refuse to remove a checkpoint if a child or a write of it would stay: somebody continued from the checkpoint."""
    must_have_no_child(saver, log, restored, operation)
    for (thread_id, ns), ids in _ids_by_namespace(restored.added):
        writes = saver.writes(thread_id, ns, ids, values=0)
        written = [w.ref for w in writes if WriteKey(w.ref, w.task_id, w.idx) not in removed]
        if written:
            written_ids = {ref.checkpoint_id for ref in written}
            later_hint = hint_later_operation(saver, log, operation, thread_id, written_ids, with_writes=True)
            hint = later_hint or hint_written(saver, log, operation, restored, written[0])
            raise refuse_continued(operation, thread_id, written[0].checkpoint_id, hint)


def must_have_no_child(saver: Saver, log: OperationLog, restored: Restored, operation: Operation) -> None:
    """Refuse to remove checkpoints if a child of one would stay."""
    refs = restored.added
    for (thread_id, ns), ids in _ids_by_namespace(refs):
        rows = [row for row in saver.rows(thread_id, ns) if row.parent_id in ids and row.ref not in refs]
        moved = _moved(saver, log, operation, refs, {row.ref for row in rows} & restored.changed)
        if children := [row for row in rows if row.ref not in moved]:
            raise _continued(saver, log, operation, restored, children)


def _moved(
    saver: Saver, log: OperationLog, operation: Operation, removed: Collection[Ref], changed: Collection[Ref]
) -> set[Ref]:
    """Those of the `changed` checkpoints to which the undo gives a parent that it doesn't remove, or none."""
    moved, search = set[Ref](), ParentSearch(removed)
    for relation, key, _, _ in log.hashes(operation.number) if changed else ():
        name = saver.record_of(relation, key)
        if isinstance(name, Ref) and name in changed:
            image = log.change(operation.number, relation, key).before
            if image is not None and search.find(name, image) is None:
                moved.add(name)
    return moved


def _continued(
    saver: Saver, log: OperationLog, operation: Operation, restored: Restored, children: Sequence[CheckpointRow]
) -> Refused:
    ids, thread_id = {child.checkpoint_id for child in children}, children[0].thread_id
    later_hint = hint_later_operation(saver, log, operation, thread_id, ids)
    hint = later_hint or hint_continued(saver, log, operation, restored, children)
    return refuse_continued(operation, thread_id, children[0].checkpoint_id, hint)


def _ids_by_namespace(refs: set[Ref]) -> Iterator[tuple[tuple[str, str], set[str]]]:
    """The ids of the checkpoints, by thread and namespace."""
    for thread_id, ns in sorted({(ref.thread_id, ref.ns) for ref in refs}):
        yield (thread_id, ns), {ref.checkpoint_id for ref in refs if (ref.thread_id, ref.ns) == (thread_id, ns)}


def refuse_continued(operation: Operation, thread_id: str, to: str, hint: str) -> Refused:
    """The error for an undo of an operation, from whose records a thread continued to the checkpoint `to`."""
    thread = f"thread {thread_id!r}" if operation.thread_id is None else "the thread"
    what = f"{operation.name} can't be taken back: {thread} continued from what it {operation.added}"
    return Refused(f"{what} ({to}); nothing was written", hint=hint)
