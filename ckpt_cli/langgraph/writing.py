"""Applies `put` and `put_writes` in one transaction: what is replaced, the index of a special write."""

from collections.abc import Sequence

from langgraph.checkpoint.base import WRITES_IDX_MAP

from ckpt_cli.model import Checkpoint, Payload, Plan, Ref, Write
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.contract import Saver


def apply_plan(saver: Saver, plan: Plan) -> None:
    """Apply a plan inside the open transaction; if the engine has no transactions, an error takes back the changes.

    Raises:
        Refused: a record to add exists already, or a record to replace or remove doesn't exist; nothing was written.
    """
    if Ability.ATOMIC in saver.abilities:
        saver.change(saver.expand(plan))
        return
    changes = list(saver.expand(plan))
    try:
        saver.change(changes)
    except BaseException:
        saver.take_back(changes)
        raise


def save_checkpoint(saver: Saver, record: Checkpoint) -> None:
    """Add a checkpoint, or replace the existing checkpoint with the same id."""
    if saver.row(record.row.ref) is None:
        apply_plan(saver, Plan("", add=(record,)))
        return
    if record.channels is not None:  # the record has only the channels with new versions
        (stored,) = saver.checkpoints([record.row.ref])
        record = record._replace(channels={**(stored.channels or {}), **record.channels})
    apply_plan(saver, Plan("", replace=(record,)))


def add_writes(saver: Saver, ref: Ref, values: Sequence[tuple[str, Payload]], task_id: str, task_path: str) -> None:
    """Add a task's writes; special writes (error, interrupt, resume) have fixed indexes.

    If all writes are special, they replace existing ones; otherwise existing writes are kept (langgraph-checkpoint 4.3,
    ``base/__init__.py: WRITES_IDX_MAP``; checkpoint-sqlite 3.1, ``put_writes``).
    """
    all_special = all(channel in WRITES_IDX_MAP for channel, _ in values)
    by_idx: dict[int, Write] = {}
    for at, (channel, payload) in enumerate(values):
        idx = WRITES_IDX_MAP.get(channel, at)
        if all_special or idx not in by_idx:
            by_idx[idx] = Write(*ref, task_id, idx, channel, task_path, payload, len(payload.data))
    existing = {
        write.idx
        for write in saver.writes(ref.thread_id, ref.ns, [ref.checkpoint_id], values=0)
        if write.task_id == task_id
    }
    add = tuple(write for idx, write in by_idx.items() if idx not in existing)
    replace = tuple(write for idx, write in by_idx.items() if idx in existing) if all_special else ()
    if add or replace:
        apply_plan(saver, Plan("", add, replace))
