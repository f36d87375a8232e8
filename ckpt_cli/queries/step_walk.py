"""Reads checkpoints page by page as steps: state before, writes, state after (``replay --to``, ``verify``).

Each step has a doubt if its state may differ from the result of its writes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.reducers.line_values import NONE_NAMED, Line
from ckpt_cli.history.reducers.reducers import Reducer
from ckpt_cli.history.state.channels import (
    CONTROL_WRITES,
    ERROR_SOURCE,
    NO_WRITES,
    RETURN,
    START,
    TASKS,
    is_control,
)
from ckpt_cli.history.tasks.branch_writes import BranchWrites
from ckpt_cli.history.tasks.metadata_notes import note
from ckpt_cli.history.tasks.metadata_writes import outputs_by_node, values_by_channel
from ckpt_cli.history.tasks.step_nodes import StepNodes
from ckpt_cli.history.tasks.task_ids import caller
from ckpt_cli.history.tasks.write_attribution import WriteAttribution, is_command, is_update, path
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Checkpoint, Ref
from ckpt_cli.plans.node_writes import count_sends, node_writes
from ckpt_cli.queries.step_doubts import doubt_of, why_incomplete
from ckpt_cli.reading import Reader
from ckpt_cli.values.state import State, TaskWrite

AT_ONCE = 50
"""The number of checkpoints that are read in one transaction."""

_BYTES = 16_000_000  # of checkpoints that are in memory together
_NO_VALUES = CONTROL_WRITES | {NO_WRITES, RETURN, TASKS}


class RecordedWrite(NamedTuple):
    """One of the writes that made a checkpoint.

    Attributes:
        node: None if the node that wrote it is unknown.
        by_command: whether a ``Command`` given as input wrote it, before the step began.
    """

    task: str
    node: str | None
    channel: str
    value: Any
    by_command: bool = False


class WalkedStep(NamedTuple):
    """One checkpoint of a line, and the step that made it.

    Attributes:
        state: the checkpoint's state; None if it can't be read.
        before: the user's channels in the parent; None if they can't be read.
        after: the user's channels in this checkpoint; None if they can't be read.
        writes: the writes that made the checkpoint, in the library's order.
        by_run: whether a run made the checkpoint from its parent by these writes. Only then do writes prove reducers.
        doubt: a reason why the state may differ from the result of the writes; "" if there is none.
        ordered: whether the order in which the writes of several tasks are applied is recorded.
        moved: the channels that have another version in the checkpoint than in its parent.
        rebuilt: the delta channels whose value in `after` isn't recorded; it was computed from writes.
        parent: the parent's state; None for a root, and if it can't be read.
        credited: the same as `writes`, as they are stored; None if no stored writes made the checkpoint.
        stored: all writes that are stored on the parent.
    """

    ref: Ref
    state: State | None
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    writes: Sequence[RecordedWrite] = ()
    by_run: bool = False
    doubt: str = ""
    ordered: bool = True
    moved: frozenset[str] = frozenset()
    rebuilt: frozenset[str] = frozenset()
    parent: State | None = None
    credited: Sequence[TaskWrite] | None = None
    stored: Sequence[TaskWrite] = ()

    @property
    def kept(self) -> frozenset[str]:
        """The channels that have the same version as in the parent."""
        return frozenset(self.state.versions.keys() - self.moved) if self.state is not None else frozenset()

    @property
    def by_task(self) -> list[dict[str, list[Any]]]:
        """For each task, the values that it wrote to each of the user's channels."""
        tasks: dict[str, dict[str, list[Any]]] = {}
        for write in self.writes:
            if write.by_command:
                continue
            task_writes = tasks.setdefault(write.task, {})
            if self.is_user_write(write):
                task_writes.setdefault(write.channel, []).append(write.value)
        return list(tasks.values())

    @property
    def task_doubt(self) -> str:
        """A reason why not all writes of the tasks may count, or not all are stored; "" if there is none.

        It is only asked for where the writes don't explain the state.
        """
        nodes = {write.task: write.node for write in self.writes if not write.by_command}
        sends = count_sends(self.parent) if self.parent is not None else 0
        if nodes and len(nodes) < sends:
            return f"of {sends} tasks that were sent, {sends - len(nodes)} left no writes"
        named = [node for node in nodes.values() if node]
        if not sends and len(set(named)) < len(named):
            return "a node ran there twice, so some writes may come from a run that failed"
        return ""

    @property
    def in_unknown_order(self) -> set[str]:
        """The channels that several tasks wrote to, if it isn't recorded which of them came first."""
        if self.ordered:
            return set()
        tasks = self.by_task
        return {channel for channel in self.written if sum(channel in task for task in tasks) > 1}

    @property
    def written(self) -> dict[str, list[Any]]:
        """The values that the step wrote to each of the user's channels."""
        return self._values(write for write in self.writes if not write.by_command)

    @property
    def by_command(self) -> dict[str, list[Any]]:
        """The values that a ``Command`` wrote to each of the user's channels that the step changed."""
        return self._values(write for write in self.writes if write.by_command and write.channel in self.moved)

    def _values(self, writes: Iterable[RecordedWrite]) -> dict[str, list[Any]]:
        values: dict[str, list[Any]] = {}
        for write in writes:
            if self.is_user_write(write):
                values.setdefault(write.channel, []).append(write.value)
        return values

    def is_user_write(self, write: RecordedWrite) -> bool:
        """Whether the write goes to one of the user's channels."""
        if write.channel in _NO_VALUES or (write.channel == START and self.state is None):
            return False
        return self.state is None or not is_control(write.channel, self.state)


class StepWalk:
    """Reads each checkpoint of a namespace once; older checkpoints are read only for delta channels."""

    def __init__(self, reader: Reader, start: Ref | None, named: Mapping[str, Reducer] = NONE_NAMED) -> None:
        self._reader = reader
        self._named = named
        self._step_nodes: StepNodes | None = None
        self._fetched: dict[Ref, Checkpoint] = {}
        self._begin(start)
        if start is not None:
            self._read_start(start)

    def _begin(self, at: Ref | None) -> None:
        self.line = Line(lambda state: Inspection(self._reader, state.ref).deltas(), self._named)
        self._at = at
        self._parent: State | None = None
        self._before: Mapping[str, Any] | None = {}
        self._problem = ""

    def _read_start(self, start: Ref) -> None:
        self._parent = self._reader.state(start)
        self._before = self.line.at(self._parent)

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
            self._parent, self._before, self._problem = None, None, f"its parent can't be read: {error.message}"
            return WalkedStep(ref, None, before, None, doubt=error.message)
        step_writes = attribution.credited(ref.checkpoint_id)
        made_by_run = step_writes is not None and state.source == "loop" and self._is_next(state, step_writes)
        taken = (
            BranchWrites(stored) if self._parent is None else Inspection(self._reader, ref).taken(self._parent, stored)
        )
        after = self.line.at(state, taken.writes, grown=made_by_run, lost=taken.lost)
        writes = self._writes(step_nodes, ref, step_writes)
        damage = state.damage or (parent.damage if parent is not None else "")
        doubt = doubt or (f"a part can't be read: {damage}" if damage else doubt_of(attribution, ref, step_writes))
        older = self._parent.versions if self._parent is not None else {}
        moved = frozenset(c for c, version in state.versions.items() if version != older.get(c))
        self._parent, self._before = state, after
        ordered = all(write.row.task_path or is_command(write) for write in step_writes or ())
        by_run = made_by_run and before is not None and not damage
        rebuilt = frozenset(after.keys() - state.values.keys())
        return WalkedStep(
            ref, state, before, after, writes, by_run, doubt, ordered, moved, rebuilt, parent, step_writes, stored
        )

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
        task_writes = [write for write in step_writes if caller(path(write)) is None]
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
            self._step_nodes = StepNodes(WriteAttribution(reader.lineage(thread_id, ns)), ns)
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
