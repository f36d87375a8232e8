"""The plan of ``ckpt rollback``: a child of an earlier checkpoint with the same state; nothing is deleted."""

from ckpt_cli.errors import NotSupported, Refused
from ckpt_cli.history.state.channels import TASKS
from ckpt_cli.model import CheckpointRow, Plan
from ckpt_cli.operations.apply import basis_of, basis_of_heads
from ckpt_cli.plans.command_lines import command_at
from ckpt_cli.plans.continued_calls import continued_tasks
from ckpt_cli.plans.delta_snapshots import describe_lost, snapshots_for_child
from ckpt_cli.plans.metadata import UNCHANGED, MetadataChanges, describe_changes
from ckpt_cli.plans.mint import Mint
from ckpt_cli.plans.new_checkpoint import Origin, make_child, read_origin
from ckpt_cli.plans.own_memory import describe_memories, find_memories, replay_bound
from ckpt_cli.plans.pending_command import describe_command_left
from ckpt_cli.plans.wording import describe_new_head, describe_next, describe_reruns, recently_written, short_ids
from ckpt_cli.reading import Reader
from ckpt_cli.shell_words import command, ns_option


def plan(reader: Reader, row: CheckpointRow, mint: Mint, changes: MetadataChanges = UNCHANGED) -> Plan:
    """The plan that adds a child with the same channels and next nodes, or a sibling if delta channels need it.

    The new checkpoint's source is ``fork``, its step is one higher, and it has no writes.

    Raises:
        Refused: the checkpoint is the head already.
        NotSupported: this generation of LangGraph stores a checkpoint's Sends with its parent, so the new child would
            get other Sends than the checkpoint has.
    """
    origin, head = read_origin(reader, row.ref), reader.head(row.thread_id, row.ns)
    writes = reader.writes(row.ref, values=0)
    if head.checkpoint_id == row.checkpoint_id and not writes:
        log = command("ckpt log", row.thread_id, options=ns_option(row.ns))
        earlier = f"`{log}` lists the checkpoints before it"
        raise Refused("that checkpoint is the head already: there is nothing to roll back", hint=earlier)
    _must_keep_sends(origin, any(write.channel == TASKS for write in writes))
    deltas = snapshots_for_child(reader, mint, origin)
    made = make_child(
        reader,
        mint,
        origin,
        parent_id=deltas.parent_id,
        sequence=origin.step + 1,
        edits=deltas.edits,
        counters=deltas.counters,
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
        verb="rollback",
        summary=f"to {short(row.checkpoint_id)} (step {origin.step}): its state is current again in new checkpoint "
        f"{short(new.checkpoint_id)}, source fork, step {origin.step + 1}; {describe_next(snapshot)}",
        notes=(
            *describe_reruns(reader, row, snapshot, memories),
            *describe_memories(reader, row, snapshot, memories, short, replay_bound(made.row, "fork")),
            *describe_command_left(reader, row),
            *describe_new_head(reader, row, short),
            *deltas.describe(),
            *describe_lost(reader, row.ref),
            *describe_changes(origin.metadata, changes),
        ),
        result=new,
    )


def _must_keep_sends(origin: Origin, sends_written: bool) -> None:
    own = origin.body.get("pending_sends")
    if origin.state.v >= 4 or (
        isinstance(own, list) and origin.stored.channels is None and (own or not origin.state.sends)
    ):
        return
    if origin.state.sends or sends_written:
        what = (
            "this generation of LangGraph stores a checkpoint's Sends with its parent, where a child would find others"
        )
        sibling = command_at("ckpt fork", origin.ref)
        raise NotSupported(f"it can't be rolled back to: {what}", hint=f"{sibling} makes a sibling with the same Sends")
