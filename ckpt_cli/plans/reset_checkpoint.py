"""Lines about a checkpoint that `delete --after` resets: writes that stay, tasks that are due."""

from collections.abc import Iterator

from ckpt_cli.history.state.channels import CONTROL_WRITES
from ckpt_cli.history.tasks.snapshot import Snapshot
from ckpt_cli.history.tasks.task_names import task_names
from ckpt_cli.model import Ref, WriteKey
from ckpt_cli.operations.makers import Stored
from ckpt_cli.plans.wording import describe_next, describe_passed_over
from ckpt_cli.reading import Reader
from ckpt_cli.values.counts import count_text
from ckpt_cli.values.state import TaskWrite


def key_of(write: TaskWrite) -> WriteKey:
    """The full name of a write that was read with its value."""
    return WriteKey(write.row.ref, write.row.task_id, write.row.idx)


def describe_reset(reader: Reader, ref: Ref, stored: Stored | None, due: Snapshot, tip: str) -> Iterator[str]:
    """Lines about the checkpoint `ref`.

    Args:
        reader: the database.
        ref: the checkpoint.
        stored: what the operation that made it stored with it, if that is known.
        due: the tasks of the checkpoint.
        tip: the beginning of the line: the checkpoint's short id, and that it is a tip.
    """
    writes = set() if stored is None else stored.writes_on(ref)
    if stored is None or not writes:
        yield f"{tip}, and the writes of its tasks are deleted; {describe_next(due)}"
        yield from describe_passed_over(reader.state(ref))
        return
    kept = writes & stored.intact
    results = [w for w in reader.writes(ref) if key_of(w) in kept and w.channel not in CONTROL_WRITES]
    finished = {write.task_id for write in results}
    what = f"{tip}, with {count_text(len(kept), 'write')} that {stored.operation.name} stored there"
    left = due.only(task for task in due.tasks if task.id not in finished)
    yield f"{what}; the other writes of its tasks are deleted; {describe_next(left)}"
    if names := task_names([task for task in due.tasks if task.id in finished], lambda _: "finished"):
        yield f"kept: {', '.join(names)}"
    if altered := len(writes - kept):
        what = f"{count_text(altered, 'write')} that {stored.operation.name} stored there"
        yield f"not kept: {what}, of tasks that changed them since"
