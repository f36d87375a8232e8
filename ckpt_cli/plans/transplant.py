"""The plan of ``ckpt fork --to``: a checkpoint with all it came from, under another thread id.

Ids stay, so task ids, parents and delta channels' histories hold as they are (a thread copied so continues in the real
library). What ran at the checkpoint itself stays behind: its writes, and the subgraphs that it called.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ckpt_cli.errors import Refused, UsageError
from ckpt_cli.history.reducers.delta import COUNTERS
from ckpt_cli.inspection import Inspection
from ckpt_cli.layouts import must_have_metadata, named, parents_of
from ckpt_cli.model import Checkpoint, CheckpointRow, Plan, Record, Ref
from ckpt_cli.operations.apply import ANY_NS, basis_of
from ckpt_cli.plans.child import Origin, encode_checkpoint, read_origin
from ckpt_cli.plans.delta_snapshots import stored_values
from ckpt_cli.plans.metadata import UNCHANGED, MetadataChanges
from ckpt_cli.plans.wording import describe_next, describe_reruns, recently_written, short_ids
from ckpt_cli.reading import Reader
from ckpt_cli.values.same import same

Kept = dict[str, set[str]]
"""Namespace to the checkpoint ids that come along."""


def plan(
    reader: Reader, row: CheckpointRow, to: str, *, shallow: bool = False, changes: MetadataChanges = UNCHANGED
) -> Plan:
    """A new thread whose head is this checkpoint; `changes` of the application's metadata are made in all of it.

    Raises:
        UsageError: the new id is empty.
        Refused: there is a thread of that id, or what a shallow copy must store isn't known.
    """
    if not to:
        raise UsageError("a thread id can't be empty")
    if reader.saver.thread(to) is not None:
        raise Refused(f"there is a thread {to!r} already; nothing was written", hint="name one that doesn't exist")
    kept = {"": {row.checkpoint_id}} if shallow else _kept(reader, row)
    rename = _Rename(reader, row.thread_id, to, changes)
    records = (_alone(reader, row, rename),) if shallow else tuple(_moved(reader, row, kept, rename))
    snapshot, short = Inspection(reader, row.ref).snapshot(), short_ids(reader, row.ref)
    count = sum(isinstance(record, Checkpoint) for record in records)
    what = "that checkpoint alone" if shallow else f"{count} checkpoint{'' if count == 1 else 's'}"
    return Plan(
        reason="",
        add=records,
        basis=(
            basis_of(reader.saver, Ref(to, ANY_NS, "")),
            *(
                basis_of(reader.saver, ref, writes=ref == row.ref)
                for ref in (Ref(row.thread_id, ns, i) for ns in kept for i in sorted(kept[ns]))
            ),
        ),
        recent=recently_written(reader, reader.rows(row.thread_id)),
        verb="fork",
        summary=f"of {short(row.checkpoint_id)} to the new thread {to}: {what}; {describe_next(snapshot)}",
        notes=(
            *describe_reruns(reader, row, snapshot),
            *(("its subgraphs' own memories stay behind",) if shallow else ()),
            *changes.describe(reader.state(row.ref).metadata),
        ),
        result=Ref(to, "", ""),  # the head; named by its id, the library would copy it before it runs
    )


def _kept(reader: Reader, row: CheckpointRow) -> Kept:
    line = set(reader.lineage(row.thread_id).line(row.checkpoint_id))
    passed = line - {row.checkpoint_id}
    kept: Kept = {"": passed}
    ran = {write.task_id for write in reader.saver.writes(row.thread_id, "", passed, values=0)}
    spaces = [ns for ns in reader.saver.namespaces(row.thread_id) if ns]
    for ns in sorted(spaces, key=lambda ns: (ns.count("|"), ns)):
        rows = reader.lineage(row.thread_id, ns)
        called_from = reader.saver.metadata([Ref(row.thread_id, ns, i) for i in rows.rows])
        own = {
            ref.checkpoint_id
            for ref, payload in called_from
            if _came_before(named(reader.value(payload)), ns, kept, ran)
        }
        if own:
            kept[ns] = {ancestor for checkpoint_id in own for ancestor in rows.line(checkpoint_id)}
            ran |= {write.task_id for write in reader.saver.writes(row.thread_id, ns, kept[ns], values=0)}
    return {**kept, "": line}


def _came_before(metadata: Mapping[str, Any], ns: str, kept: Kept, ran: set[str]) -> bool:
    """Whether a subgraph's checkpoint was called from one that comes along; by its task where none is recorded."""
    parents = parents_of(metadata)
    if not parents:
        return ns.rpartition(":")[2] in ran
    return all(parent in kept.get(space, ()) for space, parent in parents.items())


def _moved(reader: Reader, row: CheckpointRow, kept: Kept, rename: "_Rename") -> Iterator[Record]:
    for ns, ids in kept.items():
        refs = [Ref(row.thread_id, ns, checkpoint_id) for checkpoint_id in sorted(ids)]
        for stored in reader.saver.checkpoints(refs):
            yield rename.checkpoint(stored)
        passed = ids if ns else ids - {row.checkpoint_id}
        for write in reader.saver.writes(row.thread_id, ns, passed):
            yield write._replace(thread_id=rename.to)


@dataclass(frozen=True, slots=True)
class _Rename:
    """Puts checkpoints of one thread into another, whose id metadata names too up to langgraph 0.4."""

    reader: Reader
    thread_id: str
    to: str
    changes: MetadataChanges

    def checkpoint(self, stored: Checkpoint, drop: Iterable[str] = ()) -> Checkpoint:
        """A checkpoint of the new thread, its metadata without the keys in `drop`."""
        metadata = must_have_metadata(self.reader.value(stored.metadata), stored.row.ref)
        changed = {key: value for key, value in self.changes.apply_to(metadata).items() if key not in drop}
        if str(metadata.get("thread_id")) == self.thread_id:
            changed["thread_id"] = self.to
        payload = stored.metadata if same(changed, metadata) else self.reader.codec.encode(changed, stored.metadata)
        return stored._replace(row=stored.row._replace(thread_id=self.to), metadata=payload)


def _alone(reader: Reader, row: CheckpointRow, rename: _Rename) -> Checkpoint:
    """A checkpoint that needs no ancestors: its delta channels are stored whole."""
    origin = read_origin(reader, row.ref)
    _must_hold_its_sends(origin)
    values = stored_values(reader, row.ref)
    body = {**origin.body, "channel_values": {**(origin.body.get("channel_values") or {}), **values}}
    stored = encode_checkpoint(reader, origin, origin.stored.row, body, origin.metadata) if values else origin.stored
    moved = rename.checkpoint(stored, [COUNTERS] if values else [])
    return moved._replace(row=moved.row._replace(parent_id=None))


def _must_hold_its_sends(origin: Origin) -> None:
    if origin.state.v < 4 and origin.state.sends and not origin.body.get("pending_sends"):
        raise Refused("its Sends stand with its parent", hint="without --shallow the parent comes along")
