"""What `put` and `put_writes` change, worked out and made inside one transaction."""

from collections.abc import Sequence

from langgraph.checkpoint.base import WRITES_IDX_MAP

from ckpt_cli.model import Checkpoint, Payload, Plan, Ref, Write
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.contract import Saver


def apply_plan(saver: Saver, plan: Plan) -> None:
    """Write a plan inside the transaction that is open; where the engine has none, an error takes back what was done.

    Raises:
        Refused: a record to add stands already, or one to replace or remove doesn't; nothing was written.
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
    """Add a checkpoint, or put it in the place of the one of its id."""
    if saver.row(record.row.ref) is None:
        apply_plan(saver, Plan("", add=(record,)))
        return
    if record.channels is not None:  # what isn't new stands there
        (standing,) = saver.checkpoints([record.row.ref])
        record = record._replace(channels={**(standing.channels or {}), **record.channels})
    apply_plan(saver, Plan("", replace=(record,)))


def add_writes(saver: Saver, ref: Ref, given: Sequence[tuple[str, Payload]], task_id: str, task_path: str) -> None:
    """Add writes, each in its place: the special ones (error, interrupt, resume) in places of their own.

    If all are special they replace what stands there, else what stands there stays (langgraph-checkpoint 4.3,
    ``base/__init__.py: WRITES_IDX_MAP``; checkpoint-sqlite 3.1, ``put_writes``).
    """
    special = all(channel in WRITES_IDX_MAP for channel, _ in given)
    mine: dict[int, Write] = {}
    for at, (channel, payload) in enumerate(given):
        idx = WRITES_IDX_MAP.get(channel, at)
        if special or idx not in mine:
            mine[idx] = Write(*ref, task_id, idx, channel, task_path, payload, len(payload.data))
    standing = {
        write.idx
        for write in saver.writes(ref.thread_id, ref.ns, [ref.checkpoint_id], values=0)
        if write.task_id == task_id
    }
    add = tuple(write for idx, write in mine.items() if idx not in standing)
    replace = tuple(write for idx, write in mine.items() if idx in standing) if special else ()
    if add or replace:
        apply_plan(saver, Plan("", add, replace))
