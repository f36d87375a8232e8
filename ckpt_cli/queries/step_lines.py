"""Lines about checkpoints in `log` and `tree`: status, tags, tasks, changes; `step_reads` reads them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property

from ckpt_cli.errors import CheckpointNotFound, PayloadCorrupt
from ckpt_cli.history.lineage import ids
from ckpt_cli.history.state.channels import CONTROL_WRITES, ERROR, INTERRUPT, START
from ckpt_cli.history.tasks.metadata_notes import Note
from ckpt_cli.history.tasks.snapshot import Status, Task
from ckpt_cli.history.tasks.step_changes import Change
from ckpt_cli.history.tasks.unstored_steps import unstored_steps
from ckpt_cli.model import Ref
from ckpt_cli.output.line import plain
from ckpt_cli.output.quantities import iso
from ckpt_cli.output.text.changes import UNCUT
from ckpt_cli.output.text.changes import one as change_line
from ckpt_cli.queries.command_writes import pending_command
from ckpt_cli.queries.failed_inside import failed_inside
from ckpt_cli.queries.kept_results import KeptResults
from ckpt_cli.queries.ran_nodes import find_ran
from ckpt_cli.queries.step_reads import StepReads
from ckpt_cli.reading import Reader
from ckpt_cli.values.langgraph_values import interrupts
from ckpt_cli.values.state import TaskWrite
from ckpt_cli.views.interrupts import interrupt_view
from ckpt_cli.views.sends import send_view
from ckpt_cli.views.steps import ChangeView, CommandView, HaltView, StepView, TaskView


class StepLines:
    """The lines about one namespace of one thread; each method reads what it needs.

    Attributes:
        attribution: the metadata and writes read so far, and which writes made which checkpoint.
        step_nodes: the nodes that made each checkpoint.
        steps: for each checkpoint, the changes of the step that made it.
        problems: by checkpoint id, why the checkpoint or a part of it can't be read.
    """

    def __init__(self, reader: Reader, thread_id: str, ns: str = "") -> None:
        self._reads = StepReads(reader, thread_id, ns)
        self._kept = KeptResults(self._reads)
        self._ran: set[str] = set()
        self.reader, self.thread_id, self.ns = reader, thread_id, ns
        self.lineage = self._reads.lineage
        self.attribution = self._reads.attribution
        self.step_nodes = self._reads.step_nodes
        self.steps = self._reads.steps
        self.problems = self._reads.problems

    def views(self, checkpoint_ids: Sequence[str], *, folded: Sequence[str] = ()) -> Iterator[StepView]:
        """A line for each of `checkpoint_ids`, in this order; `folded` as in `StepReads.read_lines`."""
        self._reads.read_lines(checkpoint_ids, folded=folded)
        for portion in self._reads.portions(checkpoint_ids):
            for checkpoint_id in portion:
                yield self._view(checkpoint_id)
                self.steps.forget(checkpoint_id)

    def existing(self, checkpoint_ids: Sequence[str]) -> list[str]:
        """Those of these checkpoints that are still stored."""
        read = self.notes(checkpoint_ids)
        row = self.reader.saver.row
        return [i for i in checkpoint_ids if i in read or row(Ref(self.thread_id, self.ns, i)) is not None]

    def forget(self) -> None:
        """Drop what was read for the lines so far, but for the names that nodes of other lines may have."""
        self._reads.step_nodes.forget()

    def read_outline(self, checkpoint_ids: Iterable[str]) -> None:
        """Read metadata and the names of written channels: enough to decide which checkpoints get a line."""
        self._reads.read_outline(checkpoint_ids)

    def read_names(self, checkpoint_ids: Sequence[str]) -> None:
        """Read what names the nodes of these checkpoints: metadata, the names of written channels, some Sends."""
        self._reads.read_names(checkpoint_ids)

    def read_tips(self) -> None:
        """Read the tips that show status and next nodes, in whose states further nodes are named."""
        self._reads.read_tips()

    def notes(self, checkpoint_ids: Iterable[str]) -> Mapping[str, Note]:
        """The metadata of these checkpoints and of their relatives, by checkpoint id."""
        self._reads.read_notes(checkpoint_ids)
        return self.attribution.notes

    def changes(self, checkpoint_id: str) -> Sequence[Change]:
        """The changes of one step, from metadata and writes alone; empty if these don't show the changes."""
        self._reads.read_notes([checkpoint_id])
        self._reads.read_writes([checkpoint_id])
        return self.steps.changes(checkpoint_id) or []

    def status(self, checkpoint_id: str) -> str | None:
        """The status of a tip; None if the tip wasn't decoded."""
        snapshot = self._reads.snapshots.get(checkpoint_id)
        return None if snapshot is None else str(snapshot.status)

    def halted(self, checkpoint_id: str) -> bool:
        """Whether a task that started at this checkpoint asked a question or failed."""
        return any(write.channel in (INTERRUPT, ERROR) for write in self.attribution.writes.get(checkpoint_id, ()))

    def input_taken(self, checkpoint_id: str) -> str | None:
        """The input that a step took in, if the step did nothing else; it is the checkpoint's parent."""
        parent = self.lineage.parent(checkpoint_id)
        if parent is None or self.attribution.note(parent).source != "input":
            return None
        return parent if set(self.step_nodes.nodes(checkpoint_id)) == {START} else None

    @cached_property
    def _branches(self) -> dict[str, int]:
        return {branch.tip: branch.number for branch in self.lineage.branches}

    @cached_property
    def _tags(self) -> dict[str, list[str]]:
        tags: dict[str, list[str]] = {}
        for name, checkpoint_id in self.reader.tags(self.thread_id, self.ns).items():
            tags.setdefault(checkpoint_id, []).append(name)
        return tags

    def _view(self, checkpoint_id: str) -> StepView:
        row, note = self.lineage.rows[checkpoint_id], self.attribution.note(checkpoint_id)
        snapshot = self._reads.snapshots.get(checkpoint_id)
        changes, tasks = self.steps.changes(checkpoint_id), self._tasks(checkpoint_id)
        return StepView(
            checkpoint_id=checkpoint_id,
            short=self.reader.short(self.thread_id)(checkpoint_id),
            parent_id=row.parent_id,
            ns=row.ns,
            step=note.step,
            source=note.source,
            nodes=self.step_nodes.nodes(checkpoint_id),
            changes=None if changes is None else [change_view(change) for change in changes],
            time=iso(ids.unix_time(checkpoint_id)),
            head=checkpoint_id == self.lineage.head,
            branch=self._branches.get(checkpoint_id),
            children=len(self.lineage.children.get(checkpoint_id, ())),
            missing=row.parent_id is not None and self.lineage.parent(checkpoint_id) is None,
            size=row.size,
            status=self.status(checkpoint_id),
            next=snapshot.next if snapshot is not None else None,
            tasks=tasks,
            halts=self._halts(checkpoint_id, tasks),
            tags=self._tags.get(checkpoint_id, []),
            problem=self.problems.get(checkpoint_id),
            input_id=self.input_taken(checkpoint_id),
            command=self._command(checkpoint_id),
            unstored_steps=unstored_steps(self.attribution, checkpoint_id),
            not_continued=self._why_not_continued(checkpoint_id) if self.ns and tasks else None,
        )

    def _why_not_continued(self, checkpoint_id: str) -> str | None:
        """Why the next run doesn't continue this tip of a subgraph; None if it may, or if that can't be read."""
        from ckpt_cli.plans.continued_calls import why_not_newest

        return why_not_newest(self.reader, self._reads.ref(checkpoint_id)) or self._not_continued

    @cached_property
    def _not_continued(self) -> str | None:
        from ckpt_cli.plans.continued_calls import OuterTasks, why_not_continued

        outers: dict[Ref, OuterTasks] = self.reader.of_moment.setdefault(OuterTasks, {})
        with suppress(PayloadCorrupt, CheckpointNotFound):
            return why_not_continued(self.reader, self._reads.ref(self.lineage.head or ""), outers)
        return None

    def _command(self, checkpoint_id: str) -> CommandView | None:
        is_tip = checkpoint_id not in self.lineage.children
        return pending_command(self.attribution.writes.get(checkpoint_id, ())) if is_tip else None

    def _tasks(self, checkpoint_id: str) -> list[TaskView]:
        """The tasks due at a tip: those that wait, those that failed, and those that finished, with their writes.

        Empty if the checkpoint isn't a tip, or if it is done.
        """
        if checkpoint_id in self.lineage.children:
            return []
        snapshot = self._reads.snapshots.get(checkpoint_id)
        if snapshot is not None:
            handlers = {i: handler.node or "unknown node" for i, handler in snapshot.handlers.items()}
            raised = {task.id for task in snapshot.raised_after}
            tasks = (self._task(checkpoint_id, task, raised=task.id in raised) for task in snapshot.all_tasks)
            return self._with_unseen(checkpoint_id, [t._replace(handler=handlers.get(t.id or "")) for t in tasks])
        return [self._task_of_writes(writes) for writes in self.attribution.tasks(checkpoint_id).values()]

    def _with_unseen(self, checkpoint_id: str, tasks: list[TaskView]) -> list[TaskView]:
        """Sends to a node that never ran are marked: a node sees channels, or nothing, when one of its tasks ends."""
        sent = {task.node for task in tasks if task.send is not None and task.node is not None}
        ran = {*self.reader.state(self._reads.ref(checkpoint_id)).seen, *(t.node for t in tasks if t.status != "due")}
        unknown = sent - ran - self._ran
        self._ran |= find_ran(self._reads, unknown) if unknown else set()
        unknown -= self._ran
        return [task._replace(unseen=task.send is not None and task.node in unknown) for task in tasks]

    def _task(self, checkpoint_id: str, task: Task, *, raised: bool) -> TaskView:
        waiting = task.open if task.status is Status.WAITING else []
        questions = [interrupt_view(one.id, one.value, one.response_schema) for one in waiting]
        has_failed = task.has_failed or raised
        error, failed_too = task.error if has_failed else None, has_failed and task.status != Status.FAILED
        written = self._written(task.writes) if task.status is Status.FINISHED else []
        send = send_view(task.packet)
        inside = failed_inside(self.reader, Ref(self.thread_id, self.ns, checkpoint_id), task)
        line = TaskView(task.id, task.node, str(task.status), error, questions, written, task.answers, send, inside)
        return line._replace(failed_too=failed_too)

    def _task_of_writes(self, writes: list[TaskWrite]) -> TaskView:
        """A task as its writes alone show it; used if the checkpoint wasn't decoded."""
        questions = [i for w in writes if w.channel == INTERRUPT and w.read for i in interrupts(w.value)]
        error = next((w.value for w in writes if w.channel == ERROR and w.read), None)
        channels = {write.channel for write in writes}
        node, task_id = self.step_nodes.node(writes[0]), writes[0].task_id
        if channels - CONTROL_WRITES:
            return TaskView(task_id, node, str(Status.FINISHED), changes=self._written(writes))
        if INTERRUPT in channels:
            waiting = [interrupt_view(one.id, one.value, one.response_schema) for one in questions]
            return TaskView(task_id, node, str(Status.WAITING), error, waiting, failed_too=ERROR in channels)
        return TaskView(task_id, node, str(Status.FAILED if ERROR in channels else Status.DUE), error)

    def _written(self, writes: Sequence[TaskWrite]) -> list[ChangeView]:
        return [change_view(change) for change in self.steps.pending_changes(writes)]

    def _halts(self, checkpoint_id: str, tasks: Sequence[TaskView]) -> list[HaltView]:
        halts, views = [], {task.id: task for task in tasks}
        kept = self._kept_halts(checkpoint_id)
        for writes in self.attribution.tasks(checkpoint_id).values():
            channels = {write.channel for write in writes}
            for kind, channel in (("interrupt", INTERRUPT), ("error", ERROR)):
                if channel in channels and (writes[0].task_id, channel) not in kept:
                    node, is_over = self.step_nodes.node(writes[0]), bool(channels - CONTROL_WRITES)
                    task = views.get(writes[0].task_id)
                    send = task.send if task is not None else None
                    halt = HaltView(kind, node, is_over, send)
                    if kind == "error" and task is not None:
                        is_over = is_over and not task.failed_too
                        halt = halt._replace(over=is_over, inside=task.inside, handler=task.handler)
                    halts.append(halt)
        return halts

    def _kept_halts(self, checkpoint_id: str) -> set[tuple[str, str]]:
        """The failures and questions that ``edit --task`` kept, by task id and channel: no task halted there then.

        At a tip they show how far its tasks have come.
        """
        if checkpoint_id not in self.lineage.children or not self.halted(checkpoint_id):
            return set()
        kept = self._kept.at(checkpoint_id)
        stored = self.attribution.writes.get(checkpoint_id, ())
        return {(write.task_id, write.channel) for write in kept.of(stored)} if kept is not None else set()


def change_view(change: Change) -> ChangeView:
    """The view of a change, with its text in one line."""
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
        task=change.task,
        unwritten=change.unwritten,
        by_command=change.by_command,
    )
    return view._replace(text=plain(change_line(view, UNCUT)).strip())
