"""What is read for lines of `log` and `tree`, and no more: tips, Sends, the states around each line."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import islice

from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.history.lineage import ids
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.tasks.branch_writes import BranchWrites, branch_writes
from ckpt_cli.history.tasks.metadata_notes import note
from ckpt_cli.history.tasks.snapshot import Snapshot
from ckpt_cli.history.tasks.step_nodes import StepNodes
from ckpt_cli.history.tasks.steps import Steps
from ckpt_cli.history.tasks.write_attribution import LOOPS, UPDATES, WriteAttribution
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Ref
from ckpt_cli.queries.edited_siblings import edited_sibling
from ckpt_cli.reading import Reader
from ckpt_cli.values.state import State

VALUE = 4096
"""The value of a write with more bytes isn't read; its line shows the size, not the change."""
_TIPS = 12  # besides the head, this many tips are decoded for their status and next nodes
_SENDS = 200  # the Sends of this many steps are read together, for the names of the called nodes
_LONG_SENDS = 8  # for at most this many steps, even Sends longer than VALUE are read
_STATE_BYTES = 16_000_000  # a larger state isn't read, unless it is the head's
_UNNAMED = 12  # the nodes of at most this many steps are named by the states around them, except in langgraph 0.0
_FIRST_PORTION = 50  # the states of this many lines are read together at first
_LARGEST_PORTION = 500
_PORTION_BYTES = 4_000_000
_STORED = (LOOPS, UPDATES, frozenset({"input"}))  # of each of these, only the first child has its writes stored


class StepReads:
    """Reads one namespace of one thread, and keeps the result.

    Attributes:
        attribution: the metadata and writes that were read, and which writes made which checkpoint.
        step_nodes: the nodes that made each checkpoint.
        steps: for each checkpoint, the changes of the step that made it.
        snapshots: the tasks and next nodes of the decoded tips, by checkpoint id.
        problems: by checkpoint id, why the checkpoint or a part of it can't be read.
    """

    def __init__(self, reader: Reader, thread_id: str, ns: str = "") -> None:
        self.reader = reader
        self.thread_id = thread_id
        self.ns = ns
        self.lineage: Lineage = reader.lineage(thread_id, ns)
        self.attribution = WriteAttribution(self.lineage)
        self.step_nodes = StepNodes(
            self.attribution, ns, lambda: {row.ns for row in reader.rows(thread_id)}, self.small_state
        )
        self.steps = Steps(self.attribution)
        self.snapshots: dict[str, Snapshot] = {}
        self.problems: dict[str, str] = {}
        self._outlined = False

    def ref(self, checkpoint_id: str) -> Ref:
        """The full reference of a checkpoint of this namespace."""
        return Ref(self.thread_id, self.ns, checkpoint_id)

    def read_lines(self, checkpoint_ids: Sequence[str], *, folded: Sequence[str] = ()) -> None:
        """Read the metadata, writes and tips that the lines about these checkpoints show.

        After `read_outline` no more metadata is read. The states on both sides of each step are read by `portions`.

        Args:
            checkpoint_ids: the checkpoints that get a line.
            folded: other checkpoints, whose nodes are named in a line about a folded run.
        """
        if not self._outlined:
            self.read_notes(checkpoint_ids)
        self.read_writes(checkpoint_ids)
        self._read_sends([*checkpoint_ids, *folded])
        self._read_tips(checkpoint_ids)
        self._name_nodes(sorted([*checkpoint_ids, *folded]))

    def read_outline(self, checkpoint_ids: Iterable[str]) -> None:
        """Read the metadata of these checkpoints, and all writes of the namespace without their values."""
        self.read_notes(checkpoint_ids)
        self.attribution.fill({}, self.reader.writes_by_checkpoint(self.thread_id, self.ns, values=0))
        self._outlined = True

    def read_names(self, checkpoint_ids: Sequence[str]) -> None:
        """Read what names the nodes of these checkpoints: metadata, writes without their values, as few Sends as do."""
        self.read_notes(checkpoint_ids)
        sources = self.attribution.sources(checkpoint_ids)
        self.attribution.fill({}, self.reader.writes_by_checkpoint(self.thread_id, self.ns, sources, values=0))
        self._read_sends(checkpoint_ids)
        self._name_nodes([i for i in sorted(checkpoint_ids) if not ids.is_uuid6(i)])

    def read_tips(self) -> None:
        """Read the tips that show status and next nodes."""
        self._read_tips(self.lineage.tips)

    def read_notes(self, checkpoint_ids: Iterable[str]) -> None:
        """Read the metadata of these checkpoints, and of the relatives that decide which writes made them."""
        refs = [self.ref(i) for i in self.attribution.unread(list(checkpoint_ids))]
        metadata = self.reader.saver.metadata(refs)
        self.attribution.fill({r.checkpoint_id: note(self.reader.value(p), r.checkpoint_id) for r, p in metadata}, {})

    def read_writes(self, checkpoint_ids: Collection[str]) -> None:
        """Read the writes that made these checkpoints: their own and their parents' writes, without long values."""
        sources = self.attribution.sources(checkpoint_ids)
        self.attribution.fill({}, self.reader.writes_by_checkpoint(self.thread_id, self.ns, sources, values=VALUE))

    def portions(self, checkpoint_ids: Sequence[str]) -> Iterator[Sequence[str]]:
        """These checkpoints in portions, each with the states around its steps.

        A portion is so large that its states are about `_PORTION_BYTES` long, as those of the portion before show.
        """
        start, length = 0, _FIRST_PORTION
        while portion := checkpoint_ids[start : start + length]:
            size = self._read_states(portion)
            yield portion
            start += length
            length = max(_FIRST_PORTION, min(_LARGEST_PORTION, length * _PORTION_BYTES // (size or 1)))

    def _read_states(self, checkpoint_ids: Iterable[str]) -> int:
        """Read the states before and after these steps; gives the number of bytes that were read."""
        wanted = [i for i in checkpoint_ids if self._is_small(i)]
        parents = {i: self.lineage.parent(i) for i in wanted}
        ids = sorted({i for pair in parents.items() for i in pair if i is not None and self._is_small(i)})
        states, size = self._states(ids)
        for checkpoint_id in wanted:
            if (state := states.get(checkpoint_id)) is not None:
                is_first = self.lineage.rows[checkpoint_id].parent_id is None
                edited = edited_sibling(self.reader, self.lineage, state)
                parent = states.get(parents[checkpoint_id] or "")
                if parent is not None:
                    self.step_nodes.learn_left_out(state, parent)
                    self.step_nodes.learn_traceless(state, parent)
                taken = partial(self._taken, state, None if edited else parent)
                self.steps.compare(state, edited or parent, taken, is_first=is_first and edited is None)
        return size

    def _taken(self, state: State, parent: State | None) -> BranchWrites:
        """The stored writes that are in this checkpoint and not in its parent.

        Only a first run and a first update have stored writes, so no other sibling is read: there may be thousands.
        """
        if parent is None:
            return BranchWrites([])
        own_id, parent_id = state.ref.checkpoint_id, parent.ref.checkpoint_id
        firsts = (self.attribution.first_with_source(parent_id, source) for source in _STORED)
        older = sorted(i for i in firsts if i is not None and i < own_id)
        stored = self.attribution.writes.get(parent_id, [])
        is_only = len(self.lineage.children[parent_id]) == 1
        return branch_writes(state, parent, stored, None if is_only else lambda: self._states(older)[0].values())

    def _is_small(self, checkpoint_id: str) -> bool:
        return (self.lineage.rows[checkpoint_id].size or 0) <= _STATE_BYTES

    def small_state(self, checkpoint_id: str) -> State | None:
        """A checkpoint, decoded; None if it is very large, can't be read, or isn't in the database."""
        is_here = checkpoint_id in self.lineage.rows and self._is_small(checkpoint_id)
        return self.reader.state_if_readable(self.ref(checkpoint_id)) if is_here else None

    def small_states(self, checkpoint_ids: Iterable[str]) -> Iterator[State]:
        """These checkpoints, decoded, in one go; without the very large, the damaged and the missing ones."""
        refs = [self.ref(i) for i in checkpoint_ids if i in self.lineage.rows and self._is_small(i)]
        return (state for _, state, _ in self.reader.readable(refs) if isinstance(state, State))

    def _states(self, checkpoint_ids: Iterable[str]) -> tuple[dict[str, State], int]:
        """The decoded checkpoints, and the number of bytes that were read.

        If one can't be read, or a part of one, the reason is added to `problems`.
        """
        states, total = {}, 0
        for ref, state, size in self.reader.readable([self.ref(i) for i in checkpoint_ids]):
            total += size
            if isinstance(state, State):
                states[ref.checkpoint_id] = state
                self.step_nodes.learn(state)
            if problem := state.message if isinstance(state, PayloadCorrupt) else state.problem:
                self.problems[ref.checkpoint_id] = problem
        return states, total

    def _read_sends(self, checkpoint_ids: Iterable[str]) -> None:
        """Read Sends until all called nodes are known. Usually a few Sends are enough: task ids identify the others."""
        unknown = [i for i in checkpoint_ids if self.step_nodes.has_unnamed_sends(i)]
        unread = unknown
        while unread:
            self.read_writes(unread[:_SENDS])
            unread = [i for i in unread[_SENDS:] if self.step_nodes.has_unnamed_sends(i)]
        unread = [i for i in unknown if self.step_nodes.has_unnamed_sends(i)]
        for _ in range(_LONG_SENDS):
            if unread:
                ancestors = self.attribution.sources(unread[:1])
                self.attribution.fill({}, self.reader.writes_by_checkpoint(self.thread_id, self.ns, ancestors))
                unread = [i for i in unread[1:] if self.step_nodes.has_unnamed_sends(i)]

    @cached_property
    def _tips_to_read(self) -> set[str]:
        """The head, and the newest other tips that are not very large."""
        head = self.lineage.head
        small = (i for i in reversed(self.lineage.tips) if i != head and self._is_small(i))
        return {*islice(small, _TIPS), *([head] if head is not None else [])}

    def _read_tips(self, checkpoint_ids: Sequence[str]) -> None:
        """Decode the tips among these checkpoints for status and next nodes; if there are many, only the newest."""
        tips = [i for i in checkpoint_ids if i in self._tips_to_read]
        self.reader.saver.expect([self.ref(i) for i in tips])
        for checkpoint_id in tips:
            if checkpoint_id in self._states([checkpoint_id])[0]:
                self.snapshots[checkpoint_id] = Inspection(self.reader, self.ref(checkpoint_id)).snapshot()

    def _name_nodes(self, checkpoint_ids: Sequence[str]) -> None:
        """Name the nodes of these checkpoints, the oldest first: the nodes of a step may name those of the next one.

        If neither writes nor metadata show them, the checkpoints before and after the step are compared: each step of
        langgraph 0.0, and the newest others.
        """
        unnamed = [
            i for i in checkpoint_ids if self.step_nodes.is_unnamed(i) and self.attribution.start_of(i) is not None
        ]
        chosen = [i for i in unnamed if not ids.is_uuid6(i)] or unnamed[-_UNNAMED:]
        pairs = {i: self.attribution.start_of(i) for i in chosen if self._is_small(i)}
        self.reader.saver.expect([self.ref(i) for pair in pairs.items() for i in pair if i])
        for checkpoint_id, before in pairs.items():
            states, _ = self._states([i for i in (before, checkpoint_id) if i])
            if checkpoint_id in states and (not before or before in states):
                self.step_nodes.learn_step(states[checkpoint_id], states.get(before or ""))
