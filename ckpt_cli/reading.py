"""A saver joined with serde: a thread's rows, revisions resolved, checkpoints decoded on demand and once."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from time import time
from typing import TYPE_CHECKING, Any, TypeVar

from ckpt_cli.errors import CheckpointNotFound, ThreadNotFound, UsageError
from ckpt_cli.history.lineage.finder import Finder
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.lineage.revisions import is_own, split_thread
from ckpt_cli.history.lineage.short_ids import ShortIds
from ckpt_cli.history.state.channels import TASKS, missing, unwrapped, user_channels
from ckpt_cli.history.tasks.next_tasks import Wiring
from ckpt_cli.history.tasks.node_names import Names
from ckpt_cli.history.tasks.snapshot import Snapshot, snapshot
from ckpt_cli.inspection import Around
from ckpt_cli.layouts import named, state_of
from ckpt_cli.model import NULL_TASK, Checkpoint, CheckpointRow, Payload, Ref, Thread
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.paging import with_prefetch
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.state import State, TaskWrite

if TYPE_CHECKING:
    from ckpt_cli.history.reducers.delta import Rebuilt

T = TypeVar("T")
Tags = Callable[[str, str], Mapping[str, str]]
"""The tags of a namespace of a thread: name to checkpoint id."""

_STATES_KEPT = 8
_LINEAGES_KEPT = 64
_LISTED = 8
_NEAR = 2000  # threads looked at for "did you mean"


class Reader:
    """Answers what commands ask of one database; everything it gives is decoded lazily and cached within bounds."""

    def __init__(
        self, saver: Saver, codec: Codec, clock: Callable[[], float] = time, tags: Tags = lambda _thread, _ns: {}
    ) -> None:
        self.saver = with_prefetch(saver)
        self.tags = tags
        self.codec = codec
        self.clock = clock
        self._states: OrderedDict[Ref, State] = OrderedDict()
        self._lineages: OrderedDict[tuple[str, str], Lineage] = OrderedDict()
        self._short: OrderedDict[str, ShortIds] = OrderedDict()
        self._rows: tuple[str, list[CheckpointRow]] | None = None

    def moment(self, look: Callable[[], T]) -> T:
        """See `Saver.moment`; what was cached of an earlier moment is forgotten."""

        def fresh() -> T:
            self._states.clear()
            self._lineages.clear()
            self._short.clear()
            self._rows = None
            return look()

        return self.saver.moment(fresh)

    def thread(self, thread_id: str) -> Thread:
        """One thread by its exact id.

        Raises:
            ThreadNotFound: with the nearest ids as candidates.
        """
        found = self.saver.thread(thread_id)
        if found is None:
            from difflib import get_close_matches

            known = [t.thread_id for t in islice(self.saver.threads(), _NEAR)]
            near = get_close_matches(thread_id, known, n=3, cutoff=0.6)
            hint = f"did you mean {_visible(near[0])}?" if near else "`ckpt threads` lists what there is"
            raise ThreadNotFound(f"no thread {thread_id!r}", hint=hint, candidates=near)
        return found

    def lineage(self, thread_id: str, ns: str = "") -> Lineage:
        """The tree of one namespace, from ids and parents alone; short ids will want the thread's other rows, too."""
        key = (thread_id, ns)
        if key not in self._lineages:
            self._lineages[key] = Lineage(row for row in self.rows(thread_id) if row.ns == ns)
            _bound(self._lineages, _LINEAGES_KEPT)
        return self._lineages[key]

    def rows(self, thread_id: str) -> list[CheckpointRow]:
        """The skeleton of a thread, all namespaces, ascending; of the last thread asked for it is kept."""
        if self._rows is None or self._rows[0] != thread_id:
            self._rows = (thread_id, list(self.saver.rows(thread_id)))
        return self._rows[1]

    def head(self, thread_id: str, ns: str = "") -> CheckpointRow:
        """What the saver itself gives when no id is named."""
        rows = self.saver.newest(thread_id, ns, 1)
        if not rows:
            known = [name for name in self.saver.namespaces(thread_id) if name]
            near = [name for name in known if ns and name.startswith(ns)] or known
            hint = "--ns takes one of these" if near else "it has no subgraphs: leave --ns out"
            raise CheckpointNotFound(
                f"thread {thread_id!r} has no checkpoint in namespace {ns!r}", hint=hint, candidates=near[:_LISTED]
            )
        return rows[0]

    def namespace(self, thread_id: str, text: str) -> str:
        """The namespace of this name, else the only one that begins so, else the name as it is.

        Raises:
            UsageError: there are several.
        """
        if not text or self.saver.newest(thread_id, text, 1):
            return text
        from ckpt_cli.history.tasks.nesting import named

        known = self.saver.namespaces(thread_id)
        return named(known, text) if any(ns.startswith(text.rstrip("…")) for ns in known) else text

    def resolve(self, thread_id: str, text: str = "@", ns: str = "") -> CheckpointRow:
        """The checkpoint that a revision names in a namespace of a thread; see `history.lineage.revisions`."""
        self.thread(thread_id)
        return Finder(_Namespace(self, thread_id, self.namespace(thread_id, ns)), self.clock).find(text)

    def resolve_anywhere(self, thread_id: str, text: str, ns: str = "") -> CheckpointRow:
        """Like `resolve`, where ``THREAD:REV`` may name a checkpoint of another thread.

        Raises:
            UsageError: several existing threads fit.
        """
        own = self.saver.row(Ref(thread_id, ns, text)) if thread_id else None
        if own is not None or is_own(text):
            return own or self.resolve(thread_id, text, ns)
        splits = [(thread, rev) for thread, rev in split_thread(text) if self.saver.thread(thread) is not None]
        if len(splits) > 1:
            splits = [split for split in splits if self._fits(*split, ns)] or splits
        elif not splits and (other := next((t for t, rev in split_thread(text) if is_own(rev)), None)) is not None:
            self.thread(other)  # raises: there is none of that name, and these are near
        if len(splits) > 1:
            shown = [f"{rev} of thread {thread!r}" for thread, rev in splits]
            raise UsageError(f"{text!r} can be read in {len(splits)} ways", candidates=shown)
        return self.resolve(*(splits[0] if splits else (thread_id, text)), ns)

    def _fits(self, thread_id: str, text: str, ns: str) -> bool:
        try:
            self.resolve(thread_id, text, ns)
        except (UsageError, CheckpointNotFound):
            return False
        return True

    def short(self, thread_id: str) -> ShortIds:
        """How the checkpoints of a thread, of all its namespaces, are called in tables."""
        if thread_id not in self._short:
            self._short[thread_id] = ShortIds(row.checkpoint_id for row in self.rows(thread_id))
            _bound(self._short, _LINEAGES_KEPT)
        return self._short[thread_id]

    def state(self, ref: Ref) -> State:
        """One checkpoint, decoded.

        Raises:
            CheckpointNotFound: no such row.
            PayloadCorrupt: nothing of it can be decoded; KeyMissing where a key would help.
        """
        if ref not in self._states:
            state = next(self.states([ref]), None)
            if state is None:
                raise CheckpointNotFound(f"no checkpoint {ref.checkpoint_id} in thread {ref.thread_id!r}")
            self._states[ref] = state
            _bound(self._states, _STATES_KEPT)
        return self._states[ref]

    def states(self, refs: Iterable[Ref]) -> Iterator[State]:
        """Many checkpoints in the order asked, one in memory at a time."""
        for checkpoint in self.saver.checkpoints(refs):
            yield self.decode(checkpoint)

    def decode(self, checkpoint: Checkpoint) -> State:
        """A stored checkpoint as a `State`, whichever way the engine keeps its channels.

        Raises:
            PayloadCorrupt: the body is no checkpoint object; KeyMissing where a key would help.
        """
        return state_of(checkpoint, self.codec.decode, self._sends_written_on)

    def _sends_written_on(self, ref: Ref) -> list[Any]:
        """Shallow savers keep a parent's writes, not its id, beside their one checkpoint."""
        ids = [ref.checkpoint_id] if ref.checkpoint_id or Ability.BRANCHES in self.saver.abilities else None
        kept = self.writes_by_checkpoint(ref.thread_id, ref.ns, ids).values()
        return [write.value for writes in kept for write in writes if write.channel == TASKS]

    def snapshot(self, ref: Ref) -> Snapshot:
        """What runs next at a checkpoint, its tasks and interrupts, as ``graph.get_state`` tells them.

        Raises:
            CheckpointNotFound, PayloadCorrupt: as `state`.
        """
        around = Around(self, ref)
        return snapshot(
            self.state(ref),
            self.writes(ref),
            consumed=around.consumed,
            history=around.others,
            namespaces=around.namespaces,
            ended=around.returned,
            below=lambda ns: self.writes(self.head(ref.thread_id, ns).ref),
        )

    def names(self, ref: Ref, written: list[TaskWrite] | None = None) -> Names:
        """Which nodes the tasks are that left writes on a checkpoint; neighbours are asked only where it can't tell."""
        around, writes = Around(self, ref), self.writes(ref) if written is None else written
        known = Wiring(self.state(ref), around.others)
        names = Names(self.state(ref), writes, known, around.namespaces)
        tasks = {write.task_id for write in writes if write.task_id != NULL_TASK}
        if all(names.node(task_id) for task_id in tasks if names.of_this_step(task_id)):
            return names
        known.learn_until(lambda: False)
        return Names(self.state(ref), writes, known, around.namespaces)

    def values(self, ref: Ref) -> dict[str, Any]:
        """The user's channels that hold something, as the graph sees them: delta channels rebuilt, snapshots opened.

        Raises:
            CheckpointNotFound, PayloadCorrupt: as `state`.
        """
        state = self.state(ref)
        rebuilt = {channel: found.value for channel, found in self.deltas(ref).items()}
        held = {channel: unwrapped(value) for channel, value in state.values.items()}
        return {c: rebuilt[c] if c in rebuilt else held[c] for c in user_channels(state) if c in rebuilt or c in held}

    def deltas(self, ref: Ref) -> "dict[str, Rebuilt]":
        """The delta channels whose value a checkpoint doesn't store, with the seed and writes that make it."""
        state = self.state(ref)
        unstored = missing(state)
        if not unstored:
            return {}
        from ckpt_cli.history.reducers.delta import rebuild

        around = Around(self, ref)
        return rebuild(state, unstored, around.ancestors(), around.ahead)

    def value(self, payload: Payload) -> Any:
        """One payload, decoded; never raises (BROKEN nodes say what is wrong)."""
        return self.codec.decode(payload)

    def writes(self, ref: Ref, *, values: int | None = None) -> list[TaskWrite]:
        """The writes stored on one checkpoint, in canonical order."""
        found = self.writes_by_checkpoint(ref.thread_id, ref.ns, [ref.checkpoint_id], values=values)
        return found.get(ref.checkpoint_id, [])

    def writes_by_checkpoint(
        self, thread_id: str, ns: str, checkpoint_ids: Collection[str] | None = None, *, values: int | None = None
    ) -> dict[str, list[TaskWrite]]:
        """The writes of a namespace by the checkpoint they are stored on; `values` as in `Saver.writes`."""
        found: dict[str, list[TaskWrite]] = {}
        for row in self.saver.writes(thread_id, ns, checkpoint_ids, values=values):
            found.setdefault(row.checkpoint_id, []).append(TaskWrite(row, self.codec.decode))
        return found


def _bound(kept: OrderedDict[Any, Any], most: int) -> None:
    """Forget the oldest of what is kept, so that memory doesn't grow with the database."""
    while len(kept) > most:
        kept.popitem(last=False)


class _Namespace:
    """One namespace as `history.lineage.finder.Rows`."""

    def __init__(self, reader: Reader, thread_id: str, ns: str) -> None:
        self._reader = reader
        self._thread_id = thread_id
        self._ns = ns

    def row(self, checkpoint_id: str) -> CheckpointRow | None:
        return self._reader.saver.row(Ref(self._thread_id, self._ns, checkpoint_id))

    def head(self) -> CheckpointRow:
        return self._reader.head(self._thread_id, self._ns)

    def lineage(self) -> Lineage:
        return self._reader.lineage(self._thread_id, self._ns)

    def tags(self) -> Mapping[str, str]:
        return self._reader.tags(self._thread_id, self._ns)

    def steps(self, checkpoint_ids: Iterable[str]) -> dict[str, int]:
        refs = [Ref(self._thread_id, self._ns, checkpoint_id) for checkpoint_id in checkpoint_ids]
        recorded = ((ref, self._reader.value(data)) for ref, data in self._reader.saver.metadata(refs))
        steps = {ref.checkpoint_id: named(metadata).get("step") for ref, metadata in recorded}
        return {checkpoint_id: step for checkpoint_id, step in steps.items() if isinstance(step, int)}

    def short(self) -> ShortIds:
        return self._reader.short(self._thread_id)


def _visible(name: str) -> str:
    return name if name == name.strip() else repr(name)
