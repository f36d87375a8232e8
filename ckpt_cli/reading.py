"""`Reader`: rows, revisions, states, writes, each decoded once; unknown threads (near names), namespaces.

It joins a saver with serde; each part is decoded on demand, and the caches are bounded.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from time import time
from typing import Any, TypeVar

from ckpt_cli.errors import CheckpointNotFound, PayloadCorrupt, ThreadNotFound, UsageError
from ckpt_cli.history.lineage.finder import Finder
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.lineage.revisions import is_only_a_revision, split_thread
from ckpt_cli.history.lineage.short_ids import ShortIds
from ckpt_cli.history.state.channels import TASKS
from ckpt_cli.layouts import named, state_of
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Ref, Thread
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.paging import with_prefetch
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.state import State, TaskWrite

T = TypeVar("T")
Tags = Callable[[str, str], Mapping[str, str]]
"""The tags of a namespace of a thread: name to checkpoint id."""

_STATES_KEPT = 8
_LINEAGES_KEPT = 64
_LISTED = 8
_COMPARED = 2000  # threads compared for "did you mean"


class Reader:
    """Reads one database. Values are decoded when they are used; the caches are bounded."""

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
        self._pinned: str | None = None

    def moment(self, read: Callable[[], T]) -> T:
        """The result of `read`, which sees the database at one moment (`Saver.moment`).

        The caches are emptied first, except for the tree of a pinned thread.
        """

        def fresh() -> T:
            self._states.clear()
            for key in [key for key in self._lineages if key[0] != self._pinned]:
                del self._lineages[key]
            for thread_id in self._short.keys() - {self._pinned}:
                del self._short[thread_id]
            if self._rows is not None and self._rows[0] != self._pinned:
                self._rows = None
            return read()

        return self.saver.moment(fresh)

    def pin(self, thread_id: str) -> None:
        """Keep the tree of one thread from moment to moment, as it is when it is first read.

        A command that reads a long line page by page would otherwise read the whole tree again for each page.
        """
        self._pinned = thread_id

    def thread(self, thread_id: str) -> Thread:
        """One thread by its exact id.

        Raises:
            ThreadNotFound: with the nearest ids as candidates.
        """
        thread = self.saver.thread(thread_id)
        if thread is None:
            from difflib import get_close_matches

            known = [t.thread_id for t in islice(self.saver.threads(), _COMPARED)]
            near = get_close_matches(thread_id, known, n=3, cutoff=0.6)
            hint = f"did you mean {_visible(near[0])}?" if near else "`ckpt threads` lists what there is"
            raise ThreadNotFound(f"no thread {thread_id!r}", hint=hint, candidates=near)
        return thread

    def lineage(self, thread_id: str, ns: str = "") -> Lineage:
        """The tree of one namespace, from ids and parents alone.

        All rows of the thread are read, because short ids need them.
        """
        key = (thread_id, ns)
        if key not in self._lineages:
            self._lineages[key] = Lineage(row for row in self.rows(thread_id) if row.ns == ns)
            _bound(self._lineages, _LINEAGES_KEPT)
        return self._lineages[key]

    def rows(self, thread_id: str) -> list[CheckpointRow]:
        """The rows of a thread in all its namespaces, ascending; those of the last thread are cached."""
        if self._rows is None or self._rows[0] != thread_id:
            self._rows = (thread_id, list(self.saver.rows(thread_id)))
        return self._rows[1]

    def head(self, thread_id: str, ns: str = "") -> CheckpointRow:
        """The newest row, which LangGraph's saver returns for a config without a checkpoint id.

        Raises:
            CheckpointNotFound: the namespace has no checkpoint; other namespaces of the thread are candidates.
        """
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
        """The namespace named `text`, else the only namespace that begins with `text`, else `text` unchanged.

        Raises:
            UsageError: several namespaces begin with `text`.
        """
        if not text or self.saver.newest(thread_id, text, 1):
            return text
        from ckpt_cli.history.tasks import nesting

        known = self.saver.namespaces(thread_id)
        return nesting.named(known, text) if any(ns.startswith(text.rstrip("…")) for ns in known) else text

    def resolve(self, thread_id: str, text: str = "@", ns: str = "") -> CheckpointRow:
        """The checkpoint that a revision names in a namespace of a thread; see `history.lineage.revisions`."""
        self.thread(thread_id)
        return Finder(_Namespace(self, thread_id, self.namespace(thread_id, ns)), self.clock).find(text)

    def resolve_anywhere(self, thread_id: str, text: str, ns: str = "") -> CheckpointRow:
        """Like `resolve`, where ``THREAD:REV`` may name a checkpoint of another thread.

        Raises:
            UsageError: the text can be read as a checkpoint of several existing threads.
        """
        own = self.saver.row(Ref(thread_id, ns, text)) if thread_id else None
        if own is not None or is_only_a_revision(text):
            return own or self.resolve(thread_id, text, ns)
        splits = [(thread, rev) for thread, rev in split_thread(text) if self.saver.thread(thread) is not None]
        if len(splits) > 1:
            splits = [split for split in splits if self._fits(*split, ns)] or splits
        elif (
            not splits
            and (other := next((t for t, rev in split_thread(text) if is_only_a_revision(rev)), None)) is not None
        ):
            self.thread(other)  # raises ThreadNotFound with the nearest names
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
        """The short ids of a thread's checkpoints in all its namespaces, as tables show them."""
        if thread_id not in self._short:
            self._short[thread_id] = ShortIds(row.checkpoint_id for row in self.rows(thread_id))
            _bound(self._short, _LINEAGES_KEPT)
        return self._short[thread_id]

    def state(self, ref: Ref) -> State:
        """One checkpoint, decoded.

        Raises:
            CheckpointNotFound: no such row.
            PayloadCorrupt: no part of it can be decoded; KeyMissing if an encryption key would help.
        """
        if ref not in self._states:
            state = next(self.states([ref]), None)
            if state is None:
                raise CheckpointNotFound(f"no checkpoint {ref.checkpoint_id} in thread {ref.thread_id!r}")
            self._states[ref] = state
            _bound(self._states, _STATES_KEPT)
        return self._states[ref]

    def readable(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, State | PayloadCorrupt, int]]:
        """These checkpoints, decoded, or the reason why one can't be decoded; missing ones are left out.

        Each comes with the bytes that were read for it. Those that `state` gave lately come first, and cost nothing.
        The others are read in one go, and are cached for `state`.
        """
        cached = [self._states[ref] for ref in refs if ref in self._states]
        yield from ((state.ref, state, 0) for state in cached)
        known = {state.ref for state in cached}
        for checkpoint in self.saver.checkpoints([ref for ref in refs if ref not in known]):
            ref = checkpoint.row.ref
            size = sum(len(payload.data) for payload in (checkpoint.body, *(checkpoint.channels or {}).values()))
            try:
                self._states[ref] = state = self.decode(checkpoint)
            except PayloadCorrupt as error:
                yield ref, error, size
                continue
            _bound(self._states, _STATES_KEPT)
            yield ref, state, size

    def states(self, refs: Iterable[Ref]) -> Iterator[State]:
        """Decoded checkpoints in the order of `refs`, one in memory at a time."""
        for checkpoint in self.saver.checkpoints(refs):
            yield self.decode(checkpoint)

    def decode(self, checkpoint: Checkpoint) -> State:
        """A stored checkpoint as a `State`, in whichever layout the engine keeps its channels.

        Raises:
            PayloadCorrupt: the body is no checkpoint object; KeyMissing if an encryption key would help.
        """
        return state_of(checkpoint, self.codec.decode, self._sends_written_on)

    def _sends_written_on(self, ref: Ref) -> list[Any]:
        """The Sends among the writes stored on a checkpoint.

        Shallow savers keep the parent's writes beside their one checkpoint, but not the parent's id.
        """
        ids = [ref.checkpoint_id] if ref.checkpoint_id or Ability.BRANCHES in self.saver.abilities else None
        stored = self.writes_by_checkpoint(ref.thread_id, ref.ns, ids).values()
        return [write.value for writes in stored for write in writes if write.channel == TASKS]

    def value(self, payload: Payload) -> Any:
        """One payload, decoded. It never raises: a BROKEN node says what is wrong."""
        return self.codec.decode(payload)

    def writes(self, ref: Ref, *, values: int | None = None) -> list[TaskWrite]:
        """The writes stored on one checkpoint, in canonical order."""
        by_checkpoint = self.writes_by_checkpoint(ref.thread_id, ref.ns, [ref.checkpoint_id], values=values)
        return by_checkpoint.get(ref.checkpoint_id, [])

    def writes_by_checkpoint(
        self, thread_id: str, ns: str, checkpoint_ids: Collection[str] | None = None, *, values: int | None = None
    ) -> dict[str, list[TaskWrite]]:
        """Checkpoint id to the writes stored on that checkpoint, in one namespace; `values` as in `Saver.writes`."""
        by_checkpoint: dict[str, list[TaskWrite]] = {}
        for row in self.saver.writes(thread_id, ns, checkpoint_ids, values=values):
            by_checkpoint.setdefault(row.checkpoint_id, []).append(TaskWrite(row, self.codec.decode))
        return by_checkpoint


def _bound(cache: OrderedDict[Any, Any], limit: int) -> None:
    """Drop the oldest entries of a cache, so that memory doesn't grow with the database."""
    while len(cache) > limit:
        cache.popitem(last=False)


class _Namespace:
    """One namespace of a thread, as the protocol `history.lineage.finder.Rows` needs it."""

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
