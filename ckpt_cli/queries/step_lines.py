"""Tells of checkpoints in one line each, reading no more than that needs: `log` and `tree` are made of these."""

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import islice

from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.history.lineage import ids
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.state.channels import CONTROL_WRITES, ERROR, INTERRUPT, START
from ckpt_cli.history.tasks.snapshot import Snapshot, Status, Task
from ckpt_cli.history.tasks.step_changes import Change
from ckpt_cli.history.tasks.steps import BACK, PROVEN, Steps
from ckpt_cli.history.tasks.write_attribution import note
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Ref
from ckpt_cli.output.line import plain
from ckpt_cli.output.quantities import iso
from ckpt_cli.output.text.changes import UNCUT, one
from ckpt_cli.reading import Reader
from ckpt_cli.values.known import interrupts
from ckpt_cli.values.state import State, TaskWrite
from ckpt_cli.views.interrupts import InterruptView
from ckpt_cli.views.steps import ChangeView, HaltView, StepView, TaskView

VALUE = 4096
"""A longer write isn't read to find what it changed: its size is shown."""
_TIPS = 12  # of which the checkpoint is read for status and next, besides the head's
_CHUNK = 8  # checkpoints of a line that are read at first in search of what was written before
_SENDS = 200  # steps that Sends made, of which values are read at once for the names of their nodes
_LONG_SENDS = 8  # of those whose Sends are long
_EDITS = 12  # updates that are compared with their parents
_LEARNED = 3  # states on a tip's line of which habits are learned: its own, and what the newest edits were made on
_EDIT_BYTES = 2_000_000
_TIP_BYTES = 16_000_000  # a larger one is only read if it is the head


class Describer:
    """Knows one namespace of one thread, as far as it was asked."""

    def __init__(self, reader: Reader, thread_id: str, ns: str = "", lineage: Lineage | None = None) -> None:
        self.reader = reader
        self.thread_id = thread_id
        self.ns = ns
        self.lineage = reader.lineage(thread_id, ns) if lineage is None else lineage
        self.steps = Steps(self.lineage, ns)
        self.problems: dict[str, str] = {}
        """What can't be read of the checkpoints that were looked into."""
        self._snapshots: dict[str, Snapshot] = {}

    def read_notes(self, checkpoint_ids: Iterable[str]) -> None:
        """Read the metadata of these, and of those that it takes to tell whose writes made them."""
        refs = [self.ref(i) for i in self.steps.relatives(checkpoint_ids) if i not in self.steps.notes]
        found = self.reader.saver.metadata(refs)
        self.steps.fill({r.checkpoint_id: note(self.reader.value(p), r.checkpoint_id) for r, p in found}, {})

    def read_writes(self, checkpoint_ids: Collection[str]) -> None:
        """Read what made these: writes of themselves and of their parents, long values left where they are."""
        wanted = self.steps.sources(checkpoint_ids)
        self.steps.fill({}, self.reader.writes_by_checkpoint(self.thread_id, self.ns, wanted, values=VALUE))
        self.steps.known.update(checkpoint_ids)

    def _read_making(self, checkpoint_ids: Iterable[str]) -> None:
        unknown = [i for i in checkpoint_ids if i not in self.steps.known]
        if unknown:
            self.read_notes(unknown)
            self.read_writes(unknown)

    def read_all_writes(self) -> None:
        """Read which tasks wrote to which channels everywhere, and no values."""
        self.steps.fill({}, self.reader.writes_by_checkpoint(self.thread_id, self.ns, values=0))
        self.steps.outlined = True

    def read_around(self, checkpoint_ids: Sequence[str]) -> None:
        """Read enough that each line reads the same however the list is cut.

        That is what the head and their own tips prove of how channels treat writes, and what edits of those were made
        on, and as much of the lines above them as tells what they replaced.
        """
        telling = {self.lineage.carrier(i) for i in checkpoint_ids} & self._worth_reading | {self.lineage.head or ""}
        tips = [i for i in telling if i in self.lineage and not self.steps.has_learned(i)]
        self._read_making({i for tip in tips for i in islice(self.lineage.line(tip), PROVEN)})
        self.reader.saver.expect([self.ref(tip) for tip in tips])
        for tip in tips:
            self._learn(tip)
        self._read_above(checkpoint_ids)

    def _learn(self, tip: str) -> None:
        """Learn of a tip, and of what was edited on its line: an edit that no writes explain hides what was above."""
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
        """Read up their lines what their values replaced; an update on the way that no writes explain is compared."""
        size, met = _CHUNK, set[str]()
        while above := {at for i in checkpoint_ids if (at := self.steps.stop_above(i)) is not None} - met:
            read = above & self.steps.known
            self._compare_all(at for at in sorted(read) if self.steps.note(at).source == "update" and len(met) < _EDITS)
            met |= read
            self._read_making({i for at in above - read for i in islice(self.lineage.line(at), size)})
            size = min(2 * size, BACK)

    def read_sent(self, checkpoint_ids: Iterable[str]) -> None:
        """Read Sends until the nodes are known that they called: of few as a rule, for then ids tell the others'."""
        unknown = [i for i in checkpoint_ids if self.steps.called(i)]
        left = unknown
        while left:
            self.read_writes(left[:_SENDS])
            left = [i for i in left[_SENDS:] if self.steps.called(i)]
        left = [i for i in unknown if self.steps.called(i)]
        for _ in range(_LONG_SENDS):
            if left:
                above = self.steps.sources(left[:1])
                self.steps.fill({}, self.reader.writes_by_checkpoint(self.thread_id, self.ns, above))
                left = [i for i in left[1:] if self.steps.called(i)]

    @cached_property
    def _worth_reading(self) -> set[str]:
        """The head and the newest other tips, but for very large ones."""
        head = self.lineage.head
        small = (i for i in reversed(self.lineage.tips) if (self.lineage.rows[i].size or 0) <= _TIP_BYTES and i != head)
        return {*islice(small, _TIPS), *([head] if head is not None else [])}

    def read_tips(self, checkpoint_ids: Sequence[str]) -> None:
        """Read the tips among these, but for those of many branches that are not the newest: they tell what is next."""
        tips = [self.ref(i) for i in checkpoint_ids if i in self._worth_reading]
        self.reader.saver.expect(tips)
        for ref in tips:
            with suppress(PayloadCorrupt):
                self._state(ref.checkpoint_id)
                self._snapshots[ref.checkpoint_id] = Inspection(self.reader, ref).snapshot()
                self._look_into(ref)

    def read_edits(self, checkpoint_ids: Sequence[str]) -> None:
        """Compare the newest updates that no writes explain with their parents, and read an entrypoint's inputs."""
        # langgraph keeps an update's writes only where the thread had not gone on from there, and none of such an input
        unknown = [i for i in checkpoint_ids if self.steps.changes(i) is None]
        self._compare_all([i for i in unknown if self.steps.note(i).source == "update"][-_EDITS:])
        inputs = [self.ref(i) for i in unknown if self.steps.note(i).source == "input"][-_EDITS:]
        self.reader.saver.expect(inputs)
        for ref in inputs:
            if (self.lineage.rows[ref.checkpoint_id].size or 0) <= _EDIT_BYTES:
                with suppress(PayloadCorrupt):
                    self._look_into(ref)

    def _compare_all(self, edits: Iterable[str]) -> None:
        some = [i for i in edits if (self.lineage.rows[i].size or 0) <= _EDIT_BYTES]
        pairs = [i for edit in some for i in (edit, self.lineage.parent(edit)) if i is not None]
        self.reader.saver.expect([self.ref(i) for i in dict.fromkeys(pairs)])
        for checkpoint_id in some:
            with suppress(PayloadCorrupt):
                self._compare(checkpoint_id)

    def _state(self, checkpoint_id: str) -> State:
        """One checkpoint, decoded; what is wrong with it is kept.

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

    def _compare(self, checkpoint_id: str) -> None:
        parent = self.lineage.parent(checkpoint_id)
        if parent is not None and (self.lineage.rows[parent].size or 0) <= _TIP_BYTES:
            self.steps.compare(self._state(checkpoint_id), self._state(parent))

    def _look_into(self, ref: Ref) -> None:
        """Take in what a decoded checkpoint tells of how it came to be."""
        state = self.reader.state(ref)
        source = self.steps.note(ref.checkpoint_id).source
        if source == "fork" or self.steps.changes(ref.checkpoint_id) is not None:
            return
        if source == "input" and START in state.values:
            self.steps.given(state)
        else:
            self._compare(ref.checkpoint_id)

    def ref(self, checkpoint_id: str) -> Ref:
        """The full name of one of its checkpoints."""
        return Ref(self.thread_id, self.ns, checkpoint_id)

    def status(self, checkpoint_id: str) -> str | None:
        """How far the line has come whose tip this is; None where it wasn't looked into."""
        found = self._snapshots.get(checkpoint_id)
        return None if found is None else str(found.status)

    @cached_property
    def _branches(self) -> dict[str, int]:
        return {branch.tip: branch.number for branch in self.lineage.branches}

    @cached_property
    def _tags(self) -> dict[str, list[str]]:
        named: dict[str, list[str]] = {}
        for name, checkpoint_id in self.reader.tags(self.thread_id, self.ns).items():
            named.setdefault(checkpoint_id, []).append(name)
        return named

    def step(self, checkpoint_id: str) -> StepView:
        """One line about a checkpoint."""
        row, told = self.lineage.rows[checkpoint_id], self.steps.note(checkpoint_id)
        found = self._snapshots.get(checkpoint_id)
        changes = self.steps.changes(checkpoint_id)
        return StepView(
            checkpoint_id=checkpoint_id,
            short=self.reader.short(self.thread_id)(checkpoint_id),
            parent_id=row.parent_id,
            ns=row.ns,
            step=told.step,
            source=told.source,
            nodes=self.steps.nodes(checkpoint_id),
            changes=None if changes is None else [change_view(change) for change in changes],
            time=iso(ids.unix_time(checkpoint_id)),
            head=checkpoint_id == self.lineage.head,
            branch=self._branches.get(checkpoint_id),
            children=len(self.lineage.children.get(checkpoint_id, ())),
            missing=row.parent_id is not None and self.lineage.parent(checkpoint_id) is None,
            size=row.size,
            status=self.status(checkpoint_id),
            next=found.next if found is not None else None,
            tasks=self._tasks(checkpoint_id),
            halts=self._halts(checkpoint_id),
            tags=self._tags.get(checkpoint_id, []),
            problem=self.problems.get(checkpoint_id),
        )

    def halted(self, checkpoint_id: str) -> bool:
        """Whether a task that started here asked or failed."""
        return any(write.channel in (INTERRUPT, ERROR) for write in self.steps.writes.get(checkpoint_id, ()))

    def _tasks(self, checkpoint_id: str) -> list[TaskView]:
        """What hangs at a tip: questions, errors, and what their siblings have finished."""
        if checkpoint_id in self.lineage.children:
            return []
        found = self._snapshots.get(checkpoint_id)
        if found is not None:
            return [self._task(task) for task in found.tasks] if found.status is not Status.DONE else []
        return [self._raw(writes) for writes in self.steps.tasks(checkpoint_id).values()]

    def _task(self, task: Task) -> TaskView:
        asked = [InterruptView(i.id, i.value) for i in task.open] if task.status is Status.WAITING else []
        error = task.error if task.status is Status.FAILED else None
        written = self._written(task.writes) if task.status is Status.FINISHED else []
        return TaskView(task.id, task.node, str(task.status), error, asked, written, task.answers)

    def _raw(self, writes: list[TaskWrite]) -> TaskView:
        """A task by its writes alone, where the checkpoint wasn't read."""
        asked = [i for w in writes if w.channel == INTERRUPT and w.read for i in interrupts(w.value)]
        error = next((w.value for w in writes if w.channel == ERROR and w.read), None)
        channels = {write.channel for write in writes}
        node, task_id = self.steps.node(writes[0]), writes[0].task_id
        if channels - CONTROL_WRITES:
            return TaskView(task_id, node, str(Status.FINISHED), changes=self._written(writes))
        if INTERRUPT in channels:
            return TaskView(task_id, node, str(Status.WAITING), None, [InterruptView(i.id, i.value) for i in asked])
        return TaskView(task_id, node, str(Status.FAILED if ERROR in channels else Status.DUE), error)

    def _written(self, writes: Sequence[TaskWrite]) -> list[ChangeView]:
        return [change_view(change) for change in self.steps.written(writes)]

    def _halts(self, checkpoint_id: str) -> list[HaltView]:
        found = []
        for writes in self.steps.tasks(checkpoint_id).values():
            channels = {write.channel for write in writes}
            for kind, channel in (("interrupt", INTERRUPT), ("error", ERROR)):
                if channel in channels:
                    found.append(HaltView(kind, self.steps.node(writes[0]), bool(channels - CONTROL_WRITES)))
        return found


def change_view(change: Change) -> ChangeView:
    """A change with its words."""
    view = ChangeView(
        change.channel,
        str(change.kind),
        change.added,
        change.removed,
        change.before,
        change.after,
        dict(change.to),
        change.size,
        edited=change.edited,
        unsure=change.unsure,
    )
    view.text = plain(one(view, UNCUT)).strip()
    return view
