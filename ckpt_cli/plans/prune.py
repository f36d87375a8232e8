"""The plan of ``ckpt prune``: what no policy keeps goes; kept checkpoints get the nearest kept ancestor."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from ckpt_cli.history.reducers.reducers import Reducer
from ckpt_cli.model import Checkpoint, CheckpointRow, Plan, Ref
from ckpt_cli.operations.apply import ANY_NS, basis_of
from ckpt_cli.plans import idle_threads
from ckpt_cli.plans.idle_threads import Idle
from ckpt_cli.plans.kept_checkpoints import Decisions
from ckpt_cli.plans.own_memory import SINCE
from ckpt_cli.plans.removed_records import RemovedCount, count_removed
from ckpt_cli.plans.retained_bytes import keep_fitting
from ckpt_cli.plans.retained_snapshots import Snapshots
from ckpt_cli.plans.retention import Retention
from ckpt_cli.plans.retention_policies import Policies
from ckpt_cli.plans.snapshot_bytes import SnapshotBytes
from ckpt_cli.plans.thread_bytes import ThreadBytes
from ckpt_cli.plans.wording import recently_written, short_ids
from ckpt_cli.reading import Reader
from ckpt_cli.shell_words import argument
from ckpt_cli.values.counts import count_text

_NAMED = 20  # at most so many kept checkpoints are named one by one
_UNKEPT = ("kept by no policy, and needed by nothing that stays",)
_IDLE = "its thread is idle"
_UNCALLED = ("called by a checkpoint that goes",)


class Rules(NamedTuple):
    """What a person wants of a pruning.

    Attributes:
        policies: what stays.
        idle: which threads go as a whole.
        reducers: those that the person named, if snapshots of delta channels replace their ancestors; else None.
    """

    policies: Policies
    idle: Idle | None = None
    reducers: Mapping[str, Reducer] | None = None


class Pruning(NamedTuple):
    """A plan, and what it decides of each checkpoint of the thread; the plan is empty if nothing goes."""

    plan: Plan
    decisions: Decisions


def plan(reader: Reader, thread_id: str, rules: Rules) -> Pruning:
    """The plan that removes the checkpoints of a thread that no policy keeps, and that nothing that stays needs.

    A thread that has been idle goes as a whole. Without any policy, other threads stay whole.

    Raises:
        ThreadNotFound: there is no thread with this id.
    """
    thread, why = reader.thread(thread_id), "not idle for so long"
    if rules.idle is not None and rules.idle.fits(thread):
        why = rules.idle.spares(reader, thread)
        if not why:
            decisions = Decisions(reader.rows(thread_id), lambda _: (False, (_IDLE,)))
            return Pruning(idle_threads.plan(reader, thread_id), decisions)
    if rules.policies.is_empty:
        decisions = Decisions(reader.rows(thread_id), lambda _: (True, (why,)))
        return Pruning(_nothing(thread_id, notes=(why,)), decisions)
    return _pruned(reader, thread_id, rules)


def _nothing(thread_id: str, more: str = "", notes: tuple[str, ...] = ()) -> Plan:
    return Plan("", verb="prune", summary=f"of {thread_id}: nothing to remove{more}", notes=notes)


def _pruned(reader: Reader, thread_id: str, rules: Rules) -> Pruning:
    retention = Retention(reader, thread_id, rules.reducers)
    kept = _keep(reader, retention, rules.policies)
    decisions = Decisions(reader.rows(thread_id), partial(_decide, retention.kept))
    if all(one.stays for one in decisions):
        stays = f", {_stay(len(decisions))}, {kept.before:,} bytes"
        why = _reducer_notes(retention.snapshots, retention) if retention.snapshots is not None else ()
        return Pruning(_nothing(thread_id, stays, (*([kept.remark] if kept.remark else ()), *why)), decisions)
    orphans = list(_moved(reader, retention))
    count = RemovedCount()
    rows = (row for row in reader.rows(thread_id) if retention.goes(row.ref))
    writes = (write for write in reader.saver.writes(thread_id, values=0) if retention.goes(write.ref))
    remove = tuple(count_removed(rows, writes, count))
    count.size = kept.before - kept.left
    refs = [one.row.ref for one in orphans]
    stays = f"{count_text(len(decisions) - count.checkpoints, 'checkpoint')}, {kept.size}"
    notes = _notes(reader, retention, decisions, orphans, kept)
    made = Plan(
        reason="",
        replace=tuple(orphans),
        remove=remove,
        basis=(
            basis_of(reader.saver, Ref(thread_id, ANY_NS, "")),
            *(basis_of(reader.saver, ref, writes=False) for ref in refs),
        ),
        recent=recently_written(reader, reader.rows(thread_id)),
        verb="prune",
        summary=f"of {thread_id} to {stays}: removes {count}",
        notes=(*((kept.remark,) if kept.remark else ()), *notes),
    )
    return Pruning(made, decisions)


class _Kept(NamedTuple):
    """What a pruning leaves.

    Attributes:
        remark: that of `keep_fitting`.
        before: the thread's bytes now.
        left: those of the records that stay, as they are now.
        snapshots: what these take more by the snapshots that they store.
        about: "about " if the saver may count the snapshots otherwise.
    """

    remark: str
    before: int
    left: int
    snapshots: int
    about: str

    @property
    def size(self) -> str:
        """What stays, for people."""
        return f"{self.about}{self.left + self.snapshots:,} bytes{' (more than --max-bytes)' if self.remark else ''}"


def _keep(reader: Reader, retention: Retention, policies: Policies) -> _Kept:
    """Keep what the policies keep."""
    sizes = ThreadBytes(reader, retention.thread_id)
    snapshots = SnapshotBytes(reader, sizes)
    remark = keep_fitting(retention, policies, sizes, snapshots)
    about = "" if snapshots.is_exact(retention.snapshots) else "about "
    left = sizes.without(retention.goes)
    return _Kept(remark, sizes.everything(), left, snapshots.sum(retention.snapshots), about)


def _decide(kept: Mapping[str, Mapping[str, list[str]]], row: CheckpointRow) -> tuple[bool, Sequence[str]]:
    """Whether a checkpoint stays, and why."""
    reasons = kept[row.ns].get(row.checkpoint_id)
    return (False, _UNCALLED if row.ns else _UNKEPT) if reasons is None else (True, reasons)


def _moved(reader: Reader, retention: Retention) -> Iterator[Checkpoint]:
    """The kept checkpoints whose parent goes, as children of the nearest ancestor that stays; those with snapshots.

    All others of their bytes are what they were.
    """
    parents = {
        Ref(retention.thread_id, ns, orphan): parent
        for ns in retention.lineages
        for orphan, parent in retention.orphans(ns).items()
    }
    snapshots = retention.snapshots
    for stored in reader.saver.checkpoints([*parents, *(snapshots.channels.keys() - parents if snapshots else ())]):
        parent = parents.get(stored.row.ref, stored.row.parent_id)
        moved = stored._replace(row=stored.row._replace(parent_id=parent))
        yield moved if snapshots is None else snapshots.record(stored, moved)


def _snapshot_notes(snapshots: Snapshots, kept: _Kept) -> Iterator[str]:
    if snapshots.channels:
        names = ", ".join(sorted(set().union(*snapshots.channels.values())))
        store = "stores" if len(snapshots.channels) == 1 else "store"
        count = count_text(len(snapshots.channels), "checkpoint")
        yield f"{count} {store} a snapshot of delta channels ({names}), {kept.about}{kept.snapshots:,} bytes"


def _reducer_notes(snapshots: Snapshots, retention: Retention) -> Iterator[str]:
    """Which reducers only a person named, and which delta channels can't be stored whole."""
    for channel, named in sorted(snapshots.named.items()):
        yield f"{channel} is made by {named.name}, as you say: no stored value that was read proves that it is"
    for channel, proven in sorted(snapshots.unused.items()):
        why = "stored values contradict it" if proven is None else f"stored values show {proven.name}"
        yield f"{channel}: your reducer isn't used where {why}"
    for channel in sorted(snapshots.larger):
        why = "no stored value has so many, so nothing shows that your reducer doesn't trim them"
        yield f"{channel} is stored with all its messages: {why} (--reducer {argument(f'{channel}=messages')})"
    yield from _refusals(snapshots, retention)


def _refusals(snapshots: Snapshots, retention: Retention) -> Iterator[str]:
    """In how many of the checkpoints that stay a delta channel can't be stored whole, and why."""

    def places(refs: Iterable[Ref]) -> str:
        return count_text(sum(not retention.goes(ref) for ref in refs), "checkpoint")

    for channel, refs in sorted(snapshots.unknown.items()):
        why = f"nothing proves its value: ancestors stay (--reducer {argument(f'{channel}=NAME')})"
        yield f"no snapshot of {channel} in {places(refs)} where {why}"
    for channel, reducer in sorted(snapshots.beyond.items()):
        why = f"no stored value shows {reducer.name} for so many elements, or for a number like it"
        option = argument(f"{channel}={reducer.name}")
        where = places(snapshots.beyond_at[channel])
        yield f"no snapshot of {channel} in {where} where {why}: ancestors stay (--reducer {option})"
    if snapshots.unordered:
        why = "LangGraph's saver may read these writes in another order than the run had: the ancestors stay"
        where = places(set().union(*snapshots.unordered.values()))
        names = ", ".join(sorted(snapshots.unordered))
        yield f"no snapshot of {names} in {where} where several tasks of a step wrote; {why}"


def _notes(
    reader: Reader, retention: Retention, decisions: Decisions, moved: list[Checkpoint], kept: _Kept
) -> Iterator[str]:
    short = short_ids(reader, Ref(retention.thread_id, "", ""))
    yield from _removed(decisions, short)
    stay = [one for one in decisions if one.stays]
    root = [one for one in stay if not one.ns]
    named = root if len(root) <= _NAMED else []
    counted = [one for one in stay if one.ns or not named]
    for one in reversed(named):
        step = retention.steps.get(Ref(retention.thread_id, one.ns, one.checkpoint_id))
        place = "" if step is None else f" (step {step})"
        yield f"{short(one.checkpoint_id)}{place} stays: {', '.join(one.reasons)}"
    for reason, count in Counter(reason for one in counted for reason in one.reasons).most_common():
        yield f"{_stay(count)}: {reason}"
    if retention.snapshots is not None:
        yield from _snapshot_notes(retention.snapshots, kept)
        yield from _reducer_notes(retention.snapshots, retention)
    orphans = {orphan for ns in retention.lineages for orphan in retention.orphans(ns)}
    parents = [one.row.parent_id for one in moved if one.row.checkpoint_id in orphans]
    if given := sum(parent is not None for parent in parents):
        get = "gets" if given == 1 else "get"
        yield f"{count_text(given, 'checkpoint')} {get} the nearest ancestor that stays as parent"
    if first := parents.count(None):
        yield f"{count_text(first, 'checkpoint')} {'has' if first == 1 else 'have'} no parent then: no ancestor stays"
    if cut := retention.cut_memories():
        run = "where a run with a checkpoint_id in its config (also the head's) and no input"
        yield f"{run} calls {' or '.join(cut)}, it finds less of the subgraph's memory than before ({SINCE})"


def _removed(decisions: Decisions, short: Callable[[str], str]) -> Iterator[str]:
    """How many checkpoints go for each reason, and the names of a few."""
    counts, named = Counter[str](), defaultdict[str, list[str]](list)
    for one in decisions:
        if not one.stays:
            counts[reason := ", ".join(one.reasons)] += 1
            if counts[reason] <= _NAMED:
                named[reason].append(one.checkpoint_id)
    for reason, count in counts.items():
        names = f": {', '.join(map(short, named[reason]))}" if count <= _NAMED else ""
        yield f"{count_text(count, 'checkpoint')} {'goes' if count == 1 else 'go'}, {reason}{names}"


def _stay(count: int) -> str:
    return f"{count_text(count, 'checkpoint')} {'stays' if count == 1 else 'stay'}"
