"""The plan of ``ckpt fork``: LangGraph's own copy of a checkpoint, or a thread of its own with all it came from."""

from ckpt_cli.history.reducers.delta import COUNTERS
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import CheckpointRow, Plan
from ckpt_cli.operations.apply import seen, seen_heads
from ckpt_cli.plans.child import offspring, origin
from ckpt_cli.plans.metadata import UNCHANGED, Changes
from ckpt_cli.plans.metadata import notes as metadata_notes
from ckpt_cli.plans.mint import Mint
from ckpt_cli.plans.wording import called, just_written, moved, repeated, upcoming
from ckpt_cli.reading import Reader


def plan(reader: Reader, row: CheckpointRow, mint: Mint, changes: Changes = UNCHANGED) -> Plan:
    """What ``update_state(config, None, as_node="__copy__")`` writes (langgraph 1.2 ``pregel/main.py``).

    The copy has the copied one's parent and channels, source ``fork``, one step more, and none of its writes; its id
    carries the copied one's step. Unlike the library's, which drops it, it keeps the application's metadata.
    """
    of = origin(reader, row.ref)
    made = offspring(
        reader,
        mint,
        of,
        parent_id=row.parent_id,
        sequence=of.step,
        counters=of.metadata.get(COUNTERS),
        metadata=changes,
    )
    new = made.row.ref
    short, snapshot = called(reader, row.ref, new.checkpoint_id), Inspection(reader, row.ref).snapshot()
    return Plan(
        reason="",
        add=(made,),
        basis=(*seen_heads(reader.saver, row.thread_id, row.ns), seen(reader.saver, row.ref)),
        recent=just_written(reader, reader.rows(row.thread_id)),
        verb="fork",
        summary=f"of {short(row.checkpoint_id)} (step {of.step}): new checkpoint {short(new.checkpoint_id)}, "
        f"source fork, step {of.step + 1}; {upcoming(snapshot)}",
        notes=(
            *repeated(reader, row, snapshot),
            *moved(reader, row, short, beside=True),
            *metadata_notes(of.metadata, changes),
        ),
        result=new,
    )
