"""Which checkpoints `ckpt prune` keeps, each with its reasons: what policies keep, and what that needs.

What a kept checkpoint needs is kept until nothing more is needed:

- the fork point where the branches of two kept checkpoints separate;
- the checkpoint from which a copy or an update was made, and the siblings of a checkpoint whose parent is kept too,
  because all of them share the writes that are stored on the parent (`history.tasks.write_attribution`);
- all ancestors back to a stored value of each delta channel, whose writes give the value, or a snapshot of the value;
- the parent on which the Sends of an old checkpoint are stored;
- for a caller, the checkpoints of the subgraphs that it called; for these, their caller.

So a kept checkpoint loses its parent only if a run made both, and its step shows that others were between them.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import islice

from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.reducers.reducers import Reducer
from ckpt_cli.history.state.channels import TASKS
from ckpt_cli.history.state.delta_counters import counters
from ckpt_cli.history.tasks.metadata_notes import Note, note
from ckpt_cli.history.tasks.nesting import caller_task
from ckpt_cli.layouts import named
from ckpt_cli.model import Ref
from ckpt_cli.plans.own_memory import replay_bound
from ckpt_cli.plans.retained_calls import Calls
from ckpt_cli.plans.retained_chains import Chains, stores_own_sends
from ckpt_cli.plans.retained_evidence import ReducerEvidence
from ckpt_cli.plans.retained_snapshots import Snapshots
from ckpt_cli.plans.retention_policies import Policies
from ckpt_cli.reading import Reader

_RUNS = frozenset({"loop", "input"})

NEWEST = "one of the newest that --max-bytes has room for"
HEAD = "the head"
TIP = "the tip of a branch"
MEMORY = "the newest of a subgraph's own memory"
UNCALLED = "called by a checkpoint that isn't stored"
CALLED = "called by a checkpoint that stays"
CALLER = "the caller of a subgraph's checkpoint that stays"
FORK = "a fork point between branches"
SIBLING = "beside a sibling whose parent stays"
ORIGIN = "the parent of a copy or an update"
UNMARKED = "without it, no step would show the gap"
CHAIN = "a delta channel is rebuilt from it"
EVIDENCE = "shows the reducer of a delta channel"
SENDS = "has the Sends of the checkpoint after it"


class Retention:
    """The checkpoints of one thread that stay.

    Attributes:
        lineages: the tree of each namespace.
        kept: namespace to the checkpoints that stay, each with the reasons.
        steps: the step of each checkpoint that stays.
        snapshots: what kept checkpoints will store whole, so that a delta channel needs no ancestors; None if they do.
    """

    def __init__(self, reader: Reader, thread_id: str, reducers: Mapping[str, Reducer] | None = None) -> None:
        """With `reducers`, snapshots are stored; these reducers are those that a person named."""
        self.thread_id = thread_id
        self.lineages = {ns: reader.lineage(thread_id, ns) for ns in sorted({row.ns for row in reader.rows(thread_id)})}
        self.kept: dict[str, dict[str, list[str]]] = {ns: {} for ns in self.lineages}
        self._reader = reader
        self._new: list[Ref] = []
        self.steps: dict[Ref, int | None] = {}
        self._noted: dict[Ref, tuple[Note, Set[str]]] = {}
        self._sends = defaultdict[str, set[str]](set)
        self._written = defaultdict[Ref, set[str]](set)
        self.snapshots = None if reducers is None else Snapshots(reader, reducers)
        callers, starts = {caller_task(ns) for ns in self.lineages if ns}, dict[str, Ref]()
        for write in reader.saver.writes(thread_id, values=0):
            if write.task_id in callers:
                starts[write.task_id] = write.ref
            if self.snapshots is not None:
                self._written[write.ref].add(write.channel)
            if write.channel == TASKS:
                self._sends[write.ns].add(write.checkpoint_id)
        self._calls = Calls(reader, thread_id, self.lineages, starts)
        self._chains = Chains(reader, thread_id, self.lineages)
        self._evidence = ReducerEvidence(reader, thread_id, self.lineages, self._chains)

    def keep(self, policies: Policies, newest: int = 0) -> None:
        """Keep what the policies keep, the `newest` so many, what always stays, and all that these need.

        What was kept before counts no longer.
        """
        self.kept = {ns: {} for ns in self.lineages}
        self._chains.forget()
        if self.snapshots is not None:
            self.snapshots.forget()
        root = self.lineages.get("")
        if root is not None:
            self._keep("", ((one, NEWEST) for one in islice(reversed(root.rows), newest)))
            refs = [Ref(self.thread_id, "", i) for i in root.rows] if policies.sources else []
            sources = {i: one.source for i, one in self._notes(refs).items()}
            self._keep("", policies.select(root, sources))
        for ns, lineage in self.lineages.items():
            self._keep(ns, self._always(ns, lineage))
        for ref, caller in self._calls.callers.items():
            if caller is None:
                self._keep(ref.ns, [(ref.checkpoint_id, UNCALLED)])
        while self._new:
            self._follow()
            if not self._new:
                self._complete()

    def _always(self, ns: str, lineage: Lineage) -> Iterator[tuple[str, str]]:
        if not ns:
            yield lineage.head or "", HEAD
            yield from ((tip, TIP) for tip in lineage.tips if tip != lineage.head)
        elif not caller_task(ns):
            yield lineage.head or "", MEMORY
        for name, checkpoint_id in self._reader.tags(self.thread_id, ns).items():
            if checkpoint_id in lineage:
                yield checkpoint_id, f"tag {name}"

    def _keep(self, ns: str, reasons: Iterable[tuple[str, str]]) -> None:
        kept = self.kept[ns]
        for checkpoint_id, reason in reasons:
            if checkpoint_id not in kept:
                kept[checkpoint_id] = []
                self._new.append(Ref(self.thread_id, ns, checkpoint_id))
            if reason not in kept[checkpoint_id]:
                kept[checkpoint_id].append(reason)

    def _keep_new(self, ns: str, checkpoint_ids: Iterable[str], reason: str) -> None:
        """Keep checkpoints for a reason that doesn't count where there are others."""
        self._keep(ns, [(one, reason) for one in checkpoint_ids if one not in self.kept[ns]])

    def _follow(self) -> None:
        """Keep what the newly kept checkpoints need directly."""
        new, self._new = self._new, []
        by_ns = defaultdict[str, list[Ref]](list)
        for ref in new:
            by_ns[ref.ns].append(ref)
            if (caller := self._calls.callers.get(ref)) is not None:
                self._keep_new(caller.ns, [caller.checkpoint_id], CALLER)
            for called in self._calls.called.get(ref, ()):
                self._keep_new(called.ns, [called.checkpoint_id], CALLED)
        for ns, refs in by_ns.items():
            lineage, notes = self.lineages[ns], self._notes(refs)
            for checkpoint_id, one in notes.items():
                parent = lineage.parent(checkpoint_id)
                if parent is not None and one.source not in _RUNS:
                    self._keep_new(ns, [parent], ORIGIN if one.source else UNMARKED)

    def _notes(self, refs: Iterable[Ref]) -> dict[str, Note]:
        """The metadata of checkpoints of one namespace, by id."""
        chosen = list(refs)
        for ref, payload in self._reader.saver.metadata([ref for ref in chosen if ref not in self._noted]):
            metadata = named(self._reader.value(payload))
            self._noted[ref] = note(metadata, ref.checkpoint_id), frozenset(counters(metadata))
            self.steps[ref] = self._noted[ref][0].step
        for ref in chosen:
            if ref in self._noted:
                self._chains.note(ref.ns, self._noted[ref][1])
        return {ref.checkpoint_id: self._noted[ref][0] for ref in chosen if ref in self._noted}

    def _complete(self) -> None:
        """Keep what the kept checkpoints need together, until some are new: of these nothing is read yet."""
        if self.snapshots is not None:
            self.snapshots.clear()
        for ns, lineage in self.lineages.items():
            if not self.kept[ns] or len(self.kept[ns]) == len(lineage):
                continue
            for reason, needed in self._needed_together(ns):
                self._keep_new(ns, list(needed), reason)
                if self._new:
                    return

    def _needed_together(self, ns: str) -> Iterator[tuple[str, Iterable[str]]]:
        lineage, kept = self.lineages[ns], self.kept[ns]
        yield FORK, _junctions(lineage, kept)
        yield SIBLING, _siblings(lineage, kept)
        yield CHAIN, self._chains.needed(ns, kept, self._cover)
        if self.snapshots is None:
            yield EVIDENCE, self._evidence.usual(ns, kept)
        yield SENDS, self._sent(ns)
        yield UNMARKED, self._unmarked(ns)
        yield EVIDENCE, self._evidence.further(ns, self._pruned(ns), self.snapshots)

    def _cover(self, ref: Ref, channels: Set[str]) -> Set[str]:
        """The delta channels for which a kept checkpoint, whose parent goes, needs no ancestor."""
        if self.snapshots is None:
            return frozenset()
        older = islice(self.lineages[ref.ns].line(ref.checkpoint_id), 1, None)
        kept = (ref._replace(checkpoint_id=one) for one in older if one in self.kept[ref.ns])
        return self.snapshots.cover(ref, channels, set().union(*(self._written[one] for one in kept)))

    def _unmarked(self, ns: str) -> Iterator[str]:
        """The parents of checkpoints whose step wouldn't show that others were between them and their new parent."""
        for orphan, ancestor in self.orphans(ns).items():
            own, older = (self.steps.get(Ref(self.thread_id, ns, one or "")) for one in (orphan, ancestor))
            if own is None or (ancestor is not None and (older is None or own <= older + 1)):
                yield self.lineages[ns].parent(orphan) or ""

    def _sent(self, ns: str) -> Iterator[str]:
        """The parents with whose Sends an old checkpoint starts, or without which it would start with others."""
        lineage, senders = self.lineages[ns], self._sends.get(ns)
        if not senders:
            return
        doubtful = [one for one, new in self.orphans(ns).items() if {lineage.parent(one), new} & senders]
        for stored in self._reader.saver.headers([Ref(self.thread_id, ns, i) for i in doubtful]):
            if not stores_own_sends(self._reader.value(stored.body)):
                yield lineage.parent(stored.row.checkpoint_id) or ""

    def _pruned(self, ns: str) -> Lineage:
        """The tree as it will be."""
        lineage, parents = self.lineages[ns], self.orphans(ns)
        rows = (lineage.rows[one] for one in self.kept[ns])
        return Lineage(row._replace(parent_id=parents.get(row.checkpoint_id, row.parent_id)) for row in rows)

    def cut_memories(self) -> list[str]:
        """The subgraphs with their own memory of which a run from a checkpoint that stays would find less than now."""
        cut = []
        for ns in (ns for ns in self.lineages if ns and ":" not in ns and self._reader.saver.lists_before):
            ids, kept = sorted(self.lineages[ns].rows), self.kept[ns]
            places = (bisect_left(ids, self._bound(one)) for one in self.kept.get("", ()))
            if any(place and ids[place - 1] not in kept for place in places):
                cut.append(ns)
        return cut

    def _bound(self, checkpoint_id: str) -> str:
        row = self.lineages[""].rows[checkpoint_id]
        return replay_bound(row, self._noted[row.ref][0].source if row.ref in self._noted else None)

    def goes(self, ref: Ref) -> bool:
        """Whether a checkpoint goes; one whose row is lost doesn't: nothing of it is there but writes."""
        return ref.checkpoint_id in self.lineages.get(ref.ns, ()) and ref.checkpoint_id not in self.kept[ref.ns]

    def orphans(self, ns: str) -> dict[str, str | None]:
        """The kept checkpoints whose parent goes, each with the nearest ancestor that stays."""
        lineage, kept = self.lineages[ns], self.kept[ns]
        lost = (i for i in kept if (parent := lineage.parent(i)) is not None and parent not in kept)
        return {i: next((one for one in lineage.line(i) if one != i and one in kept), None) for i in lost}


def _junctions(lineage: Lineage, kept: Iterable[str]) -> Iterator[str]:
    """The nearest common ancestors of kept checkpoints, kept ones among them."""
    passed = set[str]()
    for checkpoint_id in kept:
        at: str | None = checkpoint_id
        if at in passed:
            continue
        while at is not None and at not in passed:
            passed.add(at)
            at = lineage.parent(at)
        if at is not None:
            yield at


def _siblings(lineage: Lineage, kept: Mapping[str, object]) -> Iterator[str]:
    """The siblings of kept checkpoints whose parent is kept."""
    for checkpoint_id in kept:
        children = lineage.children.get(checkpoint_id, ())
        if len(children) > 1 and any(child in kept for child in children):
            yield from children
