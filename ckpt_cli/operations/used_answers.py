"""Whether an answer that `resume` recorded was used since, so that `undo` can't take it back."""

from collections.abc import Collection, Iterator

from ckpt_cli.errors import Refused
from ckpt_cli.history.lineage.ids import unix_time
from ckpt_cli.history.state.channels import CONTROL_WRITES
from ckpt_cli.model import NULL_TASK, Ref, WriteKey
from ckpt_cli.operations.continuations import refuse_continued
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Operation
from ckpt_cli.operations.undo_hints import hint_before_answer, hint_later_operation
from ckpt_cli.savers.contract import Saver
from ckpt_cli.serde.codec import Codec


def must_be_unused(saver: Saver, log: OperationLog, answered: set[WriteKey], operation: Operation) -> None:
    """Refuse to remove an answer if its task has finished, or its checkpoint has a child: they have used the answer."""
    for ref in sorted({key.ref for key in answered}):
        for place in _enclosing_heads(saver, ref):
            later = (row for row in saver.rows(ref.thread_id, place.ns) if row.parent_id == place.checkpoint_id)
            ids = {row.checkpoint_id for row in later if row.checkpoint_id > ref.checkpoint_id}
            if place != ref:  # an update of the graph around a subgraph uses no answer, whether it came before or after
                ids -= _by_hand(saver, place, ids)
            if ids:
                later_hint = hint_later_operation(saver, log, operation, ref.thread_id, ids)
                hint = later_hint or hint_before_answer(head_before(saver, operation, ref))
                raise refuse_continued(operation, ref.thread_id, min(ids), hint)
    _must_not_have_finished(saver, answered, operation)


def _by_hand(saver: Saver, place: Ref, ids: Collection[str]) -> set[str]:
    """Those of these checkpoints that no run made; of metadata that can't be read nothing is known."""
    codec, refs = Codec(), [place._replace(checkpoint_id=i) for i in sorted(ids)]
    notes = ((ref.checkpoint_id, codec.decode(payload)) for ref, payload in (saver.metadata(refs) if refs else ()))
    return {i for i, note in notes if isinstance(note, dict) and note.get("source") in ("update", "fork")}


def _must_not_have_finished(saver: Saver, answered: set[WriteKey], operation: Operation) -> None:
    tasks = {(key.ref, key.task_id) for key in answered if key.task_id != NULL_TASK}  # a Command is no task
    for made in saver.writes_on(sorted({key.ref for key in answered}), values=0) if tasks else ():
        if (made.ref, made.task_id) in tasks and made.channel not in CONTROL_WRITES:
            what = f"a task of thread {made.ref.thread_id!r} has finished with the answer"
            raise Refused(
                f"{operation.name} can't be taken back: {what}; nothing was written",
                hint=hint_before_answer(head_before(saver, operation, made.ref)),
            )


def head_before(saver: Saver, operation: Operation, ref: Ref) -> Ref:
    """The checkpoint of the root graph that was the head when an operation answered a question of `ref`."""
    *_, asked = _enclosing_heads(saver, ref)
    times = ((row.checkpoint_id, unix_time(row.checkpoint_id)) for row in saver.rows(ref.thread_id, ""))
    older = [one for one, time in times if time is not None and time < operation.at] if ref.ns else []
    return asked._replace(checkpoint_id=max([asked.checkpoint_id, *older]))


def _enclosing_heads(saver: Saver, ref: Ref) -> Iterator[Ref]:
    """A checkpoint, then the heads that the graphs around it had when it was written; the root's head comes last."""
    yield ref
    parts = ref.ns.split("|") if ref.ns else []
    for ns in ("|".join(parts[:depth]) for depth in range(len(parts) - 1, -1, -1)):
        earlier = (row.checkpoint_id for row in saver.rows(ref.thread_id, ns))
        if head := max((one for one in earlier if one < ref.checkpoint_id), default=None):
            yield Ref(ref.thread_id, ns, head)
