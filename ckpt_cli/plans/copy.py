"""The plan of ``ckpt copy``: adds what the target lacks of one thread; the records aren't in it."""

from ckpt_cli.model import Plan, Ref, Seen


def plan(thread_id: str, checkpoints: int, writes: int, replaced: int, basis: Seen, *, has_root: bool) -> Plan:
    """The plan that adds the missing records; they are read again while it is applied.

    Args:
        thread_id: the thread.
        checkpoints: how many checkpoints are missing.
        writes: how many writes are missing.
        replaced: how many writes the source has replaced since they were copied.
        basis: what the target had of the thread when they were counted.
        has_root: whether a checkpoint of the root graph is among them.
    """
    again = f"; {replaced:,} write{'' if replaced == 1 else 's'} replaced" if replaced else ""
    counts = ((checkpoints, "checkpoint"), (writes, "write"))
    return Plan(
        reason="",
        basis=(basis,),
        verb="copy",
        summary=" and ".join(f"{count:,} {noun}{'' if count == 1 else 's'}" for count, noun in counts) + again,
        result=Ref(thread_id, "", "") if has_root else None,
    )
