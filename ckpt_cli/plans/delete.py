"""The plans of ``ckpt delete``: whole threads, a branch, a run, or what came after a checkpoint."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ckpt_cli.errors import NotFound, Refused, UsageError
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.reducers.delta import COUNTERS
from ckpt_cli.inspection import Inspection
from ckpt_cli.layouts import named
from ckpt_cli.model import Checkpoint, CheckpointRow, Plan, Ref, Write, WriteKey
from ckpt_cli.operations.apply import ANY_NS, basis_of, basis_of_threads
from ckpt_cli.plans.child import encode_checkpoint, read_origin
from ckpt_cli.plans.deletion_set import DeletionSet, Ids, descendants, find_deletion_set
from ckpt_cli.plans.delta_snapshots import stored_values
from ckpt_cli.plans.wording import describe_next, recently_written, short_ids
from ckpt_cli.reading import Reader
from ckpt_cli.shell_words import argument, command

_NAMED = 20  # threads that a plan names one by one


class OrphanAction(StrEnum):
    """What becomes of checkpoints whose parent goes."""

    NOTHING = "nothing"
    """The plan is refused."""
    DELETE = "delete"
    """They go too, with all that descends from them."""
    REPARENT = "reparent"
    """They become children of the nearest ancestor that stays, and store what they had from those that go."""


@dataclass(slots=True)
class _Count:
    checkpoints: int = 0
    writes: int = 0
    size: int | None = 0

    def __str__(self) -> str:
        parts = [_some(self.checkpoints, "checkpoint")] if self.checkpoints else []
        parts += [_some(self.writes, "write")] if self.writes else []
        return " and ".join(parts) + ("" if self.size is None else f", {self.size:,} bytes")

    def weigh(self, size: int | None) -> None:
        """Add some bytes; where one size is unknown their sum is."""
        self.size = None if self.size is None or size is None else self.size + size


def threads(reader: Reader, thread_ids: Iterable[str]) -> Plan:
    """Whole threads: every namespace, every checkpoint, every write, also writes whose checkpoint was never stored.

    Raises:
        ThreadNotFound: there is none of that id; NotFound where none are given.
    """
    total, notes = _Count(), []
    remove: list[Ref | WriteKey] = []
    basis, recent = [], list[Ref]()
    for thread, found in basis_of_threads(reader.saver, thread_ids):
        if not thread.rows:
            reader.thread(thread.thread_id)
        count = _Count()
        remove += _removed(thread.rows, thread.writes, count)
        basis.append(found)
        recent += recently_written(reader, thread.rows)
        notes.append(f"{thread.thread_id}: {count}")
        _add(total, count)
    if not remove:
        raise NotFound("no thread fits; nothing to delete", hint="`ckpt threads` lists what there is")
    more = len(notes) - _NAMED
    return Plan(
        reason="",
        remove=tuple(remove),
        basis=tuple(basis),
        recent=tuple(recent),
        verb="delete",
        summary=f"of {_some(len(basis), 'thread')}: {total}",
        notes=(*notes[:_NAMED], *([f"and {more:,} more"] if more > 0 else [])),
    )


def after(reader: Reader, row: CheckpointRow, mend: OrphanAction = OrphanAction.NOTHING) -> Plan:
    """Everything that descends from a checkpoint, and what its own tasks left: it becomes the head again.

    Raises:
        NotFound: nothing came after it.
    """
    lineage, short = reader.lineage(row.thread_id, row.ns), short_ids(reader, row.ref)
    chosen = {row.ns: set(descendants(lineage, [row.checkpoint_id]))}
    if not chosen[row.ns]:
        raise NotFound(f"nothing came after {short(row.checkpoint_id)}; nothing to delete")
    plan = _part(reader, row.thread_id, chosen, mend, f"of what came after {short(row.checkpoint_id)}")
    kept = max(set(lineage.rows) - chosen[row.ns])
    snapshot = Inspection(reader, row.ref).snapshot()
    notes = [f"{short(row.checkpoint_id)} stands again as it was made; {describe_next(snapshot)}"]
    if kept != row.checkpoint_id:
        notes.append(
            f"the head is {short(kept)} then, on another branch: a run goes on from there unless told a checkpoint"
        )
    result = row.ref if kept != row.checkpoint_id else row.ref._replace(checkpoint_id="")
    return plan._replace(notes=(*notes, *plan.notes), result=result)


def branch(reader: Reader, row: CheckpointRow, mend: OrphanAction = OrphanAction.NOTHING) -> Plan:
    """The checkpoints of one branch, from its tip up to where it leaves another.

    Raises:
        UsageError: the checkpoint isn't a tip; Refused where there is no other branch.
    """
    lineage, short = reader.lineage(row.thread_id, row.ns), short_ids(reader, row.ref)
    if kids := lineage.children.get(row.checkpoint_id):
        hint = f"--after {argument(short(row.checkpoint_id))} deletes what came after it"
        raise UsageError(f"{short(row.checkpoint_id)} is no tip: {short(kids[0])} goes on from it", hint=hint)
    own = list(_own(lineage, row.checkpoint_id))
    if len(own) == len(lineage):
        raise Refused("it is the only branch", hint=f"`{command('ckpt delete', row.thread_id)}` deletes the thread")
    number = next((b.number for b in lineage.branches if b.tip == row.checkpoint_id), None)
    what = f"of branch {number} (tip {short(row.checkpoint_id)})"
    plan = _part(reader, row.thread_id, {row.ns: set(own)}, mend, what)
    left = lineage.parent(own[-1])
    notes = [f"it leaves {short(left)}, which stays"] if left else []
    return plan._replace(notes=(*notes, *plan.notes), result=Ref(row.thread_id, row.ns, ""))


def run(reader: Reader, thread_id: str, run_ids: Sequence[str], mend: OrphanAction = OrphanAction.NOTHING) -> Plan:
    """The checkpoints whose metadata names these runs, in every namespace.

    Raises:
        NotFound: none does; Refused where others go on from them and nothing is said about those.
    """
    chosen: Ids = {}
    known: dict[str, None] = {}
    refs = [row.ref for row in reader.rows(thread_id)]
    for ref, payload in reader.saver.metadata(refs):
        run_id = named(reader.value(payload)).get("run_id")
        if isinstance(run_id, str):
            known[run_id] = None
            if run_id in run_ids:
                chosen.setdefault(ref.ns, set()).add(ref.checkpoint_id)
    if missing := [run_id for run_id in run_ids if run_id not in known]:
        raise NotFound(f"no checkpoint of thread {thread_id!r} is of run {missing[0]!r}", candidates=[*known][:_NAMED])
    what = f"of run {run_ids[0]}" if len(run_ids) == 1 else f"of {len(run_ids)} runs"
    if len(chosen.get("", ())) == len(reader.lineage(thread_id)):
        return threads(reader, [thread_id])._replace(notes=("all of the thread is of these runs",))
    return _part(reader, thread_id, chosen, mend, what)._replace(result=Ref(thread_id, "", ""))


def _own(lineage: Lineage, tip: str) -> Iterator[str]:
    """From a tip back to the first checkpoint that no other branch shares."""
    for checkpoint_id in lineage.line(tip):
        if len(lineage.children.get(checkpoint_id, ())) > 1:
            return
        yield checkpoint_id


def _part(reader: Reader, thread_id: str, chosen: Ids, mend: OrphanAction, what: str) -> Plan:
    """The plan of a part of a thread."""
    found = find_deletion_set(reader, thread_id, chosen, with_children=mend is OrphanAction.DELETE)
    short = short_ids(reader, Ref(thread_id, "", ""))
    if found.orphans and mend is OrphanAction.NOTHING:
        raise Refused(
            f"{_some(len(found.orphans), 'checkpoint')} that would stay would lose the parent; nothing was written",
            hint="--with-children deletes what goes on from it too, --reparent hangs it in what stays",
            candidates=[_hanging(row, short(row.checkpoint_id)) for row in found.orphans[:_NAMED]],
        )
    doomed = set(found.refs())
    rows = (row for row in reader.rows(thread_id) if row.ref in doomed)
    count = _Count()
    remove = tuple(_removed(rows, found.writes(reader), count))
    changed = tuple(_reparented(reader, found, row) for row in found.orphans)
    return Plan(
        reason="",
        replace=changed,
        remove=remove,
        basis=(
            basis_of(reader.saver, Ref(thread_id, ANY_NS, "")),
            *(basis_of(reader.saver, row.ref, writes=False) for row in found.orphans),
        ),
        recent=recently_written(reader, reader.rows(thread_id)),
        verb="delete",
        summary=f"{what} in {thread_id}: {count}",
        notes=tuple(_notes(found, chosen, changed)),
    )


def _removed(rows: Iterable[CheckpointRow], writes: Iterable[Write], count: _Count) -> Iterator[Ref | WriteKey]:
    """The names of what goes, counted on the way."""
    for row in rows:
        count.checkpoints += 1
        count.weigh(row.size)
        yield row.ref
    for write in writes:
        count.writes += 1
        count.weigh(write.size)
        yield WriteKey(write.ref, write.task_id, write.idx)


def _hanging(row: CheckpointRow, short: str) -> str:
    where = f" in {row.ns}" if row.ns else ""
    return f"{short}{where}, whose parent is {row.parent_id}"


def _reparented(reader: Reader, found: DeletionSet, row: CheckpointRow) -> Checkpoint:
    """A checkpoint below the nearest ancestor that stays; delta channels stand in it whole, as their writes go.

    Raises:
        Refused: what such a channel holds isn't known.
    """
    origin = read_origin(reader, row.ref)
    line = reader.lineage(row.thread_id, row.ns).line(row.checkpoint_id)
    parent_id = next((i for i in list(line)[1:] if i not in found.checkpoints[row.ns]), None)
    moved = origin.stored._replace(row=origin.stored.row._replace(parent_id=parent_id))
    values = stored_values(reader, row.ref)
    if not values:
        return moved
    body = {**origin.body, "channel_values": {**(origin.body.get("channel_values") or {}), **values}}
    metadata = {key: value for key, value in origin.metadata.items() if key != COUNTERS}
    return encode_checkpoint(reader, origin, moved.row, body, metadata)


def _notes(found: DeletionSet, chosen: Ids, changed: Sequence[Checkpoint]) -> Iterator[str]:
    for ns in sorted(found.checkpoints.keys() - {""} - chosen.keys()):
        yield f"subgraph {ns}: {_some(len(found.checkpoints[ns]), 'checkpoint')}"
    if changed:
        yield f"{_some(len(changed), 'checkpoint')} that went on from there {'is' if len(changed) == 1 else 'are'} kept"


def _add(total: _Count, count: _Count) -> None:
    total.checkpoints += count.checkpoints
    total.writes += count.writes
    total.weigh(count.size)


def _some(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
