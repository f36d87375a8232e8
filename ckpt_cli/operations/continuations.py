"""Refuses an undo that would remove checkpoints from which somebody continued."""

from collections.abc import Iterator

from ckpt_cli.errors import Refused
from ckpt_cli.model import Ref, WriteKey
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Operation
from ckpt_cli.operations.undo_hints import hint_continued, hint_later_operation, hint_without_undo
from ckpt_cli.savers.contract import Saver


def must_have_no_later_records(
    saver: Saver, log: OperationLog, removed: set[Ref | WriteKey], operation: Operation
) -> None:
    """Refuse to remove a checkpoint if a child or a write of it would stay: somebody continued from the checkpoint."""
    refs = {name for name in removed if isinstance(name, Ref)}
    must_have_no_child(saver, log, refs, operation)
    for (thread_id, ns), ids in _ids_by_namespace(refs):
        writes = saver.writes(thread_id, ns, ids, values=0)
        written = [w.ref for w in writes if WriteKey(w.ref, w.task_id, w.idx) not in removed]
        if written:
            written_ids = {ref.checkpoint_id for ref in written}
            later_hint = hint_later_operation(saver, log, operation, thread_id, written_ids, with_writes=True)
            hint = later_hint or hint_without_undo(saver, refs, written[0])
            raise refuse_continued(operation, thread_id, written[0].checkpoint_id, hint)


def must_have_no_child(saver: Saver, log: OperationLog, refs: set[Ref], operation: Operation) -> None:
    """Refuse to remove checkpoints if a child of one would stay."""
    for (thread_id, ns), ids in _ids_by_namespace(refs):
        children = [row for row in saver.rows(thread_id, ns) if row.parent_id in ids and row.ref not in refs]
        if children:
            later_hint = hint_later_operation(
                saver, log, operation, thread_id, {child.checkpoint_id for child in children}
            )
            hint = later_hint or hint_continued(saver, log, operation, refs, children)
            raise refuse_continued(operation, thread_id, children[0].checkpoint_id, hint)


def _ids_by_namespace(refs: set[Ref]) -> Iterator[tuple[tuple[str, str], set[str]]]:
    """The ids of the checkpoints, by thread and namespace."""
    for thread_id, ns in sorted({(ref.thread_id, ref.ns) for ref in refs}):
        yield (thread_id, ns), {ref.checkpoint_id for ref in refs if (ref.thread_id, ref.ns) == (thread_id, ns)}


def refuse_continued(operation: Operation, thread_id: str, to: str, hint: str) -> Refused:
    """The error for an undo of an operation, from whose records a thread continued to the checkpoint `to`."""
    thread = f"thread {thread_id!r}" if operation.thread_id is None else "the thread"
    what = f"{operation.name} can't be taken back: {thread} continued from what it added"
    return Refused(f"{what} ({to}); nothing was written", hint=hint)
