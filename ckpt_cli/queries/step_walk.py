"""Reads checkpoints page by page as steps: state before, writes, state after (``replay --to``, ``verify``).

Each step has a doubt if its state may differ from the result of its writes.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, islice
from typing import Any

from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.reducers.early_values import (
    IN_RUNS,
    LATE,
    NO_EARLY,
    Early,
    has_grown,
    settled,
    without_later_items,
)
from ckpt_cli.history.reducers.line_values import NONE_NAMED, Line
from ckpt_cli.history.reducers.reducers import Reducer
from ckpt_cli.history.reducers.stretches import Stretch
from ckpt_cli.history.state.channels import ERROR_SOURCE
from ckpt_cli.history.tasks.branch_writes import BranchWrites
from ckpt_cli.history.tasks.command_inputs import first_writes, with_command
from ckpt_cli.history.tasks.lost_sends import lost_words
from ckpt_cli.history.tasks.metadata_notes import note
from ckpt_cli.history.tasks.metadata_writes import outputs_by_node, values_by_channel
from ckpt_cli.history.tasks.step_nodes import StepNodes
from ckpt_cli.history.tasks.task_ids import is_called
from ckpt_cli.history.tasks.unstored_results import unstored_words
from ckpt_cli.history.tasks.write_attribution import WriteAttribution
from ckpt_cli.history.tasks.write_makers import is_command, is_update, path
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Checkpoint, Ref
from ckpt_cli.plans.node_writes import count_lost_sends, node_writes
from ckpt_cli.queries.later_steps import LaterSteps
from ckpt_cli.queries.step_doubts import HIDDEN, UNORDERED, doubt_of, why_incomplete
from ckpt_cli.queries.walked_step import RecordedWrite, WalkedStep
from ckpt_cli.reading import Reader
from ckpt_cli.values.state import State, TaskWrite

AT_ONCE = 50
"""The number of checkpoints that are read in one transaction."""

_BYTES = 16_000_000  # of checkpoints that are in memory together

_NOT_WHOLE = "its value is stored whole here, and not all that it was made of is stored"


class StepWalk:
    """Reads each checkpoint of a namespace once; older checkpoints are read only for delta channels."""

    def __init__(self, reader: Reader, start: Ref | None, named: Mapping[str, Reducer] = NONE_NAMED) -> None:
        self._reader = reader
        self._named = named
        self._step_nodes: StepNodes | None = None
        self._fetched: dict[Ref, Checkpoint] = {}
        self._later = LaterSteps(reader)
        self._begin(start)
        if start is not None:
            self._read_start(start)
            self._early |= self._early_at(start)

    def _begin(self, at: Ref | None) -> None:
        self.line = Line(lambda state: Inspection(self._reader, state.ref).deltas(), self._named)
        self._at = at
        self._parent: State | None = None
        self._before: Mapping[str, Any] | None = {}
        self._early: dict[str, list[Any]] = {}
        self._problem = ""
        self._doubts: dict[str, str] = {}  # of delta channels, since their last stored value

    def _read_start(self, start: Ref) -> None:
        self._parent = self._reader.state(start)
        self._before = self.line.at(self._parent)

    def _early_at(self, start: Ref) -> dict[str, list[Any]]:
        """The lists in a checkpoint that have items of later steps, as the steps before it show."""
        if not any(type(value) is list and value for value in (self._before or {}).values()):
            return {}
        lineage = self._reader.lineage(start.thread_id, start.ns)
        older = [start._replace(checkpoint_id=i) for i in islice(lineage.line(start.checkpoint_id), LATE)][::-1]
        [*_, last] = StepWalk(self._reader, None, self._named).steps(older)
        return {**last.early}

    def steps(self, refs: Sequence[Ref]) -> Iterator[WalkedStep]:
        """The steps that made these checkpoints, which come next on the line, or begin another line."""
        step_nodes, size = self._read(refs), self._reader.saver.page
        for index, ref in enumerate(refs):
            if index % size == 0:
                self._reader.saver.expect(refs[index : index + size])
            self._go_to_parent(step_nodes.attribution.lineage.parent(ref.checkpoint_id), ref)
            yield self._walk(step_nodes, ref)
            self._at = ref
        step_nodes.forget()
        step_nodes.attribution.forget()

    def _go_to_parent(self, parent_id: str | None, ref: Ref) -> None:
        """Begin another line, unless the checkpoint's parent is the one that was read last."""
        if parent_id == (self._at.checkpoint_id if self._at else None):
            return
        self._begin(None if parent_id is None else ref._replace(checkpoint_id=parent_id))
        try:
            if self._at is not None:
                self._read_start(self._at)
        except PayloadCorrupt as error:
            self._before, self._problem = None, f"its parent can't be read: {error.message}"

    def _walk(self, step_nodes: StepNodes, ref: Ref) -> WalkedStep:
        attribution = step_nodes.attribution
        parent_id = attribution.lineage.parent(ref.checkpoint_id)
        doubt, self._problem = self._problem, ""
        if (missing := attribution.lineage.missing(ref.checkpoint_id)) is not None:
            self._before, doubt = None, f"its parent {missing} isn't stored"
        before, parent, stored = self._before, self._parent, attribution.writes.get(parent_id or "", [])
        try:
            state = self._state(ref)
        except PayloadCorrupt as error:
            self._early = {}
            self._parent, self._before, self._problem = None, None, f"its parent can't be read: {error.message}"
            return WalkedStep(ref, None, before, None, doubt=error.message)
        if parent is not None:
            step_nodes.learn_left_out(state, parent)
        step_writes = with_command(state, parent, attribution.credited(ref.checkpoint_id), stored)
        made_by_run = step_writes is not None and state.source == "loop" and self._is_next(state, step_writes)
        partial = False
        if made_by_run and (unstored := step_nodes.unstored_results.between(self._parent, state)):
            made_by_run, partial, doubt = False, True, doubt or unstored_words(unstored)
        if made_by_run and parent is not None and (lost := count_lost_sends(parent, stored))[1]:
            made_by_run, partial, doubt = False, True, doubt or lost_words(*lost)
        taken = (
            BranchWrites(stored)
            if self._parent is None or not self.line.has_deltas
            else Inspection(self._reader, ref).taken(self._parent, stored)
        )
        after = self.line.at(state, taken.writes, grown=made_by_run, lost=taken.lost, credited=step_writes)
        first = [RecordedWrite("", None, channel, value, True) for channel, value in first_writes(state)]
        writes = first or self._writes(step_nodes, ref, step_writes)
        damage = state.damage or (parent.damage if parent is not None else "")
        doubt = doubt or (f"a part can't be read: {damage}" if damage else doubt_of(attribution, ref, step_writes))
        older = self._parent.versions if self._parent is not None else {}
        moved = frozenset(c for c, version in state.versions.items() if version != older.get(c))
        self._parent, self._before = state, after
        ordered = all(write.row.task_path or is_command(write) for write in step_writes or ())
        by_run = made_by_run and before is not None and not damage
        rebuilt = frozenset(after.keys() - state.values.keys())
        step = WalkedStep(
            ref, state, before, after, writes, by_run, doubt, ordered, moved, rebuilt, parent, step_writes, stored
        )
        step = self._with_early_values(
            step._replace(partial=partial and before is not None and not damage), attribution
        )
        return step._replace(ended=self._ended(step)) if self.line.deltas else step

    def _with_early_values(self, step: WalkedStep, attribution: WriteAttribution) -> WalkedStep:
        """The step, which knows its lists that were stored with items of a later step."""
        early_before, self._early = self._early if step.source == "loop" else {}, {}
        if step.before is None:
            return step
        own, early = settled(
            step.before,
            step.made,
            step.written,
            early_before,
            lambda lists: self._early_of(step._replace(early_before=lists), attribution),
        )
        self._early = early.lists
        return step._replace(early_before=own, early=early.lists, unproved=early.unproved)

    def _early_of(self, step: WalkedStep, attribution: WriteAttribution) -> Early:
        """Lists with later items; a delta channel's value is no list of the channel's own that a step extends."""
        deltas = self.line.deltas
        made = {c: v for c, v in step.made.items() if c not in deltas} if deltas else step.made
        if step.source not in IN_RUNS or not has_grown(step.began, made):
            return NO_EARLY
        written = step.by_command if step.source == "input" else step.written
        return without_later_items(step.began, made, written, partial(self._later.after, attribution, step.ref))

    def _ended(self, step: WalkedStep) -> dict[str, Stretch]:
        """The stretches of delta channels that end with a step, each with the first reason to doubt its writes.

        A fork stores a value too, but no step made it.
        """
        for channel in step.moved & self.line.deltas:
            own = UNORDERED if channel in step.in_unknown_order else step.doubt or step.task_doubt
            if own == HIDDEN and channel not in self.line.ended:
                continue  # LangGraph too makes the channel of the writes that are stored
            if own and step.before is not None:  # else its parent is gone, and the stretch isn't whole
                self._doubts.setdefault(channel, own)
        ended = {}
        for channel, stretch in self.line.ended.items():
            is_made = step.by_run or channel in step.written
            if is_made and channel in step.moved and (stretch.step.writes or not stretch.is_whole):
                doubt = self._doubts.get(channel) or ("" if stretch.is_whole else _NOT_WHOLE) or stretch.doubt
                ended[channel] = stretch._replace(step=stretch.step._replace(moved=True), doubt=doubt)
            self._doubts.pop(channel, None)
        return ended

    def _state(self, ref: Ref) -> State:
        checkpoint = self._fetched.pop(ref, None)
        return self._reader.state(ref) if checkpoint is None else self._reader.decoded(checkpoint)

    def _is_next(self, state: State, step_writes: Sequence[TaskWrite]) -> bool:
        if any(write.channel == ERROR_SOURCE for write in step_writes):  # an error handler decides which writes count
            return False
        if why_incomplete(step_writes, state.step):
            return False
        return self._parent is not None and state.step is not None and self._parent.step == state.step - 1

    def _writes(self, step_nodes: StepNodes, ref: Ref, step_writes: Sequence[TaskWrite] | None) -> list[RecordedWrite]:
        attribution = step_nodes.attribution
        if step_writes is None:
            own_note = attribution.note(ref.checkpoint_id)
            nodes = list(outputs_by_node(own_note.outputs, own_note.source))
            only_node = nodes[0] if len(nodes) == 1 else None
            by_channel = values_by_channel(own_note.outputs, own_note.source)
            return [
                RecordedWrite(only_node or "", only_node, channel, value)
                for channel, values in by_channel.items()
                for value in values
            ]
        task_writes = [write for write in step_writes if not is_called(path(write))]
        commands = [RecordedWrite(w.task_id, None, w.channel, w.value, True) for w in task_writes if is_command(w)]
        task_writes = [write for write in task_writes if not is_command(write)]
        tasks = {write.task_id for write in task_writes}
        if len(tasks) <= 1 or all(write.row.task_path for write in task_writes):
            return commands + [
                RecordedWrite(w.task_id, None if is_update(w) else step_nodes.node(w), w.channel, w.value)
                for w in task_writes
            ]
        parent_id = attribution.lineage.parent(ref.checkpoint_id) or ""
        ordered = node_writes(self._reader, ref._replace(checkpoint_id=parent_id))
        by_tasks = [RecordedWrite(w.task_id, node, w.channel, w.value) for node, w in ordered if w.task_id in tasks]
        return commands + by_tasks

    def _read(self, refs: Sequence[Ref]) -> StepNodes:
        """The metadata and the writes of a page."""
        reader, (thread_id, ns, _) = self._reader, refs[0]
        if self._step_nodes is None:
            self._step_nodes = StepNodes(
                WriteAttribution(reader.lineage(thread_id, ns)),
                ns,
                lambda: reader.saver.namespaces(thread_id),
                lambda i: reader.state_if_readable(Ref(thread_id, ns, i)),
            )
        attribution, ids = self._step_nodes.attribution, [ref.checkpoint_id for ref in refs]
        self._fetched = self._fetch(refs, attribution.lineage)
        wanted = [Ref(thread_id, ns, i) for i in attribution.unread(ids)]
        metadata = {ref: self._fetched[ref].metadata for ref in wanted if ref in self._fetched}
        metadata.update(reader.saver.metadata([ref for ref in wanted if ref not in metadata]))
        notes = {ref.checkpoint_id: note(reader.value(p), ref.checkpoint_id) for ref, p in metadata.items()}
        attribution.fill(notes, reader.writes_by_checkpoint(thread_id, ns, attribution.sources(ids)))
        return self._step_nodes

    def _fetch(self, refs: Sequence[Ref], lineage: Lineage) -> dict[Ref, Checkpoint]:
        """The first of these checkpoints, some megabytes of them, where an engine reads metadata behind the body.

        There, reading the metadata alone takes as long as reading both (SQLite: it walks all pages of the row).
        """
        if self._reader.saver.page > 1:  # a server, where `expect` reads them
            return {}
        sizes = (lineage.rows[ref.checkpoint_id].size for ref in refs)
        totals = accumulate(_BYTES if size is None else size for size in sizes)
        few = [ref for ref, total in zip(refs, totals, strict=True) if total < _BYTES]
        return {checkpoint.row.ref: checkpoint for checkpoint in self._reader.saver.checkpoints(few)}
