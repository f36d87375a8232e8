"""Reads the parts of one namespace that the lines of `log` and `tree` need, and no more."""

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import islice

from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.history.lineage import ids
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.state.channels import START
from ckpt_cli.history.tasks.snapshot import Snapshot
from ckpt_cli.history.tasks.step_nodes import StepNodes
from ckpt_cli.history.tasks.steps import BACK, PROVEN, Steps
from ckpt_cli.history.tasks.write_attribution import WriteAttribution, note
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader
from ckpt_cli.values.state import State

VALUE = 4096
"""The value of a write with more bytes isn't read; its line shows the size, not the change."""
_TIPS = 12  # besides the head, this many tips are decoded for their status and next nodes
_CHUNK = 8  # this many ancestors are read first to find the previous value of a channel
_SENDS = 200  # the Sends of this many steps are read together, for the names of the called nodes
_LONG_SENDS = 8  # for at most this many steps, even Sends longer than VALUE are read
_EDITS = 12  # at most this many updates are compared with their parents
_LEARNED = 3  # habits are learned from this many states of a tip's line: the tip, and states older than its edits
_EDIT_BYTES = 2_000_000  # a larger update isn't compared with its parent
_TIP_BYTES = 16_000_000  # a larger tip is only read if it is the head


class StepReads:
    """Reads one namespace of one thread, and keeps the result. A habit is the way a channel treats its writes.

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
        self.step_nodes = StepNodes(self.attribution, ns, lambda: {row.ns for row in reader.rows(thread_id)})
        self.steps = Steps(self.attribution)
        self.snapshots: dict[str, Snapshot] = {}
        self.problems: dict[str, str] = {}

    def ref(self, checkpoint_id: str) -> Ref:
        """The full reference of a checkpoint of this namespace."""
        return Ref(self.thread_id, self.ns, checkpoint_id)

    def read_lines(
        self, checkpoint_ids: Sequence[str], *, folded: Sequence[str] = (), compared_updates: Sequence[str]
    ) -> None:
        """Read everything that the lines about these checkpoints show.

        After `read_outline` no more metadata is read.

        Args:
            checkpoint_ids: the checkpoints that get a line.
            folded: other checkpoints, whose nodes are named in a line about a folded run.
            compared_updates: checkpoints, oldest first; the updates among them are compared with their parents.
        """
        if not self.steps.outlined:
            self.read_notes(checkpoint_ids)
        self.read_writes(checkpoint_ids)
        self._read_evidence(checkpoint_ids)
        self._read_sends([*checkpoint_ids, *folded])
        self._read_tips(checkpoint_ids)
        self._read_unexplained(compared_updates)
        self._name_nodes(sorted([*checkpoint_ids, *folded]))

    def read_outline(self, checkpoint_ids: Iterable[str]) -> None:
        """Read the metadata of these checkpoints, and all writes of the namespace without their values."""
        self.read_notes(checkpoint_ids)
        self.attribution.fill({}, self.reader.writes_by_checkpoint(self.thread_id, self.ns, values=0))
        self.steps.outlined = True

    def read_notes(self, checkpoint_ids: Iterable[str]) -> None:
        """Read the metadata of these checkpoints, and of the relatives that decide which writes made them."""
        refs = [self.ref(i) for i in self.attribution.relatives(checkpoint_ids) if i not in self.attribution.notes]
        metadata = self.reader.saver.metadata(refs)
        self.attribution.fill({r.checkpoint_id: note(self.reader.value(p), r.checkpoint_id) for r, p in metadata}, {})

    def read_writes(self, checkpoint_ids: Collection[str]) -> None:
        """Read the writes that made these checkpoints: their own and their parents' writes, without long values."""
        sources = self.attribution.sources(checkpoint_ids)
        self.attribution.fill({}, self.reader.writes_by_checkpoint(self.thread_id, self.ns, sources, values=VALUE))
        self.steps.known.update(checkpoint_ids)

    def _read_origins(self, checkpoint_ids: Iterable[str]) -> None:
        unknown = [i for i in checkpoint_ids if i not in self.steps.known]
        if unknown:
            self.read_notes(unknown)
            self.read_writes(unknown)

    def _read_evidence(self, checkpoint_ids: Sequence[str]) -> None:
        """Read enough that a line has the same text whichever part of the list is shown.

        First, this reads the states that prove the channels' habits: the head, the tips of the checkpoints' own
        branches, and the states older than the edits of these branches. Second, it reads enough ancestors of each
        checkpoint to know the values that its step replaced.
        """
        carriers = {self.lineage.carrier(i) for i in checkpoint_ids} & self._tips_to_read | {self.lineage.head or ""}
        tips = [i for i in carriers if i in self.lineage and not self.steps.has_learned(i)]
        self._read_origins({i for tip in tips for i in islice(self.lineage.line(tip), PROVEN)})
        self.reader.saver.expect([self.ref(tip) for tip in tips])
        for tip in tips:
            self._learn_habits(tip)
        self._read_replaced_values(checkpoint_ids)

    def _learn_habits(self, tip: str) -> None:
        """Learn habits from a tip, and from states of its line that are older than edits: an edit hides habits."""
        at: str | None = tip
        for _ in range(_LEARNED):
            if at is None or (at != tip and (self.lineage.rows[at].size or 0) > _EDIT_BYTES):
                return
            with suppress(PayloadCorrupt):
                self.steps.learn(self._state(at), tip)
            at = self.steps.below_edits(at)
            if at is not None:
                self._read_origins(islice(self.lineage.line(at), PROVEN))

    def _read_replaced_values(self, checkpoint_ids: Sequence[str]) -> None:
        """Read ancestors until the replaced values are known. An update without writes is compared with its parent."""
        size, visited = _CHUNK, set[str]()
        while ancestors := {at for i in checkpoint_ids if (at := self.steps.stop_above(i)) is not None} - visited:
            already_read = ancestors & self.steps.known
            self._compare_updates(at for at in sorted(already_read) if self._is_update(at) and len(visited) < _EDITS)
            visited |= already_read
            self._read_origins({i for at in ancestors - already_read for i in islice(self.lineage.line(at), size)})
            size = min(2 * size, BACK)

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
        small = (i for i in reversed(self.lineage.tips) if (self.lineage.rows[i].size or 0) <= _TIP_BYTES and i != head)
        return {*islice(small, _TIPS), *([head] if head is not None else [])}

    def _read_tips(self, checkpoint_ids: Sequence[str]) -> None:
        """Decode the tips among these checkpoints for status and next nodes; if there are many, only the newest."""
        tips = [self.ref(i) for i in checkpoint_ids if i in self._tips_to_read]
        self.reader.saver.expect(tips)
        for ref in tips:
            with suppress(PayloadCorrupt):
                self._state(ref.checkpoint_id)
                self.snapshots[ref.checkpoint_id] = Inspection(self.reader, ref).snapshot()
                self._find_changes(ref)

    def _read_unexplained(self, checkpoint_ids: Sequence[str]) -> None:
        """Compare the newest updates that no writes explain with their parents, and read an entrypoint's inputs."""
        # LangGraph never stores the writes of an input. It stores the writes of an update only if the thread had not
        # continued from there.
        unknown = [i for i in checkpoint_ids if self.steps.changes(i) is None]
        self._compare_updates([i for i in unknown if self._is_update(i)][-_EDITS:])
        inputs = [self.ref(i) for i in unknown if self.attribution.note(i).source == "input"][-_EDITS:]
        self.reader.saver.expect(inputs)
        for ref in inputs:
            if (self.lineage.rows[ref.checkpoint_id].size or 0) <= _EDIT_BYTES:
                with suppress(PayloadCorrupt):
                    self._find_changes(ref)

    def _name_nodes(self, checkpoint_ids: Sequence[str]) -> None:
        """Name the nodes of these checkpoints, the oldest first: the nodes of a step may name those of the next one.

        If neither writes nor metadata show them, the checkpoints before and after the step are compared: each step of
        langgraph 0.0, and the newest others.
        """
        unnamed = [
            i for i in checkpoint_ids if self.step_nodes.is_unnamed(i) and self.step_nodes.start_of(i) is not None
        ]
        chosen = [i for i in unnamed if not ids.is_uuid6(i)] or unnamed[-_EDITS:]
        pairs = {i: self.step_nodes.start_of(i) for i in chosen if (self.lineage.rows[i].size or 0) <= _EDIT_BYTES}
        self.reader.saver.expect([self.ref(i) for pair in pairs.items() for i in pair if i])
        for checkpoint_id, before in pairs.items():
            with suppress(PayloadCorrupt):
                self.step_nodes.learn_step(self._state(checkpoint_id), self._state(before) if before else None)

    def _compare_updates(self, compared_updates: Iterable[str]) -> None:
        small = [i for i in compared_updates if (self.lineage.rows[i].size or 0) <= _EDIT_BYTES]
        pairs = [i for update in small for i in (update, self.lineage.parent(update)) if i is not None]
        self.reader.saver.expect([self.ref(i) for i in dict.fromkeys(pairs)])
        for checkpoint_id in small:
            with suppress(PayloadCorrupt):
                self._compare_with_parent(checkpoint_id)

    def _is_update(self, checkpoint_id: str) -> bool:
        return self.attribution.note(checkpoint_id).source == "update"

    def _compare_with_parent(self, checkpoint_id: str) -> None:
        parent = self.lineage.parent(checkpoint_id)
        if parent is not None and (self.lineage.rows[parent].size or 0) <= _TIP_BYTES:
            self.steps.compare(self._state(checkpoint_id), self._state(parent))

    def _state(self, checkpoint_id: str) -> State:
        """Decode one checkpoint; if a part of it can't be read, the reason is added to `problems`.

        Raises:
            PayloadCorrupt: no part of it can be read.
        """
        try:
            state = self.reader.state(self.ref(checkpoint_id))
        except PayloadCorrupt as error:
            self.problems[checkpoint_id] = error.message
            raise
        if problem := state.problem:
            self.problems[checkpoint_id] = problem
        self.step_nodes.learn(state)
        return state

    def _find_changes(self, ref: Ref) -> None:
        """Find the changes of a decoded checkpoint's step, if its writes don't show them."""
        state = self.reader.state(ref)
        source = self.attribution.note(ref.checkpoint_id).source
        if source == "fork" or self.steps.changes(ref.checkpoint_id) is not None:
            return
        if source == "input" and START in state.values:
            self.steps.add_input(state)
        else:
            self._compare_with_parent(ref.checkpoint_id)
