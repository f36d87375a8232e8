"""Which writes made which checkpoint.

The writes stored with a checkpoint are what the tasks that started from it produced, and they made its *first* ``loop``
child. A second child (a replay, an update, a fork) is not credited with them.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, NamedTuple

from ckpt_cli.history.lineage import ids
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.state.channels import END, PREVIOUS, RETURN, START
from ckpt_cli.history.tasks.task_ids import Place, caller, pulled
from ckpt_cli.model import NULL_TASK
from ckpt_cli.values.state import TaskWrite

_LOOPS = frozenset({"loop", ""})


class Note(NamedTuple):
    """What metadata tells of a checkpoint.

    Attributes:
        parents: for a subgraph's checkpoint, namespace to the checkpoint there that it was called from.
        outputs: node to what it gave (``writes``, up to langgraph 0.4); None where not recorded.
    """

    source: str
    step: int | None
    parents: Mapping[str, str]
    outputs: Any = None


def note(metadata: Any, checkpoint_id: str) -> Note:
    """Metadata as stored, with the step from the id where it tells none."""
    known = metadata if isinstance(metadata, dict) else {}
    source, step, parents = known.get("source"), known.get("step"), known.get("parents")
    return Note(
        source if isinstance(source, str) else "",
        step if isinstance(step, int) else ids.step(checkpoint_id),
        {ns: i for ns, i in parents.items() if isinstance(i, str)} if isinstance(parents, dict) else {},
        known.get("writes"),
    )


class Credit:
    """The writes of one namespace, shared out among the checkpoints they made; filled in as it is read."""

    def __init__(self, lineage: Lineage) -> None:
        self.lineage = lineage
        self.notes: dict[str, Note] = {}
        self.writes: dict[str, list[TaskWrite]] = {}
        self._credits: dict[str, list[TaskWrite] | None] = {}

    def note(self, checkpoint_id: str) -> Note:
        """What metadata tells, or only what the id does where it was not read."""
        return self.notes.get(checkpoint_id) or Note("", ids.step(checkpoint_id), {})

    def fill(self, notes: Mapping[str, Note], writes: Mapping[str, list[TaskWrite]]) -> None:
        """Take in metadata, and writes by the checkpoint they are stored on; the later ones replace the earlier."""
        self.notes.update(notes)
        self.writes.update(writes)
        self._credits.clear()

    def relatives(self, checkpoint_ids: Iterable[str]) -> set[str]:
        """These and all whose kind decides which writes are credited to them: parents, grandparents, their children."""
        found: set[str] = set()
        for checkpoint_id in checkpoint_ids:
            found.add(checkpoint_id)
            for older in islice(self.lineage.line(checkpoint_id), 1, 3):
                found.add(older)
                found.update(self.lineage.children[older])
        return found

    def sources(self, checkpoint_ids: Iterable[str]) -> set[str]:
        """The checkpoints whose writes made these, with the node of each write."""
        return {older for checkpoint_id in checkpoint_ids for older in islice(self.lineage.line(checkpoint_id), 3)}

    def credited(self, checkpoint_id: str) -> list[TaskWrite] | None:
        """The writes that made a checkpoint; None where none that are stored did.

        What came in with an input is written by ``__start__``, which starts from the input's own checkpoint.
        """
        if checkpoint_id not in self._credits:
            source = self.note(checkpoint_id).source
            found = self._given(checkpoint_id) if source == "input" else self._made(checkpoint_id, source)
            self._credits[checkpoint_id] = found or None
        return self._credits[checkpoint_id]

    def _made(self, checkpoint_id: str, source: str) -> list[TaskWrite]:
        parent = self.lineage.parent(checkpoint_id)
        if parent is None or source == "fork":
            return []
        kept = self.writes.get(parent, [])
        if source == "update":
            return [w for w in kept if is_update(w)] if self.first(parent, {"update"}) == checkpoint_id else []
        if self.first(parent, _LOOPS) != checkpoint_id:
            return []
        return [w for w in kept if (w.task_id != NULL_TASK or w.row.task_path) and not is_update(w)]

    def _given(self, checkpoint_id: str) -> list[TaskWrite]:
        own = [write for write in self.writes.get(checkpoint_id, []) if not is_update(write)]
        named = [write for write in own if pulled(path(write)) == START]
        if named or self.is_entrypoint(checkpoint_id):
            return named
        return [write for write in own if not write.row.task_path]

    def is_entrypoint(self, checkpoint_id: str) -> bool:
        """Whether an entrypoint of the functional API started from here, which takes an input by itself."""
        return any(write.channel in (END, PREVIOUS, RETURN) for write in self.writes.get(checkpoint_id, ()))

    def first(self, parent: str, sources: Iterable[str]) -> str | None:
        """The oldest child of one of these kinds."""
        children = self.lineage.children.get(parent, [])
        return next((child for child in children if self.note(child).source in sources), None)

    def takes_input(self, checkpoint_id: str) -> bool:
        """Whether it is the step that took an input in, where no writes tell (langgraph 0.2.28 and before)."""
        parent = self.lineage.parent(checkpoint_id)
        if parent is None or self.note(parent).source != "input" or self.note(checkpoint_id).source != "loop":
            return False
        return self.note(parent).outputs is not None and self.first(parent, _LOOPS) == checkpoint_id

    def tasks(self, checkpoint_id: str) -> dict[str, list[TaskWrite]]:
        """The writes stored on a checkpoint by the task that wrote them, without updates and calls of other tasks."""
        found: dict[str, list[TaskWrite]] = {}
        for write in self.writes.get(checkpoint_id, []):
            if write.task_id != NULL_TASK and not is_update(write) and caller(path(write)) is None:
                found.setdefault(write.task_id, []).append(write)
        return found


def path(write: TaskWrite) -> str:
    """The task's path; ``durability="exit"`` puts the step in front of it (``~~0000000001~__pregel_pull, a``)."""
    stored = write.row.task_path
    return stored[stored.index("~", 2) :] if stored.startswith("~~") and "~" in stored[2:] else stored


def is_update(write: TaskWrite) -> bool:
    """Whether ``update_state`` wrote it, as which no task did (langgraph 1.2 ``pregel/main.py: _bulk_update``)."""
    row = write.row
    if row.task_path:
        return row.task_path.startswith("~__interrupt__")
    if row.task_id[14:15] != "5" or not ids.is_uuid6(row.checkpoint_id):
        return False
    return row.task_id == Place(row.checkpoint_id, "", 0, 4).update
