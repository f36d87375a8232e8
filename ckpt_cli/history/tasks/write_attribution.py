"""Which writes made which checkpoint: only the first ``loop`` child; inputs, updates, entrypoints.

The writes stored on a checkpoint come from the tasks that started there. These writes made the checkpoint's *first*
``loop`` child. They did not make a second child (a replay, an update, a fork).
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache, cached_property
from itertools import islice
from typing import ParamSpec, TypeVar, cast

from ckpt_cli.history.lineage import ids
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.state.channels import END, PREVIOUS, RETURN, START
from ckpt_cli.history.tasks.metadata_notes import Note
from ckpt_cli.history.tasks.siblings import Siblings
from ckpt_cli.history.tasks.task_ids import pulled
from ckpt_cli.history.tasks.write_makers import is_call, is_command, is_of_run, is_update, path
from ckpt_cli.model import NULL_TASK
from ckpt_cli.values.state import TaskWrite

LOOPS = frozenset({"loop", ""})
UPDATES = frozenset({"update"})
_RUNS = frozenset({"loop", "", "input"})

P = ParamSpec("P")
T = TypeVar("T")


class WriteAttribution:
    """The metadata and writes of one namespace that were read so far, and which writes made which checkpoint.

    Attributes:
        notes: checkpoint id to the metadata that was read.
        writes: checkpoint id to the writes stored on the checkpoint, if they were read.
        has_outputs: whether metadata records the output of nodes, as releases up to 0.4 do.
        left_out: checkpoint id to the task and channel of writes on its parent that aren't in it; see `seen_nodes`.
    """

    def __init__(self, lineage: Lineage) -> None:
        self.lineage = lineage
        self.notes: dict[str, Note] = {}
        self.writes: dict[str, list[TaskWrite]] = {}
        self.has_outputs = False
        self.left_out: dict[str, set[tuple[str, str]]] = {}
        self._siblings = Siblings(lineage, self.notes)
        self.relatives = self._siblings.relatives
        """Gives checkpoints with those whose source must be known to find the writes that made them."""
        self._forget: list[Callable[[], None]] = []
        self.path_of: Callable[[TaskWrite], str | None] = path
        """Gives the path of a write's task, which may be computed; "" or None if it isn't known."""
        self.unordered = self.remembered(self._unordered)
        """Gives the writes that made a checkpoint, by its id, in stored order; None if no stored writes did."""
        self.credited = self.remembered(self._credited)
        """Gives the same writes in the library's order, as far as the paths of their tasks are known."""
        self._runs = self.remembered(self._first_two_runs)
        self.spans_steps = self.remembered(self._spans_steps)
        """Says if a run made more than one step between a checkpoint's parent and the checkpoint.

        Then the parent's writes made another checkpoint, which isn't stored. Only those of a whole run count.
        """
        self.runs = self.remembered(self._first_two_loops)
        """Gives the two oldest children of a checkpoint that runs made in a step after it."""
        self.by_task = self.remembered(self._by_task)
        """Gives the writes that each task left on a checkpoint, by the task's id."""
        self.unsorted_tasks = self.remembered(self._unsorted_tasks)
        """Gives the same as `tasks`, in stored order."""
        self.is_entrypoint = self.remembered(self._is_entrypoint)
        """Says if an entrypoint of the functional API started from a checkpoint; it takes its input itself."""
        self.first_with_source = self.remembered(self._first_with_source)
        """Gives the oldest child of a checkpoint that has one of these sources."""

    def note(self, checkpoint_id: str) -> Note:
        """What metadata says about a checkpoint; if metadata was not read, only the step in the checkpoint's id."""
        if (own := self.notes.get(checkpoint_id)) is not None:
            return own
        return Note(*self._siblings.source_and_step(checkpoint_id), {})

    def fill(self, notes: Mapping[str, Note], writes: Mapping[str, list[TaskWrite]]) -> None:
        """Add metadata, and writes by the checkpoint that they are stored on; later ones replace earlier ones."""
        self._siblings.expect(notes)
        self.notes.update(notes)
        self.writes.update(writes)
        self.has_outputs = self.has_outputs or any(added.outputs is not None for added in notes.values())
        for forget in self._forget:
            forget()

    def forget(self) -> None:
        """Drop the metadata and writes that were read, but for the sources and steps of siblings.

        A fork may have many thousand children, and which writes made one of them depends on all of them.
        """
        self._siblings.remember()
        self.notes.clear()
        self.writes.clear()
        self.fill({}, {})

    def unread(self, checkpoint_ids: Collection[str]) -> list[str]:
        """Those of these checkpoints and of their relatives whose metadata must be read."""
        lines = {older for checkpoint_id in checkpoint_ids for older in islice(self.lineage.line(checkpoint_id), 3)}
        return [i for i in self._siblings.unknown(checkpoint_ids) | lines if i not in self.notes]

    def remembered(self, compute: Callable[P, T]) -> Callable[P, T]:
        """The same function with its results cached until `fill` adds something."""
        cached = cache(compute)
        self._forget.append(cached.cache_clear)
        return cast("Callable[P, T]", cached)  # the type in quotes: to make it takes longer than to cache

    def sources(self, checkpoint_ids: Iterable[str]) -> set[str]:
        """The checkpoints whose stored writes show the tasks that made these, and the node of each such task."""
        stored = {older for checkpoint_id in checkpoint_ids for older in islice(self.lineage.line(checkpoint_id), 3)}
        return stored | {lost for one in stored if (lost := self.lineage.missing(one)) is not None}

    def _credited(self, checkpoint_id: str) -> list[TaskWrite] | None:
        """The writes that made a checkpoint, task by task in the order of the tasks' paths.

        Databases without paths store writes in the order of task ids, which is by chance.
        """
        writes = self.unordered(checkpoint_id)
        if writes is None or len({write.task_id for write in writes}) == 1:
            return writes
        if all(write.row.task_path or is_command(write) for write in writes):
            return sorted(writes, key=is_command, reverse=True)
        paths = ["" if write.task_id == NULL_TASK else self.path_of(write) or "" for write in writes]
        if not all(one or write.task_id == NULL_TASK for one, write in zip(paths, writes, strict=True)):
            return writes
        order = sorted(range(len(writes)), key=paths.__getitem__)
        return [writes[at] for at in order]

    def _unordered(self, checkpoint_id: str) -> list[TaskWrite] | None:
        if checkpoint_id not in self.lineage:  # its row is lost: nothing shows what made it
            return None
        source = self.note(checkpoint_id).source
        writes = self._input_writes(checkpoint_id) if source == "input" else self._parent_writes(checkpoint_id, source)
        return [*self._command_writes(checkpoint_id, source), *writes] or None

    def _command_writes(self, checkpoint_id: str, source: str) -> list[TaskWrite]:
        """The writes of a ``Command`` that a run got as its input, on the parent of the checkpoint that the run made.

        The run applies them before its step (langgraph 1.2 ``pregel/_loop.py: _first``). Several steps may have begun
        at the parent; releases before 1.1 don't record which of them got the Command.
        """
        parent = self.lineage.parent(checkpoint_id) or self.lineage.missing(checkpoint_id)
        if parent is None or source not in _RUNS:
            return []
        own = [write for write in self.writes.get(parent, ()) if is_command(write)]
        if not own or self.spans_steps(checkpoint_id):
            return []
        return own if self._runs(parent) == [checkpoint_id] else []

    def _first_two_runs(self, parent: str) -> list[str]:
        return self._siblings.first_two(parent, _RUNS)

    def _first_two_loops(self, parent: str) -> list[str]:
        return self._siblings.first_two(parent, LOOPS)

    def _parent_writes(self, checkpoint_id: str, source: str) -> list[TaskWrite]:
        """The writes on the parent of a checkpoint that made this checkpoint; the parent's own row may be lost."""
        parent = self.lineage.parent(checkpoint_id) or self.lineage.missing(checkpoint_id)
        if parent is None or source == "fork":
            return []
        stored = self.writes.get(parent, [])
        if source == "update":
            first = self.first_with_source(parent, UPDATES) == checkpoint_id
            return [w for w in stored if is_update(w)] if first else []
        if self.first_with_source(parent, LOOPS) != checkpoint_id:
            return []
        made = [w for w in stored if (w.task_id != NULL_TASK or w.row.task_path) and not is_update(w)]
        if left_out := self.left_out.get(checkpoint_id):
            made = [w for w in made if (w.task_id, w.channel) not in left_out]
        return [w for w in made if is_of_run(w)] if self.spans_steps(checkpoint_id) else made

    def _input_writes(self, checkpoint_id: str) -> list[TaskWrite]:
        """The writes of an input.

        Unlike other writes, these are stored on the input's own checkpoint: the ``__start__`` task starts there.
        """
        own = [w for w in self.writes.get(checkpoint_id, []) if not (is_update(w) or is_command(w))]
        by_start = [write for write in own if pulled(path(write)) == START]
        if by_start or self.is_entrypoint(checkpoint_id):
            return by_start
        return [write for write in own if not write.row.task_path]

    def _is_entrypoint(self, checkpoint_id: str) -> bool:
        return any(write.channel in (END, PREVIOUS, RETURN) for write in self.writes.get(checkpoint_id, ()))

    def _first_with_source(self, parent: str, sources: frozenset[str]) -> str | None:
        return next(iter(self._siblings.first_two(parent, sources)), None)

    def _spans_steps(self, checkpoint_id: str) -> bool:
        return self.lineage.parent(checkpoint_id) is not None and self.unstored_steps(checkpoint_id) > 0

    def unstored_steps(self, checkpoint_id: str) -> int:
        """The number of steps between a checkpoint's parent, or the thread's beginning, and the checkpoint.

        With ``durability="exit"`` only a run's last checkpoint is stored. Of the steps before it, only the writes to
        delta channels are stored (langgraph 1.2 ``pregel/_loop.py: _put_exit_delta_writes``), so they don't show which
        nodes made the last step. It is the same if the checkpoints between were pruned or deleted.
        """
        own, parent = self.note(checkpoint_id), self.lineage.parent(checkpoint_id)
        if own.source not in ("loop", "input") or own.step is None:
            return 0
        if parent is None:
            is_first = self.lineage.rows[checkpoint_id].parent_id is None and ids.is_uuid6(checkpoint_id)
            return max(own.step + 1, 0) if is_first else 0
        before = self.note(parent).step
        return max(own.step - before - 1, 0) if before is not None else 0

    def takes_input(self, checkpoint_id: str) -> bool:
        """Whether the step that made a checkpoint took in an input, by metadata alone (up to langgraph 0.2.28)."""
        parent = self.lineage.parent(checkpoint_id)
        if parent is None or self.note(parent).source != "input" or self.note(checkpoint_id).source != "loop":
            return False
        return self.note(parent).outputs is not None and self.first_with_source(parent, LOOPS) == checkpoint_id

    def start_of(self, checkpoint_id: str) -> str | None:
        """The checkpoint at which the one step began that made this; "" if it is the first, None if it isn't known.

        langgraph 0.0.38 stored no parent with an input, which continued the newest checkpoint.
        """
        row, parent = self.lineage.rows[checkpoint_id], self.lineage.parent(checkpoint_id)
        if parent is not None:
            first, second = (self.note(i).step for i in (parent, checkpoint_id))
            return parent if first is None or second is None or first + 1 == second else None
        if row.parent_id is not None or not checkpoint_id or ids.is_uuid6(checkpoint_id):
            return None
        place = bisect_left(self._ids, checkpoint_id)
        return self._ids[place - 1] if place else ""

    @cached_property
    def _ids(self) -> list[str]:
        return list(self.lineage.rows)

    def tasks(self, checkpoint_id: str) -> dict[str, list[TaskWrite]]:
        """Task id to the writes that the task left on a checkpoint, in the order of the paths if these are known.

        Writes of ``update_state`` are left out, and those of tasks that another task called (functional API).
        """
        tasks = self.unsorted_tasks(checkpoint_id)
        paths = {task_id: self.path_of(writes[0]) or "" for task_id, writes in tasks.items()} if len(tasks) > 1 else {}
        return dict(sorted(tasks.items(), key=lambda task: paths[task[0]])) if paths and all(paths.values()) else tasks

    def _unsorted_tasks(self, checkpoint_id: str) -> dict[str, list[TaskWrite]]:
        tasks: dict[str, list[TaskWrite]] = {}
        for write in self.writes.get(checkpoint_id, []):
            if write.task_id != NULL_TASK and not is_update(write):
                tasks.setdefault(write.task_id, []).append(write)
        return {task_id: writes for task_id, writes in tasks.items() if not is_call(writes)}

    def _by_task(self, checkpoint_id: str) -> dict[str, list[TaskWrite]]:
        by_task: dict[str, list[TaskWrite]] = {}
        for write in self.writes.get(checkpoint_id, ()):
            by_task.setdefault(write.task_id, []).append(write)
        return by_task
