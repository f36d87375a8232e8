"""What the checkpoints around one tell of it: its line, its graph's other runs, the task that called it."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.tasks.snapshot import Status, graph_of, status_of
from ckpt_cli.model import Ref
from ckpt_cli.savers.contract import Saver
from ckpt_cli.values.state import State, TaskWrite

if TYPE_CHECKING:
    from ckpt_cli.history.reducers.delta import Station


class Source(Protocol):
    """What of a `Reader` is needed here."""

    saver: Saver

    def lineage(self, thread_id: str, ns: str = "") -> Lineage:
        """See `Reader.lineage`."""

    def state(self, ref: Ref) -> State:
        """See `Reader.state`."""

    def states(self, refs: Iterable[Ref]) -> Iterator[State]:
        """See `Reader.states`."""

    def writes(self, ref: Ref, *, values: int | None = None) -> list[TaskWrite]:
        """See `Reader.writes`."""


class Around:
    """One checkpoint's surroundings, each read when it is asked for."""

    def __init__(self, source: Source, ref: Ref) -> None:
        self._source = source
        self._ref = ref

    @property
    def _lineage(self) -> Lineage:
        return self._source.lineage(self._ref.thread_id, self._ref.ns)

    def namespaces(self) -> list[str]:
        """Those of the thread."""
        return self._source.saver.namespaces(self._ref.thread_id)

    @property
    def consumed(self) -> bool:
        """Whether a child continues it."""
        return bool(self._lineage.children.get(self._ref.checkpoint_id))

    def others(self) -> Iterator[State]:
        """The other readable checkpoints of the same graph: of this namespace nearest first, then of its other runs."""
        thread_id, ns, lineage = self._ref.thread_id, self._ref.ns, self._lineage
        children = lineage.children.get(self._ref.checkpoint_id, ())
        nearest = dict.fromkeys([*children, *lineage.line(self._ref.checkpoint_id), *lineage.rows])
        refs = [Ref(thread_id, ns, i) for i in nearest]
        for other in self.namespaces() if ns else ():
            if other != ns and graph_of(other) == graph_of(ns):
                refs += [Ref(thread_id, other, i) for i in self._source.lineage(thread_id, other).rows]
        for ref in self._expected(refs):
            with suppress(PayloadCorrupt):
                yield from self._source.states([ref])

    def returned(self) -> bool:
        """Whether the task that called this subgraph has finished."""
        outer, _, called = self._ref.ns.rpartition("|")
        parents = self._source.state(self._ref).metadata.get("parents")
        caller = parents.get(outer) if isinstance(parents, dict) else None
        if not isinstance(caller, str):
            return False
        written = self._source.writes(Ref(self._ref.thread_id, outer, caller), values=0)
        task_id = called.rpartition(":")[2]
        return status_of([write for write in written if write.task_id == task_id]) is Status.FINISHED

    def ancestors(self) -> "Iterator[Station]":
        """Its line from the parent back."""
        return self._stations(list(self._lineage.line(self._ref.checkpoint_id))[1:])

    def ahead(self) -> "Iterator[Station]":
        """Itself and its line of first children."""
        return self._stations(self._first_children())

    def _first_children(self) -> Iterator[str]:
        at: str | None = self._ref.checkpoint_id
        while at is not None:
            yield at
            at = next(iter(self._lineage.children.get(at, ())), None)

    def _stations(self, checkpoint_ids: Iterable[str]) -> "Iterator[Station]":
        from ckpt_cli.history.reducers.delta import Station

        for ref in self._expected(Ref(self._ref.thread_id, self._ref.ns, i) for i in checkpoint_ids):
            state = self._source.state(ref)
            yield Station(state, self._source.writes(ref), self.grown(state))

    def _expected(self, refs: Iterable[Ref]) -> Iterator[Ref]:
        """The saver hears of few at first: most walks end after a step or two."""
        left, size = iter(refs), 1
        while page := list(islice(left, size)):
            self._source.saver.expect(page)
            yield from page
            size = min(size * 4, self._source.saver.page)

    def _state(self, checkpoint_id: str) -> State:
        return self._source.state(Ref(self._ref.thread_id, self._ref.ns, checkpoint_id))

    def grown(self, state: State) -> bool:
        """Whether a checkpoint is what its parent's writes made: the first child, one step on, by a run."""
        own_id, lineage = state.ref.checkpoint_id, self._lineage
        parent_id = lineage.parent(own_id)
        if parent_id is None or state.source not in ("loop", "input") or state.step is None:
            return False
        return lineage.children[parent_id][0] == own_id and self._state(parent_id).step == state.step - 1
