"""`Reader`: revisions, states and writes, each decoded once; `THREAD:REV`; rows are in `row_reading`.

It joins a saver with serde; each part is decoded on demand, and the caches are bounded.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from time import time
from typing import TYPE_CHECKING, Any, TypeVar

from ckpt_cli.errors import CheckpointNotFound, PayloadCorrupt, UsageError
from ckpt_cli.history.lineage.finder import Finder
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.lineage.revisions import is_only_a_revision, split_thread
from ckpt_cli.history.lineage.short_ids import ShortIds
from ckpt_cli.history.state.channels import TASKS
from ckpt_cli.history.tasks.javascript_errors import mark_no_failures
from ckpt_cli.layouts import named, state_of
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Ref
from ckpt_cli.row_reading import RowReader, Tags, bound
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.contract import Saver
from ckpt_cli.serde.codec import Codec
from ckpt_cli.shell_words import argument
from ckpt_cli.values.state import State, TaskWrite

if TYPE_CHECKING:
    from ckpt_cli.revision_search import LineSearch

T = TypeVar("T")
_STATES_KEPT = 8


class Reader(RowReader):
    """Reads one database. Values are decoded when they are used; the caches are bounded."""

    def __init__(
        self, saver: Saver, codec: Codec, clock: Callable[[], float] = time, tags: Tags = lambda _thread, _ns: {}
    ) -> None:
        super().__init__(saver, clock, tags)
        self.codec = codec
        self._states: OrderedDict[Ref, State] = OrderedDict()
        self.of_moment: dict[object, Any] = {}
        """What others computed of this moment and want to have again, by keys of theirs; emptied with the caches."""

    def moment(self, read: Callable[[], T]) -> T:
        """The result of `read`, which sees the database at one moment; the caches are emptied first."""

        def fresh() -> T:
            self._states.clear()
            self.of_moment.clear()
            return read()

        return super().moment(fresh)

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
        try:
            return self.resolve(*(splits[0] if splits else (thread_id, text)), ns)
        except CheckpointNotFound as error:
            if splits or self.saver.thread(text) is None:
                raise
            hint = f"{text} is a thread: {argument(f'{text}:@')} names its head"
            raise CheckpointNotFound(error.message, hint=hint) from error

    def _fits(self, thread_id: str, text: str, ns: str) -> bool:
        try:
            self.resolve(thread_id, text, ns)
        except (UsageError, CheckpointNotFound):
            return False
        return True

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
            bound(self._states, _STATES_KEPT)
        return self._states[ref]

    def state_if_readable(self, ref: Ref) -> State | None:
        """One checkpoint, decoded; None if it isn't stored or can't be decoded."""
        with suppress(CheckpointNotFound, PayloadCorrupt):
            return self.state(ref)
        return None

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
                state = self.decoded(checkpoint)
            except PayloadCorrupt as error:
                yield ref, error, size
                continue
            yield ref, state, size

    def decoded(self, checkpoint: Checkpoint) -> State:
        """Like `decode`; the state is cached for `state`."""
        self._states[checkpoint.row.ref] = state = self.decode(checkpoint)
        bound(self._states, _STATES_KEPT)
        return state

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
        for writes in by_checkpoint.values():
            mark_no_failures(writes)
        return by_checkpoint


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

    def search(self, line: Sequence[str]) -> "LineSearch":
        from ckpt_cli.revision_search import LineSearch

        return LineSearch(self._reader, self._thread_id, self._ns, line)
