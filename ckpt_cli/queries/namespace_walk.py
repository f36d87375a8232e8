"""`NamespaceWalk`: reads one namespace a page of checkpoints at a time, for `graph` and `trace`."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from ckpt_cli.errors import CheckpointNotFound, PayloadCorrupt
from ckpt_cli.history.state.channels import TASKS, any_target
from ckpt_cli.history.tasks.branch_writes import of_task
from ckpt_cli.history.tasks.next_tasks import Wiring
from ckpt_cli.history.tasks.seen_nodes import ran_between
from ckpt_cli.history.tasks.task_runs import TaskRun, task_runs
from ckpt_cli.history.tasks.task_status import Status
from ckpt_cli.history.tasks.write_attribution import LOOPS
from ckpt_cli.inspection import Inspection
from ckpt_cli.queries.kept_results import KeptResults
from ckpt_cli.queries.step_reads import StepReads
from ckpt_cli.reading import Reader
from ckpt_cli.values.state import State, TaskWrite

_AT_ONCE = 500  # checkpoints
NO_WRITES = 'langgraph 0.0, durability="exit", checkpoints that were removed, nodes that wrote only an UntrackedValue,'
"""Why a step may have left no writes; langgraph 1.2 ``pregel/_loop.py: put_writes`` leaves out untracked ones."""
TRACELESS = (
    'ran beside others and left no writes, as with nodes that wrote only an UntrackedValue, or durability="exit"'
)


class NamespaceWalk:
    """One namespace of one thread, from its first checkpoint on.

    Attributes:
        reads: what was read of the current page: metadata, writes, the nodes that made each checkpoint.
        states: the first checkpoint and the head, as far as they can be read.
    """

    def __init__(self, reader: Reader, thread_id: str, ns: str) -> None:
        self.reads = StepReads(reader, thread_id, ns)
        self._kept = KeptResults(self.reads)
        self._reader = reader
        rows = self.reads.lineage.rows
        self.states = [
            state
            for i in dict.fromkeys([next(iter(rows), ""), self.reads.lineage.head or ""])
            for state in self._state(i)
        ]

    def pages(self, checkpoint_ids: Sequence[str] | None = None) -> Iterator[list[str]]:
        """The checkpoints in pages, each page with what names its nodes and tasks; by default all of the namespace.

        What is read of the checkpoint after a page says which of the last one's writes are in it. At the end of a line,
        what is read of its children says whether a step went on from there, or an input came.
        """
        ids = list(self.reads.lineage.rows) if checkpoint_ids is None else checkpoint_ids
        for start in range(0, len(ids), _AT_ONCE):
            self.reads.read_lines(ids[start : start + _AT_ONCE + 1])
            if start + _AT_ONCE >= len(ids):
                self._read_children(ids[-1])
            yield list(ids[start : start + _AT_ONCE])
            self.reads.step_nodes.forget()

    def stored(self, checkpoint_id: str, *, whole: bool = False) -> list[TaskWrite]:
        """The writes stored on a checkpoint of the page; long values are read only of Sends, or with `whole`."""
        stored: list[TaskWrite] = self.reads.attribution.writes.get(checkpoint_id, [])
        if any((whole or write.channel == TASKS) and not write.read for write in stored):
            return self._reader.writes(self.reads.ref(checkpoint_id))
        return stored

    def runs(self, checkpoint_id: str, stored: Sequence[TaskWrite] | None = None) -> list[TaskRun]:
        """What the tasks that started at a checkpoint of the page left there; `stored` are the writes, if read.

        It says which of their writes ``edit --task`` kept from the checkpoint that it edited.
        """
        writes = self.stored(checkpoint_id) if stored is None else stored
        runs = list(task_runs(self.reads.step_nodes, checkpoint_id, writes))
        kept = self._kept.at(checkpoint_id)
        return [run if kept is None else run._replace(kept=kept.of(run.writes)) for run in runs]

    def edited_task_of(self, checkpoint_id: str) -> str | None:
        """The checkpoint of which ``edit --task`` made a checkpoint of the page; None if it didn't."""
        kept = self._kept.at(checkpoint_id)
        return None if kept is None else kept.origin

    def made_by(self, checkpoint_id: str) -> str | None:
        """The checkpoint that the tasks of one of the page made; None if its step isn't the next, or wasn't read."""
        attribution = self.reads.attribution
        children = self.reads.lineage.children.get(checkpoint_id, ())
        if any(child not in attribution.notes for child in children):
            return None
        made = attribution.first_with_source(checkpoint_id, LOOPS)
        return None if made is None or attribution.spans_steps(made) else made

    def is_unrecorded(self, checkpoint_id: str) -> bool:
        """Whether a run made a checkpoint, and no stored writes show what its tasks did."""
        attribution = self.reads.attribution
        if attribution.note(checkpoint_id).source not in ("loop", ""):
            return False
        return attribution.unordered(checkpoint_id) is None or attribution.spans_steps(checkpoint_id)

    def traceless(self, checkpoint_id: str) -> list[str]:
        """The nodes that ran in the step that made one of the page, and left no writes, while others did.

        Edges led to them, and ``versions_seen`` proves that they ran. A node that is deferred didn't run yet.
        """
        attribution, nodes = self.reads.attribution, self.reads.step_nodes
        before, stored = self.reads.lineage.parent(checkpoint_id), attribution.unordered(checkpoint_id)
        if before is None or not stored or attribution.note(checkpoint_id).source not in LOOPS:
            return []
        called = {any_target(write.channel) for write in attribution.unordered(before) or ()} - {None}
        named = {nodes.node(write) for write in stored if of_task(write)}
        found = called - named - {*nodes.unstored_results.of(checkpoint_id, ())}
        if not found or None in named or attribution.spans_steps(checkpoint_id):
            return []
        states = self.reads.small_state(before), self.reads.small_state(checkpoint_id)
        if states[0] is None or states[1] is None:
            return []
        return sorted(name for name in found if name is not None and ran_between(name, states[1], states[0]))

    def left(self, checkpoint_id: str) -> list[str]:
        """The nodes of tasks that left nothing at a checkpoint of the page, although this subgraph's call has finished.

        See `Status.LEFT`. A subgraph with a memory of its own may have been called again since.
        """
        attribution, before = self.reads.attribution, self.reads.lineage.parent(checkpoint_id)
        if not self.reads.ns or before is None:
            return []
        self._read_children(checkpoint_id)
        if attribution.first_with_source(checkpoint_id, LOOPS) is not None:
            return []
        channels = {write.channel for write in attribution.writes.get(before, ())}
        if TASKS not in channels and not any(map(any_target, channels)):
            return []  # nothing was to run here
        inspection = Inspection(self._reader, self.reads.ref(checkpoint_id))
        with suppress(CheckpointNotFound, PayloadCorrupt):
            tasks = inspection.snapshot().tasks
            if any(task.status is Status.DUE for task in tasks) and not (inspection.consumed and inspection.returned()):
                return []
            return [task.node for task in tasks if task.status in (Status.DUE, Status.LEFT) and task.node is not None]
        return []

    def _read_children(self, checkpoint_id: str) -> None:
        """Read the metadata of a checkpoint's children, unless it was read."""
        children = self.reads.lineage.children.get(checkpoint_id, ())
        if any(child not in self.reads.attribution.notes for child in children):
            self.reads.read_notes(children)

    def wiring(self) -> Wiring | None:
        """Which nodes listen to which channels, as `states` show it; None if they can't be read."""
        if not self.states:
            return None
        wiring = Wiring(self.states[0])
        for state in self.states[1:]:
            wiring.learn(state)
        return wiring

    def _state(self, checkpoint_id: str) -> list[State]:
        with suppress(CheckpointNotFound, PayloadCorrupt):
            return [self._reader.state(self.reads.ref(checkpoint_id))]
        return []
