"""The plan of ``ckpt fork --to``: a checkpoint with all its ancestors is copied to another thread id.

Checkpoint ids stay the same, so task ids, parents and the histories of delta channels stay valid. LangGraph can
continue the copied thread. Two things are only copied with ``--with-pending``: the writes stored on the forked
checkpoint itself, and the subgraphs that its tasks called. With them, the copy goes on as the original would: a task id
is a hash of the checkpoint's id and namespace, not of the thread's id, so finished tasks and questions are found again.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ckpt_cli.errors import Refused, UsageError
from ckpt_cli.history.lineage.short_ids import ShortIds
from ckpt_cli.history.state.delta_counters import COUNTERS
from ckpt_cli.history.tasks.snapshot import Snapshot
from ckpt_cli.inspection import Inspection
from ckpt_cli.layouts import must_have_metadata
from ckpt_cli.model import Checkpoint, CheckpointRow, Plan, Record, Ref, Seen
from ckpt_cli.operations.apply import ANY_NS, basis_of
from ckpt_cli.plans.command_lines import command_at
from ckpt_cli.plans.copied_checkpoints import CopiedIds, find_copied
from ckpt_cli.plans.delta_snapshots import describe_lost, stored_values
from ckpt_cli.plans.metadata import UNCHANGED, MetadataChanges
from ckpt_cli.plans.new_checkpoint import Origin, encode_checkpoint, read_origin
from ckpt_cli.plans.own_memory import Memories, describe_memories, find_memories, stored_bound
from ckpt_cli.plans.pending_command import describe_command_left
from ckpt_cli.plans.wording import (
    describe_handlers,
    describe_next,
    describe_passed_over,
    describe_remaining,
    describe_reruns,
    describe_taken,
    recently_written,
    short_ids,
)
from ckpt_cli.reading import Reader
from ckpt_cli.values.same import same


def plan(
    reader: Reader,
    row: CheckpointRow,
    to: str,
    *,
    shallow: bool = False,
    pending: bool = False,
    changes: MetadataChanges = UNCHANGED,
) -> Plan:
    """The plan that adds a thread whose head is this checkpoint.

    Args:
        reader: the database.
        row: the checkpoint.
        to: the id of the new thread.
        shallow: copy this checkpoint alone, without its ancestors.
        pending: copy the writes stored on this checkpoint too, and the subgraphs that its tasks called.
        changes: changes of the metadata of each checkpoint.

    Raises:
        UsageError: the new id is empty.
        Refused: the thread exists already, or the value of a delta channel of a shallow copy isn't known.
    """
    _must_be_free(reader, row, to, [*["--shallow"] * shallow, *["--with-pending"] * pending, *changes.options])
    copied = {"": {row.checkpoint_id}} if shallow else find_copied(reader, row, pending=pending)
    rename = _Rename(reader, row.thread_id, to, changes)
    without = None if pending else row
    records = (_copy_alone(reader, row, rename),) if shallow else tuple(_copy_records(reader, copied, rename, without))
    snapshot, short = Inspection(reader, row.ref).snapshot(goto=pending), short_ids(reader, row.ref)
    memories = find_memories(reader, row, lambda ns: copied.get(ns, ()))
    # If there are notes, the config gets an id. With one, the library makes a copy before it runs, and calls anew.
    memory_notes = tuple(_describe_memories(reader, row, snapshot, memories, short, pending=pending))
    what = "that checkpoint alone" if shallow else _counted(records)
    return Plan(
        reason="",
        add=records,
        basis=(basis_of(reader.saver, Ref(to, ANY_NS, "")), *_basis(reader, row, copied, pending=pending)),
        recent=recently_written(reader, reader.rows(row.thread_id)),
        verb="fork",
        summary=f"of {short(row.checkpoint_id)} to the new thread {to}: {what}{_then(snapshot, pending=pending)}",
        notes=(
            *_describe_pending(reader, row, snapshot, memories, shallow=shallow, pending=pending),
            *(memory_notes if shallow else (*memory_notes, *_describe_memories_left(reader, row, memories, short))),
            *_describe_call_left_behind(snapshot, () if pending else memories),
            *describe_lost(reader, row.ref),
            *changes.describe(reader.state(row.ref).metadata),
        ),
        result=Ref(to, "", row.checkpoint_id if memory_notes and not pending else ""),
    )


def _then(snapshot: Snapshot, *, pending: bool) -> str:
    return f" with its pending writes; {describe_remaining(snapshot)}" if pending else f"; {describe_next(snapshot)}"


def _counted(records: Iterable[Record]) -> str:
    count = sum(isinstance(record, Checkpoint) for record in records)
    return f"{count} checkpoint{'' if count == 1 else 's'}"


def _must_be_free(reader: Reader, row: CheckpointRow, to: str, options: Sequence[str]) -> None:
    if not to:
        raise UsageError("a thread id can't be empty")
    if reader.saver.thread(to) is not None:
        hint = _hint_free_id(reader, row, to, options)
        raise Refused(f"there is a thread {to!r} already; nothing was written", hint=hint)


def _hint_free_id(reader: Reader, row: CheckpointRow, to: str, options: Sequence[str]) -> str:
    free = next((one for one in (f"{to}-{n}" for n in range(2, 9)) if reader.saver.thread(one) is None), None)
    if free is None:
        return "name one that doesn't exist"
    rev = reader.short(row.thread_id)(row.checkpoint_id)
    return f"{command_at('ckpt fork', row.ref, '--to', free, *options, rev=rev)}: there is no thread of this name"


def _basis(reader: Reader, row: CheckpointRow, copied: CopiedIds, *, pending: bool) -> Iterator[Seen]:
    """The basis of the copied checkpoints: with the writes of those whose tasks may still be running."""
    for ns, ids in copied.items():
        for ref in (Ref(row.thread_id, ns, checkpoint_id) for checkpoint_id in sorted(ids)):
            yield basis_of(reader.saver, ref, writes=ref == row.ref or (pending and bool(ns)))


def _describe_pending(
    reader: Reader, row: CheckpointRow, snapshot: Snapshot, memories: Memories, *, shallow: bool, pending: bool
) -> Iterator[str]:
    """Lines about the tasks of the checkpoint: what is taken along, or what runs again in the copy."""
    yield from describe_passed_over(reader.state(row.ref))
    if pending:
        yield describe_taken(reader, row, snapshot)
        yield from describe_handlers(snapshot)
        return
    left_behind = [*describe_reruns(reader, row, snapshot, memories), *describe_command_left(reader, row)]
    yield from left_behind
    if shallow:
        yield from ["the checkpoints of its subgraphs are not copied"] * any(reader.namespaces(row.thread_id))
    elif left_behind:
        yield "--with-pending takes them along"


def _describe_call_left_behind(snapshot: Snapshot, memories: Collection[str]) -> Iterator[str]:
    """A line about the calls of subgraphs with their own memory that are not copied."""
    if called := [task.node for task in snapshot.tasks if task.writes and task.node in memories]:
        yield f"--with-pending takes the call of {', '.join(map(str, called))} at that checkpoint along"


def _describe_memories(
    reader: Reader, row: CheckpointRow, snapshot: Snapshot, memories: Memories, short: ShortIds, *, pending: bool
) -> Iterable[str]:
    """Lines about the subgraphs with their own memory that the copy calls first.

    With `pending`, a subgraph that was called continues, and a finished call isn't repeated, as in the original.
    """
    if pending:
        snapshot = snapshot.only(task for task in snapshot.tasks if not task.writes)
        due = {task.node for task in snapshot.tasks}
        memories = {nodes: memory for nodes, memory in memories.items() if memory.node in due}
    bound = stored_bound(reader, row)
    return describe_memories(reader, row, snapshot, memories, short, bound, checkpoint="that checkpoint")


def _describe_memories_left(reader: Reader, row: CheckpointRow, memories: Memories, short: ShortIds) -> Iterator[str]:
    """Lines about the subgraphs whose own memory is newer in the thread itself, as steps that aren't copied made it."""
    for nodes, memory in find_memories(reader, row).items():
        copied, original = memories.get(nodes), f"{row.thread_id} goes on from {short(memory.newest.checkpoint_id)}"
        if copied is None:
            yield f"{memory.newest.ns} has its own memory: the copy begins without it, {original}"
        elif copied.newest != memory.newest:
            newest = short(copied.newest.checkpoint_id)
            yield f"{memory.newest.ns} has its own memory: the copy goes on from {newest}, {original}"


def _copy_records(
    reader: Reader, copied: CopiedIds, rename: "_Rename", without: CheckpointRow | None
) -> Iterator[Record]:
    """The copies of checkpoints and their writes; of the checkpoint `without`, the writes are left out."""
    for ns, ids in copied.items():
        refs = [Ref(rename.thread_id, ns, checkpoint_id) for checkpoint_id in sorted(ids)]
        for stored in reader.saver.checkpoints(refs):
            yield rename.checkpoint(stored)
        ids_with_writes = ids - {without.checkpoint_id} if without is not None and not ns else ids
        for write in reader.saver.writes(rename.thread_id, ns, ids_with_writes):
            yield write._replace(thread_id=rename.to)


@dataclass(frozen=True, slots=True)
class _Rename:
    """Moves checkpoints to another thread id; up to langgraph 0.4, the metadata contains this id too."""

    reader: Reader
    thread_id: str
    to: str
    changes: MetadataChanges

    def checkpoint(self, stored: Checkpoint, drop: Iterable[str] = ()) -> Checkpoint:
        """The checkpoint in the new thread; its metadata lacks the keys in `drop`."""
        metadata = must_have_metadata(self.reader.value(stored.metadata), stored.row.ref)
        changed = {key: value for key, value in self.changes.apply_to(metadata).items() if key not in drop}
        if str(metadata.get("thread_id")) == self.thread_id:
            changed["thread_id"] = self.to
        payload = stored.metadata if same(changed, metadata) else self.reader.codec.encode(changed, stored.metadata)
        return stored._replace(row=stored.row._replace(thread_id=self.to), metadata=payload)


def _copy_alone(reader: Reader, row: CheckpointRow, rename: _Rename) -> Checkpoint:
    """A copy that needs no ancestors: it stores its delta channels whole."""
    origin = read_origin(reader, row.ref)
    _must_store_own_sends(origin)
    values = stored_values(
        reader, row.ref, "without --shallow its ancestors are copied too, from whose writes LangGraph rebuilds it"
    )
    body = {**origin.body, "channel_values": {**(origin.body.get("channel_values") or {}), **values}}
    stored = encode_checkpoint(reader, origin, origin.stored.row, body, origin.metadata) if values else origin.stored
    moved = rename.checkpoint(stored, [COUNTERS] if values else [])
    return moved._replace(row=moved.row._replace(parent_id=None))


def _must_store_own_sends(origin: Origin) -> None:
    if origin.state.v < 4 and origin.state.sends and not origin.body.get("pending_sends"):
        raise Refused("its Sends are stored with its parent", hint="without --shallow the parent is copied too")
