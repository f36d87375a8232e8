"""The plans of ``ckpt delete``: threads, a branch, runs, descendants; orphans, ``--reparent``, counts, sizes."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import cache
from types import MappingProxyType

from ckpt_cli.errors import NotFound, Refused, UsageError
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.state.delta_counters import COUNTERS
from ckpt_cli.history.tasks.snapshot import Snapshot
from ckpt_cli.layouts import named
from ckpt_cli.model import Checkpoint, CheckpointRow, Plan, Ref, WriteKey
from ckpt_cli.operations.apply import ANY_NS, basis_of, basis_of_threads
from ckpt_cli.operations.makers import StoredWith
from ckpt_cli.plans.continued_calls import continued_tasks, why_not_continued
from ckpt_cli.plans.deletion_set import DeletionSet, Ids, descendants, find_deletion_set
from ckpt_cli.plans.deletion_words import describe_orphan, describe_rest, describe_tips
from ckpt_cli.plans.delta_snapshots import stored_values
from ckpt_cli.plans.new_checkpoint import encode_checkpoint, read_origin
from ckpt_cli.plans.own_memory import describe_memories, find_memories, stored_bound
from ckpt_cli.plans.pending_command import describe_command_taken
from ckpt_cli.plans.removed_records import RemovedCount, count_removed
from ckpt_cli.plans.reruns import describe_left_answer
from ckpt_cli.plans.reset_checkpoint import describe_reset, key_of
from ckpt_cli.plans.wording import recently_written, short_ids
from ckpt_cli.reading import Reader
from ckpt_cli.shell_words import argument, command
from ckpt_cli.values.counts import count_text

_NAMED = 20  # at most this many threads, runs or orphans are named one by one


class OrphanAction(StrEnum):
    """What happens to checkpoints that are not deleted although their parent is."""

    NOTHING = "nothing"
    """The plan is refused."""
    DELETE = "delete"
    """They are deleted too, with all their descendants."""
    REPARENT = "reparent"
    """They become children of the nearest ancestor that stays, and store values that deleted ancestors stored."""


def threads(reader: Reader, thread_ids: Iterable[str]) -> Plan:
    """The plan that deletes whole threads: all namespaces, checkpoints and writes, also writes without a checkpoint.

    Raises:
        ThreadNotFound: there is no thread with this id.
        NotFound: `thread_ids` is empty.
    """
    total, notes = RemovedCount(), []
    remove: list[Ref | WriteKey] = []
    basis, recent = [], list[Ref]()
    for thread, seen in basis_of_threads(reader.saver, thread_ids):
        if not thread.rows:
            reader.thread(thread.thread_id)  # raises ThreadNotFound, unless the thread has writes only
        count = RemovedCount()
        remove += count_removed(thread.rows, thread.writes, count)
        basis.append(seen)
        recent += recently_written(reader, thread.rows)
        notes.append(f"{thread.thread_id}: {count}")
        total.add(count)
    if not remove:
        raise NotFound("no thread fits; nothing to delete", hint="`ckpt threads` lists what there is")
    more = len(notes) - _NAMED
    return Plan(
        reason="",
        remove=tuple(remove),
        basis=tuple(basis),
        recent=tuple(recent),
        verb="delete",
        summary=f"of {count_text(len(basis), 'thread')}: {total}",
        notes=(*notes[:_NAMED], *([f"and {more:,} more"] if more > 0 else [])),
    )


def after(
    reader: Reader,
    row: CheckpointRow,
    orphans: OrphanAction = OrphanAction.NOTHING,
    stored_with: StoredWith = lambda _: None,
) -> Plan:
    """The plan that deletes all descendants of a checkpoint, and the writes of the checkpoint's own tasks.

    The checkpoint becomes a tip again. What an operation of ckpt stored with it when it made it stays
    (`stored_with`): results of tasks that the operation kept, for example.

    Raises:
        NotFound: the checkpoint has no descendants, and its tasks left nothing.
    """
    lineage, short = reader.lineage(row.thread_id, row.ns), short_ids(reader, row.ref)
    chosen = {row.ns: set(descendants(lineage, [row.checkpoint_id]))}
    what = f"of what came after {short(row.checkpoint_id)}"
    plan = _plan_for_part(
        reader, row.thread_id, chosen, orphans, what, cleared={row.ns: {row.checkpoint_id}}, stored_with=stored_with
    )
    if not plan.remove:
        hint = (
            f"`{command('ckpt log', row.thread_id, options=['--ns', row.ns] if row.ns else [])}` lists the checkpoints"
        )
        raise NotFound(f"nothing came after {short(row.checkpoint_id)}; nothing to delete", hint=hint)
    new_head, due = max(set(lineage.rows) - chosen[row.ns]), continued_tasks(reader, row.ref)
    stored = stored_with(row.ref)
    how = "becomes a tip again" if lineage.children.get(row.checkpoint_id) else "stays a tip"
    notes = [*describe_reset(reader, row.ref, stored, due, f"{short(row.checkpoint_id)} {how}")]
    taken = [write for write in reader.writes(row.ref) if stored is None or key_of(write) not in stored.intact]
    if command_taken := list(describe_command_taken(taken)):
        notes.append(f"deleted with these writes: {', '.join(command_taken)}")
    if why_not_continued(reader, row.ref) is None:
        notes += describe_left_answer(reader, row)
    memory_notes = list(_describe_memories(reader, row, plan, due, is_elsewhere=new_head != row.checkpoint_id))
    if new_head != row.checkpoint_id:
        notes.append(_next_head(short(new_head), is_new=new_head != lineage.head))
    names_checkpoint = new_head != row.checkpoint_id or bool(memory_notes)
    result = row.ref if names_checkpoint else row.ref._replace(checkpoint_id="")
    return plan._replace(notes=(*notes, *memory_notes, *plan.notes), result=result)


def _next_head(short: str, *, is_new: bool = True) -> str:
    where = f"the head {'becomes' if is_new else 'stays'} {short}, on another branch"
    return f"{where}: the next run continues there unless its config names a checkpoint"


def _describe_memories(
    reader: Reader, row: CheckpointRow, plan: Plan, due: Snapshot, *, is_elsewhere: bool
) -> Iterable[str]:
    """Lines about the subgraphs with their own memory, as the next run finds them after the deletion `plan`."""

    @cache
    def removed() -> set[Ref | WriteKey]:
        return set(plan.remove)

    def ids(ns: str) -> list[str]:
        refs = (Ref(row.thread_id, ns, i) for i in reader.lineage(row.thread_id, ns).rows)
        return [ref.checkpoint_id for ref in refs if ref not in removed()]

    def is_cleared(ref: Ref) -> bool:
        return any(isinstance(one, WriteKey) and one.ref == ref for one in plan.remove)

    found = find_memories(reader, row, ids)
    memories = {node: replace(memory, is_cleared=is_cleared(memory.newest)) for node, memory in found.items()}
    short, bound = short_ids(reader, row.ref), stored_bound(reader, row)
    return describe_memories(
        reader, row, due, memories, short, bound, checkpoint="that checkpoint", is_elsewhere=is_elsewhere
    )


def branch(
    reader: Reader,
    row: CheckpointRow,
    orphans: OrphanAction = OrphanAction.NOTHING,
    stored_with: StoredWith = lambda _: None,
) -> Plan:
    """The plan that deletes one branch: the checkpoints from its tip back to the fork, which itself stays.

    Raises:
        UsageError: `row` isn't a tip.
        Refused: the thread has no other branch.
    """
    lineage, short = reader.lineage(row.thread_id, row.ns), short_ids(reader, row.ref)
    if kids := lineage.children.get(row.checkpoint_id):
        hint = f"--after {argument(short(row.checkpoint_id))} deletes what came after it"
        raise UsageError(
            f"{short(row.checkpoint_id)} is not the tip of a branch: {short(kids[0])} is its child", hint=hint
        )
    own = list(_branch_checkpoints(lineage, row.checkpoint_id))
    if len(own) == len(lineage):
        raise Refused(
            "that is the only branch of the thread",
            hint=f"`{command('ckpt delete', row.thread_id)}` deletes the whole thread",
        )
    number = next((b.number for b in lineage.branches if b.tip == row.checkpoint_id), None)
    what = f"of branch {number} (tip {short(row.checkpoint_id)})"
    plan = _plan_for_part(reader, row.thread_id, {row.ns: set(own)}, orphans, what, stored_with=stored_with)
    left = lineage.parent(own[-1])
    notes = [f"it branches off {short(left)}, which stays"] if left else []
    if lineage.head in own:
        notes.append(_next_head(short(max(set(lineage.rows).difference(own)))))
    return plan._replace(notes=(*notes, *plan.notes), result=Ref(row.thread_id, row.ns, ""))


def run(
    reader: Reader,
    thread_id: str,
    run_ids: Sequence[str],
    orphans: OrphanAction = OrphanAction.NOTHING,
    stored_with: StoredWith = lambda _: None,
) -> Plan:
    """The plan that deletes the checkpoints of some runs in every namespace.

    Raises:
        NotFound: one of the runs has no checkpoint in this thread.
        Refused: checkpoints of other runs descend from the deleted ones, and `orphans` is `OrphanAction.NOTHING`.
    """
    chosen: Ids = {}
    known: dict[str, None] = {}
    refs = [row.ref for row in reader.rows(thread_id)]
    for ref, run_id in _runs(reader, refs):
        known[run_id] = None
        if run_id in run_ids:
            chosen.setdefault(ref.ns, set()).add(ref.checkpoint_id)
    if missing := [run_id for run_id in run_ids if run_id not in known]:
        raise NotFound(
            f"no checkpoint of thread {thread_id!r} belongs to run {missing[0]!r}", candidates=[*known][:_NAMED]
        )
    what = f"of run {run_ids[0]}" if len(run_ids) == 1 else f"of {len(run_ids)} runs"
    if len(chosen.get("", ())) == len(reader.lineage(thread_id)):
        return threads(reader, [thread_id])._replace(notes=("all checkpoints of the thread belong to these runs",))
    plan = _plan_for_part(reader, thread_id, chosen, orphans, what, stored_with=stored_with)
    return plan._replace(result=Ref(thread_id, "", ""))


def _runs(reader: Reader, refs: Collection[Ref]) -> Iterator[tuple[Ref, str]]:
    """Checkpoints with the run that made them: the ``run_id`` in their metadata, or what is stored beside it."""
    for ref, payload in reader.saver.metadata(refs):
        run_id = named(reader.value(payload)).get("run_id")
        if isinstance(run_id, str):
            yield ref, run_id
    yield from reader.saver.runs(refs)


def _branch_checkpoints(lineage: Lineage, tip: str) -> Iterator[str]:
    """The checkpoints that only the branch of this tip has, from the tip backwards."""
    for checkpoint_id in lineage.line(tip):
        if len(lineage.children.get(checkpoint_id, ())) > 1:
            return
        yield checkpoint_id


def _plan_for_part(
    reader: Reader,
    thread_id: str,
    chosen: Ids,
    orphans: OrphanAction,
    what: str,
    *,
    cleared: Mapping[str, set[str]] = MappingProxyType({}),
    stored_with: StoredWith,
) -> Plan:
    """The plan that deletes a part of a thread."""
    deletion = find_deletion_set(
        reader,
        thread_id,
        chosen,
        with_children=orphans is OrphanAction.DELETE,
        cleared=cleared,
        stored_with=stored_with,
    )
    short = short_ids(reader, Ref(thread_id, "", ""))
    if deletion.orphans and orphans is OrphanAction.NOTHING:
        raise Refused(
            f"{count_text(len(deletion.orphans), 'checkpoint')} would stay without a parent; nothing was written",
            hint="--with-children deletes them too, --reparent makes them children of the nearest ancestor that stays",
            candidates=[describe_orphan(row, short(row.checkpoint_id)) for row in deletion.orphans[:_NAMED]],
        )
    rows = (row for row in reader.rows(thread_id) if row.checkpoint_id in deletion.checkpoints.get(row.ns, ()))
    count = RemovedCount()
    remove = tuple(count_removed(rows, deletion.writes(reader), count))
    changed = tuple(_reparent(reader, deletion, row) for row in deletion.orphans)
    return Plan(
        reason="",
        replace=changed,
        remove=remove,
        basis=(
            basis_of(reader.saver, Ref(thread_id, ANY_NS, "")),
            *(basis_of(reader.saver, row.ref, writes=False) for row in deletion.orphans),
        ),
        recent=recently_written(reader, reader.rows(thread_id)),
        verb="delete",
        summary=f"{what} in {thread_id}: {count}",
        notes=(*describe_tips(deletion, cleared, short, changed), *describe_rest(deletion, chosen, changed)),
    )


def _reparent(reader: Reader, deletion: DeletionSet, row: CheckpointRow) -> Checkpoint:
    """The checkpoint as a child of the nearest ancestor that stays.

    The new record stores the delta channels whole, because the writes from which they were rebuilt are deleted.

    Raises:
        Refused: the value of a delta channel isn't known.
    """
    origin = read_origin(reader, row.ref)
    line = reader.lineage(row.thread_id, row.ns).line(row.checkpoint_id)
    parent_id = next((i for i in list(line)[1:] if i not in deletion.checkpoints[row.ns]), None)
    moved = origin.stored._replace(row=origin.stored.row._replace(parent_id=parent_id))
    values = stored_values(
        reader, row.ref, "--with-children deletes what continues from there; else the writes that make it must stay"
    )
    if not values:
        return moved
    body = {**origin.body, "channel_values": {**(origin.body.get("channel_values") or {}), **values}}
    metadata = {key: value for key, value in origin.metadata.items() if key != COUNTERS}
    return encode_checkpoint(reader, origin, moved.row, body, metadata)
