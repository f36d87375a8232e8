"""The plan of ``ckpt fork``: a copy of a checkpoint as a sibling in the same thread, like LangGraph's copy."""

from ckpt_cli.history.state.delta_counters import COUNTERS
from ckpt_cli.model import CheckpointRow, Plan
from ckpt_cli.operations.apply import basis_of, basis_of_heads
from ckpt_cli.plans.continued_calls import continued_tasks
from ckpt_cli.plans.delta_snapshots import describe_lost
from ckpt_cli.plans.metadata import UNCHANGED, MetadataChanges, describe_changes
from ckpt_cli.plans.mint import Mint
from ckpt_cli.plans.new_checkpoint import make_child, read_origin
from ckpt_cli.plans.own_memory import describe_memories, find_memories, replay_bound
from ckpt_cli.plans.pending_command import describe_command_left
from ckpt_cli.plans.wording import describe_new_head, describe_next, describe_reruns, recently_written, short_ids
from ckpt_cli.reading import Reader


def plan(reader: Reader, row: CheckpointRow, mint: Mint, changes: MetadataChanges = UNCHANGED) -> Plan:
    """The plan of the copy that ``update_state(config, None, as_node="__copy__")`` makes (1.2 ``pregel/main.py``).

    The copy has the parent and the channels of the original, but not the original's writes. The copy's source is
    ``fork``. The copy's step is one higher, but its id encodes the step of the original. The library's copy drops the
    application's metadata; ckpt's copy keeps this metadata.
    """
    origin = read_origin(reader, row.ref)
    made = make_child(
        reader,
        mint,
        origin,
        parent_id=row.parent_id,
        sequence=origin.step,
        counters=origin.metadata.get(COUNTERS),
        metadata=changes,
    )
    new = made.row.ref
    short, snapshot = short_ids(reader, row.ref, new.checkpoint_id), continued_tasks(reader, row.ref)
    memories = find_memories(reader, row)
    return Plan(
        reason="",
        add=(made,),
        basis=(*basis_of_heads(reader.saver, row.thread_id, row.ns), basis_of(reader.saver, row.ref)),
        recent=recently_written(reader, reader.rows(row.thread_id)),
        verb="fork",
        summary=f"of {short(row.checkpoint_id)} (step {origin.step}): new checkpoint {short(new.checkpoint_id)}, "
        f"source fork, step {origin.step + 1}; {describe_next(snapshot)}",
        notes=(
            *describe_reruns(reader, row, snapshot, memories),
            *describe_memories(reader, row, snapshot, memories, short, replay_bound(made.row, "fork")),
            *describe_command_left(reader, row),
            *describe_new_head(reader, row, short, is_sibling=True),
            *describe_lost(reader, row.ref),
            *describe_changes(origin.metadata, changes),
        ),
        result=new,
    )
