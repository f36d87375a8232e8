"""The plan of ``ckpt copy``: adds the records of one thread that the target lacks."""

from collections.abc import Sequence

from ckpt_cli.model import Checkpoint, Plan, Record, Ref, Seen


def plan(thread_id: str, missing: Sequence[Record], basis: Seen) -> Plan:
    """The plan that adds these records.

    Args:
        thread_id: the thread.
        missing: its records, as the target's saver stores them.
        basis: what the target had of the thread when they were computed.
    """
    checkpoints = [one.row for one in missing if isinstance(one, Checkpoint)]
    has_root = any(not row.ns for row in checkpoints)
    counts = ((len(checkpoints), "checkpoint"), (len(missing) - len(checkpoints), "write"))
    return Plan(
        reason="",
        add=tuple(missing),
        basis=(basis,),
        verb="copy",
        summary=" and ".join(f"{count:,} {noun}{'' if count == 1 else 's'}" for count, noun in counts),
        result=Ref(thread_id, "", "") if has_root else None,
    )
