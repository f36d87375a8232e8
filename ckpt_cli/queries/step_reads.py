"""Reads what the lines of `log` and `tree` need of one namespace, and no more."""

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import islice

from ckpt_cli.errors import PayloadCorrupt
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
"""Bytes of a write's value; a longer one isn't read to find what it changed: its size is shown."""
_TIPS = 12  # tips beside the head that are decoded for their status and next nodes
_CHUNK = 8  # checkpoints up a line that are read first, in search of the previous value of a channel
_SENDS = 200  # steps made by Sends whose values are read together, for the names of their nodes
_LONG_SENDS = 8  # steps whose Sends are longer than VALUE and are read all the same
_EDITS = 12  # updates that are compared with their parents
_LEARNED = 3  # states on a tip's line that habits are learned from: the tip, and those below the newest edits
_EDIT_BYTES = 2_000_000
_TIP_BYTES = 16_000_000  # a larger tip is only read if it is the head


class StepReads:
    """What was read of one namespace of one thread.

    Attributes:
        attribution: the metadata and writes that were read, and which writes made which checkpoint.
        step_nodes: the nodes that made each checkpoint.
        steps: what the step that made each checkpoint changed.
        snapshots: of the tips that were decoded, by checkpoint id.
        problems: why a checkpoint, or a part of it, can't be read, by checkpoint id.
    """

    def __init__(self, reader: Reader, thread_id: str, ns: str = "") -> None:
        self.reader = reader
        self.thread_id = thread_id
        self.ns = ns
        self.lineage: Lineage = reader.lineage(thread_id, ns)
        self.attribution = WriteAttribution(self.lineage)
        self.step_nodes = StepNodes(self.attribution, ns)
        self.steps = Steps(self.attribution)
        self.snapshots: dict[str, Snapshot] = {}
        self.problems: dict[str, str] = {}

    def ref(self, checkpoint_id: str) -> Ref:
        """The full name of one of its checkpoints."""
        return Ref(self.thread_id, self.ns, checkpoint_id)

    def read_lines(self, checkpoint_ids: Sequence[str], *, folded: Sequence[str] = (), edits: Sequence[str]) -> None:
        """Read what a line about each of these checkpoints shows.

        After `read_outline` the metadata that was left out stays unread.

        Args:
            checkpoint_ids: the checkpoints that get a line.
            folded: more checkpoints of which only the nodes are named.
            edits: the checkpoints among which updates are compared with their parents, oldest first.
        """
        if not self.steps.outlined:
            self.read_notes(checkpoint_ids)
        self.read_writes(checkpoint_ids)
        self._read_evidence(checkpoint_ids)
        self._read_sends([*checkpoint_ids, *folded])
        self._read_tips(checkpoint_ids)
        self._read_edits(edits)

    def read_outline(self, checkpoint_ids: Iterable[str]) -> None:
        """Read the metadata of these, and which tasks wrote to which channels everywhere, without values."""
        self.read_notes(checkpoint_ids)
        self.attribution.fill({}, self.reader.writes_by_checkpoint(self.thread_id, self.ns, values=0))
        self.steps.outlined = True

    def read_notes(self, checkpoint_ids: Iterable[str]) -> None:
        """Read the metadata of these, and of the relatives that decide which writes made them."""
        refs = [self.ref(i) for i in self.attribution.relatives(checkpoint_ids) if i not in self.attribution.notes]
        metadata = self.reader.saver.metadata(refs)
        self.attribution.fill({r.checkpoint_id: note(self.reader.value(p), r.checkpoint_id) for r, p in metadata}, {})

    def read_writes(self, checkpoint_ids: Collection[str]) -> None:
        """Read what made these: the writes of them and of their parents, without long values."""
        sources = self.attribution.sources(checkpoint_ids)
        self.attribution.fill({}, self.reader.writes_by_checkpoint(self.thread_id, self.ns, sources, values=VALUE))
        self.steps.known.update(checkpoint_ids)

    def _read_making(self, checkpoint_ids: Iterable[str]) -> None:
        unknown = [i for i in checkpoint_ids if i not in self.steps.known]
        if unknown:
            self.read_notes(unknown)
            self.read_writes(unknown)

    def _read_evidence(self, checkpoint_ids: Sequence[str]) -> None:
        """Read enough that each line reads the same however the list is cut.

        That is how channels treat writes, as the head, the lines' own tips and the states below their edits prove it,
        and as much of the history above each line as shows which values its step replaced.
        """
        carriers = {self.lineage.carrier(i) for i in checkpoint_ids} & self._worth_reading | {self.lineage.head or ""}
        tips = [i for i in carriers if i in self.lineage and not self.steps.has_learned(i)]
        self._read_making({i for tip in tips for i in islice(self.lineage.line(tip), PROVEN)})
        self.reader.saver.expect([self.ref(tip) for tip in tips])
        for tip in tips:
            self._learn(tip)
        self._read_above(checkpoint_ids)

    def _learn(self, tip: str) -> None:
        """Learn from a tip and from the states below edits on its line: an unexplained edit hides what was above it."""
        at: str | None = tip
        for _ in range(_LEARNED):
            if at is None or (at != tip and (self.lineage.rows[at].size or 0) > _EDIT_BYTES):
                return
            with suppress(PayloadCorrupt):
                self.steps.learn(self._state(at), tip)
            at = self.steps.below_edits(at)
            if at is not None:
                self._read_making(islice(self.lineage.line(at), PROVEN))

    def _read_above(self, checkpoint_ids: Sequence[str]) -> None:
        """Read up each line until the replaced values are found; an unexplained update on the way is compared."""
        size, met = _CHUNK, set[str]()
        while above := {at for i in checkpoint_ids if (at := self.steps.stop_above(i)) is not None} - met:
            read = above & self.steps.known
            self._compare_all(at for at in sorted(read) if self._is_update(at) and len(met) < _EDITS)
            met |= read
            self._read_making({i for at in above - read for i in islice(self.lineage.line(at), size)})
            size = min(2 * size, BACK)

    def _read_sends(self, checkpoint_ids: Iterable[str]) -> None:
        """Read Sends until the nodes that they called are known: usually a few, whose task ids identify the rest."""
        unknown = [i for i in checkpoint_ids if self.step_nodes.has_unnamed_sends(i)]
        left = unknown
        while left:
            self.read_writes(left[:_SENDS])
            left = [i for i in left[_SENDS:] if self.step_nodes.has_unnamed_sends(i)]
        left = [i for i in unknown if self.step_nodes.has_unnamed_sends(i)]
        for _ in range(_LONG_SENDS):
            if left:
                above = self.attribution.sources(left[:1])
                self.attribution.fill({}, self.reader.writes_by_checkpoint(self.thread_id, self.ns, above))
                left = [i for i in left[1:] if self.step_nodes.has_unnamed_sends(i)]

    @cached_property
    def _worth_reading(self) -> set[str]:
        """The head, and the newest other tips that are not very large."""
        head = self.lineage.head
        small = (i for i in reversed(self.lineage.tips) if (self.lineage.rows[i].size or 0) <= _TIP_BYTES and i != head)
        return {*islice(small, _TIPS), *([head] if head is not None else [])}

    def _read_tips(self, checkpoint_ids: Sequence[str]) -> None:
        """Decode the tips among these for their status and next nodes; of many branches only the newest."""
        tips = [self.ref(i) for i in checkpoint_ids if i in self._worth_reading]
        self.reader.saver.expect(tips)
        for ref in tips:
            with suppress(PayloadCorrupt):
                self._state(ref.checkpoint_id)
                self.snapshots[ref.checkpoint_id] = Inspection(self.reader, ref).snapshot()
                self._look_into(ref)

    def _read_edits(self, checkpoint_ids: Sequence[str]) -> None:
        """Compare the newest updates that no writes explain with their parents, and read an entrypoint's inputs."""
        # langgraph keeps an update's writes only where the thread had not continued from there, and none of an input
        unknown = [i for i in checkpoint_ids if self.steps.changes(i) is None]
        self._compare_all([i for i in unknown if self._is_update(i)][-_EDITS:])
        inputs = [self.ref(i) for i in unknown if self.attribution.note(i).source == "input"][-_EDITS:]
        self.reader.saver.expect(inputs)
        for ref in inputs:
            if (self.lineage.rows[ref.checkpoint_id].size or 0) <= _EDIT_BYTES:
                with suppress(PayloadCorrupt):
                    self._look_into(ref)

    def _compare_all(self, edits: Iterable[str]) -> None:
        small = [i for i in edits if (self.lineage.rows[i].size or 0) <= _EDIT_BYTES]
        pairs = [i for edit in small for i in (edit, self.lineage.parent(edit)) if i is not None]
        self.reader.saver.expect([self.ref(i) for i in dict.fromkeys(pairs)])
        for checkpoint_id in small:
            with suppress(PayloadCorrupt):
                self._compare(checkpoint_id)

    def _is_update(self, checkpoint_id: str) -> bool:
        return self.attribution.note(checkpoint_id).source == "update"

    def _compare(self, checkpoint_id: str) -> None:
        parent = self.lineage.parent(checkpoint_id)
        if parent is not None and (self.lineage.rows[parent].size or 0) <= _TIP_BYTES:
            self.steps.compare(self._state(checkpoint_id), self._state(parent))

    def _state(self, checkpoint_id: str) -> State:
        """One checkpoint, decoded; what is wrong with it goes to `problems`.

        Raises:
            PayloadCorrupt: nothing of it can be read.
        """
        try:
            state = self.reader.state(self.ref(checkpoint_id))
        except PayloadCorrupt as error:
            self.problems[checkpoint_id] = error.message
            raise
        if problem := state.problem:
            self.problems[checkpoint_id] = problem
        return state

    def _look_into(self, ref: Ref) -> None:
        """Find from a decoded checkpoint what its step changed, where writes didn't show it."""
        state = self.reader.state(ref)
        source = self.attribution.note(ref.checkpoint_id).source
        if source == "fork" or self.steps.changes(ref.checkpoint_id) is not None:
            return
        if source == "input" and START in state.values:
            self.steps.add_input(state)
        else:
            self._compare(ref.checkpoint_id)
