"""What one checkpoint means, read with those around it: next tasks, nodes, values, delta channels.

`reading.Reader` gives rows, decoded states and writes; it doesn't depend on this module.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, cached_property, partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from ckpt_cli.errors import CheckpointNotFound, PayloadCorrupt
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.state.channels import START, missing, unwrapped, user_channels
from ckpt_cli.history.tasks.answers import Below
from ckpt_cli.history.tasks.branch_writes import BranchWrites, Siblings, branch_writes
from ckpt_cli.history.tasks.metadata_notes import note
from ckpt_cli.history.tasks.nesting import calling_node, calling_tasks, graphs_around, reached
from ckpt_cli.history.tasks.next_tasks import Wiring
from ckpt_cli.history.tasks.node_names import Names
from ckpt_cli.history.tasks.pending_goto import with_goto
from ckpt_cli.history.tasks.snapshot import Snapshot, Status, graph_of, snapshot, status_of
from ckpt_cli.model import NULL_TASK, Ref
from ckpt_cli.other_joins import joins_elsewhere
from ckpt_cli.reading import Reader
from ckpt_cli.values.state import State, TaskWrite

if TYPE_CHECKING:
    from ckpt_cli.history.reducers.delta import Station
    from ckpt_cli.history.reducers.rebuilt import Rebuilt


class Inspection:
    """One checkpoint and the checkpoints around it, each read only when it is needed.

    `snapshot`, `names`, `values` and `deltas` raise CheckpointNotFound and PayloadCorrupt as `Reader.state` does.

    Args:
        reader: the database.
        ref: the checkpoint.
        lineage: the tree of its namespace if it isn't the stored one.
    """

    def __init__(self, reader: Reader, ref: Ref, lineage: Lineage | None = None) -> None:
        self._reader = reader
        self._ref = ref
        self._other_lineage = lineage

    def snapshot(self, *, goto: bool = True) -> Snapshot:
        """The next nodes, the tasks and the interrupts, as a run finds them.

        They are those that ``graph.get_state`` gives, and those that a Command's pending ``goto`` starts, unless `goto`
        is false: a checkpoint that isn't made by a run starts without these.
        """
        return snapshot(
            self._reader.state(self._ref),
            self._reader.writes(self._ref),
            consumed=self.consumed,
            history=self.others,
            namespaces=self.namespaces,
            ended=self.returned,
            below=self.below,
            earlier=self._earlier_input_taker,
            joins=partial(joins_elsewhere, self._reader),
            goto=goto,
        )

    def names(self, written: list[TaskWrite] | None = None) -> Names:
        """The node of each task that left writes on this checkpoint; others are read only if this one isn't enough.

        `written` are the writes stored on the checkpoint, if they were read before.
        """
        writes = self._reader.writes(self._ref) if written is None else written
        state = with_goto(self._reader.state(self._ref), writes)
        wiring = Wiring(state, self.others)
        names = Names(state, writes, wiring, self.namespaces, below=self.below)
        tasks = {write.task_id for write in writes if write.task_id != NULL_TASK}
        if all(names.node(task_id) for task_id in tasks if names.of_this_step(task_id)):
            return names
        wiring.learn_until(lambda: False)  # learn from all other checkpoints
        return Names(state, writes, wiring, self.namespaces, partial(joins_elsewhere, self._reader), self.below)

    def values(self) -> dict[str, Any]:
        """The user's channels that hold something, as the graph sees them: delta channels rebuilt, snapshots opened.

        A value that is lost is a node that says so.
        """
        return self._values({channel: delta.value for channel, delta in self.deltas().items()})

    def values_to_store(self) -> dict[str, Any]:
        """The same, but a delta channel's value that a change must not store is an object with its seed and writes."""
        return self._values({channel: delta.proven_value for channel, delta in self.deltas().items()})

    def _values(self, rebuilt: dict[str, Any]) -> dict[str, Any]:
        state = self._reader.state(self._ref)
        stored = {channel: unwrapped(value) for channel, value in state.values.items()}
        values = {**stored, **rebuilt}
        if state.blobless - rebuilt.keys():
            from ckpt_cli.lost_values import lost_values

            values |= lost_values(self._reader, state)
        return {channel: values[channel] for channel in user_channels(state) if channel in values}

    def deltas(self) -> "dict[str, Rebuilt]":
        """The delta channels whose value the checkpoint doesn't store, each rebuilt from an older value and writes."""
        return self.deltas_with_sources()[0]

    def deltas_with_sources(self) -> "tuple[dict[str, Rebuilt], set[str]]":
        """The same, and the ids of the checkpoints that were read for it."""
        state = self._reader.state(self._ref)
        unstored, read = missing(state), set[str]()
        if not unstored:
            return {}, read
        from ckpt_cli.history.reducers.delta import rebuild

        def noted(stations: "Iterable[Station]") -> "Iterator[Station]":
            for station in stations:
                read.add(station.state.ref.checkpoint_id)
                yield station

        return rebuild(state, unstored, noted(self._ancestors()), lambda: noted(self._descendants())), read

    def taken(self, parent: State, stored: Sequence[TaskWrite]) -> BranchWrites:
        """The writes stored on the parent that are in this checkpoint; `stored` are all of them."""
        return branch_writes(self._reader.state(self._ref), parent, stored, self._siblings())

    def _earlier_input_taker(self) -> str | None:
        """The node that took the input at a checkpoint from which this one was forked or edited; None if unknown."""
        with suppress(PayloadCorrupt):
            for state in self._states(self._originals()):
                if START in state.values and (node := Inspection(self._reader, state.ref).names().input_taker):
                    return node
        return None

    def _originals(self) -> Iterator[str]:
        """The checkpoints of which this one may be a copy, and those of which these may be copies."""
        lineage = self._lineage
        for state in self._states(lineage.line(self._ref.checkpoint_id)):
            if state.source not in ("update", "fork"):
                return
            own_id = state.ref.checkpoint_id
            parent = lineage.parent(own_id)
            siblings = lineage.roots if parent is None else lineage.children[parent]
            yield from (other for other in siblings if other < own_id)
            yield from [parent] if parent else []

    @property
    def _lineage(self) -> Lineage:
        return self._other_lineage or self._reader.lineage(self._ref.thread_id, self._ref.ns)

    def namespaces(self) -> Sequence[str]:
        """The namespaces of the subgraphs that are called inside this checkpoint's graph, at any depth."""
        return reached(self._reader.namespaces(self._ref.thread_id), self._ref.ns)

    @cached_property
    def below(self) -> Below:
        """What is stored in the subgraphs of the thread."""
        names_at = cache(lambda ref: Inspection(self._reader, ref).names())

        def node_of(write: TaskWrite) -> str | None:
            with suppress(CheckpointNotFound, PayloadCorrupt):
                return names_at(write.row.ref).node(write.task_id)
            return None

        return Below(lambda ns: self._reader.writes(self._reader.head(self._ref.thread_id, ns).ref), node_of)

    @property
    def consumed(self) -> bool:
        """Whether the checkpoint has a child, which continues it."""
        return bool(self._lineage.children.get(self._ref.checkpoint_id))

    def others(self) -> Iterator[State]:
        """The other readable checkpoints of the same graph.

        The checkpoints of this namespace come first, the nearest ones before the others. Then come those of other runs
        of the same subgraph.
        """
        thread_id, ns, lineage = self._ref.thread_id, self._ref.ns, self._lineage
        children = lineage.children.get(self._ref.checkpoint_id, ())
        nearest = dict.fromkeys([*children, *lineage.line(self._ref.checkpoint_id), *lineage.rows])
        others = (o for o in self._reader.namespaces(thread_id) if ns and o != ns and graph_of(o) == graph_of(ns))
        refs = chain(
            (Ref(thread_id, ns, i) for i in nearest),
            (Ref(thread_id, other, i) for other in others for i in self._reader.lineage(thread_id, other).rows),
        )
        for ref in self._prefetched(refs):
            with suppress(PayloadCorrupt):
                yield from self._reader.states([ref])

    def returned(self) -> bool:
        """Whether the task that called this subgraph, or its ``@task``, has finished."""
        caller, ns = self.caller(), self._ref.ns
        if caller is None:
            return False
        if not (task_ids := calling_tasks(ns, caller.ns)):
            return self._has_finished(caller, calling_node(ns, caller.ns))
        written = self._reader.writes(caller, values=0)
        return any(status_of([w for w in written if w.task_id == i]) is Status.FINISHED for i in task_ids)

    def _has_finished(self, ref: Ref, called_node: str) -> bool:
        try:
            tasks = Inspection(self._reader, ref).snapshot().tasks
        except (CheckpointNotFound, PayloadCorrupt):
            return False
        called = [task for task in tasks if task.node == called_node]
        return bool(called) and all(task.status is Status.FINISHED for task in called)

    def caller(self) -> Ref | None:
        """The checkpoint that called this subgraph; None if it isn't known, and for the root graph."""
        if not self._ref.ns:
            return None
        namespaces = self._reader.namespaces(self._ref.thread_id)
        outer, caller_id = next(one for one in reversed(self.around()) if not one[0] or one[0] in namespaces)
        return Ref(self._ref.thread_id, outer, caller_id) if caller_id is not None else None

    def around(self) -> list[tuple[str, str | None]]:
        """The graphs around this one, see `graphs_around`, each with the checkpoint that the metadata names."""
        state = self._reader.state_if_readable(self._ref)
        parents = note(state.metadata, self._ref.checkpoint_id).parents if state is not None else {}
        around = graphs_around(self._ref.ns, parents, self._reader.namespaces(self._ref.thread_id))
        return [(ns, parents.get(ns)) for ns in around]

    def _ancestors(self) -> "Iterator[Station]":
        """The checkpoint's ancestors, from its parent back."""
        child = self._reader.state(self._ref)
        for state in self._states(list(self._lineage.line(self._ref.checkpoint_id))[1:]):
            yield self._station(state, child)
            child = state

    def _descendants(self) -> "Iterator[Station]":
        """The checkpoint, its first child, that child's first child, and so on."""
        before: State | None = None
        for state in self._states(self._first_children()):
            if before is not None:
                yield self._station(before, state)
            before = state
        if before is not None:
            yield self._station(before, None)

    def _first_children(self) -> Iterator[str]:
        at: str | None = self._ref.checkpoint_id
        while at is not None:
            yield at
            at = next(iter(self._lineage.children.get(at, ())), None)

    def _states(self, checkpoint_ids: Iterable[str]) -> Iterator[State]:
        for ref in self._prefetched(Ref(self._ref.thread_id, self._ref.ns, i) for i in checkpoint_ids):
            yield self._reader.state(ref)

    def _station(self, state: State, child: State | None) -> "Station":
        """One checkpoint of a line with the writes that are in the line's next checkpoint."""
        from ckpt_cli.history.reducers.delta import Station, may_repeat

        if child is None:
            return Station(state, (), self.grown(state))
        stored = self._reader.writes(state.ref)
        own = Inspection(self._reader, child.ref, self._other_lineage).taken(state, stored)
        return Station(state, own.writes, self.grown(state), own.lost, may_repeat(stored))

    def _siblings(self) -> Siblings | None:
        """Gives the children of the checkpoint's parent, oldest first; None if the checkpoint is the only one."""
        children = self._lineage.children.get(self._lineage.parent(self._ref.checkpoint_id) or "", [])
        return partial(self._states, children) if len(children) > 1 else None

    def _prefetched(self, refs: Iterable[Ref]) -> Iterator[Ref]:
        """The same refs; the saver prefetches them in growing pages, because most walks end after a step or two."""
        left, size = iter(refs), 1
        while page := list(islice(left, size)):
            self._reader.saver.expect(page)
            yield from page
            size = min(size * 4, self._reader.saver.page)

    def grown(self, state: State) -> bool:
        """Whether a checkpoint was made by the writes stored on its parent.

        It was if it is the parent's first child, its step is the parent's plus one, and its source is a run.
        """
        own_id, lineage = state.ref.checkpoint_id, self._lineage
        parent_id = lineage.parent(own_id)
        if parent_id is None or state.source not in ("loop", "input") or state.step is None:
            return False
        parent = Ref(self._ref.thread_id, self._ref.ns, parent_id)
        return lineage.children[parent_id][0] == own_id and self._reader.state(parent).step == state.step - 1
