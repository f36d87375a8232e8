"""`KeptResults`: the writes at checkpoints that ``edit --task`` kept from those that it edited."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from ckpt_cli.errors import CheckpointNotFound, PayloadCorrupt
from ckpt_cli.history.tasks import nesting
from ckpt_cli.history.tasks.kept_writes import PlacedTask, is_task_edit, kept_writes
from ckpt_cli.history.tasks.task_ids import pull_path, push_path
from ckpt_cli.history.tasks.write_makers import is_command, is_update
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import NULL_TASK
from ckpt_cli.queries.edited_siblings import edited_sibling
from ckpt_cli.queries.step_reads import StepReads
from ckpt_cli.values.state import State, TaskWrite


class Kept(NamedTuple):
    """The writes that an edited checkpoint's child has from it.

    Attributes:
        origin: the edited checkpoint.
        writes: the task ids and places of these writes, as the child has them.
    """

    origin: str
    writes: frozenset[tuple[str, int | str]]

    def of(self, writes: Iterable[TaskWrite]) -> list[TaskWrite]:
        """Those of some writes of the child that are kept."""
        return [write for write in writes if (write.task_id, write.row.idx) in self.writes]


class KeptResults:
    """Finds the kept writes of a namespace; what it needs beyond `reads`, it reads of edited checkpoints alone."""

    def __init__(self, reads: StepReads) -> None:
        self._reads = reads
        self._known: dict[str, Kept | None] = {}

    def at(self, checkpoint_id: str) -> Kept | None:
        """What ``edit --task`` kept at a checkpoint whose metadata was read; None if it didn't make that."""
        if checkpoint_id not in self._known:
            if not self._may_be_edit(checkpoint_id):
                return None
            self._known[checkpoint_id] = self._find(checkpoint_id)
        return self._known[checkpoint_id]

    def _may_be_edit(self, checkpoint_id: str) -> bool:
        attribution = self._reads.attribution
        if attribution.note(checkpoint_id).source != "update" or attribution.unordered(checkpoint_id) is not None:
            return False
        return any(not is_update(write) for write in attribution.writes.get(checkpoint_id, ()))

    def _find(self, checkpoint_id: str) -> Kept | None:
        with suppress(CheckpointNotFound, PayloadCorrupt):
            after = self._reads.reader.state(self._reads.ref(checkpoint_id))
            for before in self._origins(after):
                if not is_task_edit(before, after):
                    continue
                old, new = (self._tasks(state.ref.checkpoint_id) for state in (before, after))
                kept = frozenset((write.task_id, write.row.idx) for write in kept_writes(before, after, old, new))
                return Kept(before.ref.checkpoint_id, kept)
        return None

    def _origins(self, after: State) -> Iterator[State]:
        """The checkpoint that may have been edited: without writes of an update."""
        reads = self._reads
        sibling = edited_sibling(reads.reader, reads.lineage, after)
        parent = reads.lineage.parent(after.ref.checkpoint_id)
        if sibling is not None:
            yield sibling
        elif parent is not None and not any(map(is_update, reads.reader.writes(reads.ref(parent), values=0))):
            yield reads.reader.state(reads.ref(parent))

    def _tasks(self, checkpoint_id: str) -> dict[str, PlacedTask]:
        """The tasks of a checkpoint by path; without calls, error handlers and tasks that aren't known."""
        reads, by_task = self._reads, dict[str, list[TaskWrite]]()
        for write in reads.reader.writes(reads.ref(checkpoint_id)):
            if is_command(write) or (write.task_id != NULL_TASK and not is_update(write)):
                by_task.setdefault(write.task_id, []).append(write)
        namespaces = reads.reader.namespaces(reads.thread_id)
        callers = {nesting.caller_task(ns) for ns in nesting.inside(namespaces, reads.ns)}
        paths = self._paths(checkpoint_id)
        return {
            paths[task_id]: PlacedTask(writes, task_id in callers)
            for task_id, writes in by_task.items()
            if task_id in paths
        }

    def _paths(self, checkpoint_id: str) -> dict[str, str]:
        """The path of each task by its id, also where no paths are stored."""
        paths, sends = {NULL_TASK: ""}, 0
        for task in Inspection(self._reads.reader, self._reads.ref(checkpoint_id)).snapshot().tasks:
            if task.id is not None and (task.packet is not None or task.node is not None):
                paths[task.id] = pull_path(task.node or "") if task.packet is None else push_path(sends)
            sends += task.packet is not None
        return paths
