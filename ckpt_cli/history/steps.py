"""How each checkpoint of a namespace came to be: which node made it and what it changed.

What stands here follows from one fact: the writes stored with a checkpoint are what the tasks that started from it
produced, and they made its *first* ``loop`` child. A second child (a replay, an update, a fork) is not credited with
them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ckpt_cli.history import channels, ids
from ckpt_cli.history.changes import (
    UNKNOWN,
    Change,
    Habit,
    between,
    changes,
    habits,
    is_output,
    outputs_by_node,
    recorded,
)
from ckpt_cli.history.channels import CONTROL_WRITES, END, PREVIOUS, RETURN, START, TASKS
from ckpt_cli.history.lineage import Lineage
from ckpt_cli.history.tasks import Place, caller, pulled, sent, trigger_sets
from ckpt_cli.model import NULL_TASK
from ckpt_cli.values.known import js_send, overwrite
from ckpt_cli.values.state import State, TaskWrite

_BACK = 200  # steps up a line that are searched for what was written before


@dataclass(frozen=True, slots=True)
class Note:
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


class Steps:
    """What is known of the checkpoints of one namespace; `notes` and `writes` may be filled in as they are read."""

    def __init__(self, lineage: Lineage, ns: str = "") -> None:
        self.lineage = lineage
        self.ns = ns
        self.notes: dict[str, Note] = {}
        self.writes: dict[str, list[TaskWrite]] = {}
        self.habits: dict[str, Habit] = {}
        self._triggers: dict[str, set[str]] | None = None
        self._compared: dict[str, list[Change]] = {}

    def note(self, checkpoint_id: str) -> Note:
        """What metadata tells, or only what the id does where it was not read."""
        return self.notes.get(checkpoint_id) or Note("", ids.step(checkpoint_id), {})

    def fill(self, writes: Mapping[str, list[TaskWrite]]) -> None:
        """Take in writes, by the checkpoint they are stored on; those with values go over those without."""
        self.writes.update(writes)
        self._triggers = None

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
        """The checkpoints whose writes tell how these came to be."""
        found: set[str] = set()
        for checkpoint_id in checkpoint_ids:
            parent = self.lineage.parent(checkpoint_id)
            found.add(checkpoint_id)
            if parent is not None:
                found.add(parent)
        return found

    def credited(self, checkpoint_id: str) -> list[TaskWrite] | None:
        """The writes that made a checkpoint; None where none that are stored did.

        What came in with an input is written by ``__start__``, which starts from the input's own checkpoint.
        """
        told = self.note(checkpoint_id)
        if told.source == "input":
            return self._inputs(checkpoint_id)
        parent = self.lineage.parent(checkpoint_id)
        if parent is None or told.source == "fork":
            return None
        kept = self.writes.get(parent, [])
        updates = [write for write in kept if self._is_update(write)]
        if told.source == "update":
            return (updates or None) if self._first(parent, {"update"}) == checkpoint_id else None
        if self._first(parent, {"loop", ""}) != checkpoint_id:
            return None
        return [w for w in kept if w.task_id != NULL_TASK or w.row.task_path] if len(kept) > len(updates) else None

    def _inputs(self, checkpoint_id: str) -> list[TaskWrite] | None:
        own = [write for write in self.writes.get(checkpoint_id, []) if not self._is_update(write)]
        named = [write for write in own if _path(write) and pulled(_path(write)) == START]
        entrypoint = any(write.channel in (END, PREVIOUS, RETURN) for write in own)
        return named or ([w for w in own if not w.row.task_path] if not entrypoint else []) or None

    def _first(self, parent: str, sources: set[str]) -> str | None:
        children = self.lineage.children.get(parent, [])
        return next((child for child in children if self.note(child).source in sources), None)

    def _is_update(self, write: TaskWrite) -> bool:
        if write.row.task_path:
            return write.row.task_path.startswith("~__interrupt__")
        return write.task_id[14:15] == "5" and write.task_id == _update_id(write.row.checkpoint_id)

    def tasks(self, checkpoint_id: str) -> dict[str, list[TaskWrite]]:
        """The writes stored on a checkpoint by the task that wrote them, without updates and calls of other tasks."""
        found: dict[str, list[TaskWrite]] = {}
        for write in self.writes.get(checkpoint_id, []):
            if write.task_id != NULL_TASK and not self._is_update(write) and caller(_path(write)) is None:
                found.setdefault(write.task_id, []).append(write)
        return found

    def nodes(self, checkpoint_id: str) -> dict[str, int]:
        """The nodes that made a checkpoint and how many tasks each had, in the order of their writes; {} if unknown."""
        told = self.note(checkpoint_id)
        outputs = outputs_by_node(told.outputs, told.source)
        if told.source == "input":
            return {}
        if told.source == "update":
            return dict.fromkeys(outputs, 1)
        by_task: dict[str, list[TaskWrite]] = {}
        for write in self.credited(checkpoint_id) or ():
            if caller(_path(write)) is None:
                by_task.setdefault(_task(write), []).append(write)
        found: dict[str, int] = {}
        for kept in by_task.values():
            if any(write.channel not in CONTROL_WRITES for write in kept):
                name = self.node(kept[0]) or (next(iter(outputs)) if len(outputs) == 1 else "?")
                found[name] = found.get(name, 0) + 1
        if set(found) <= {"?"} and outputs:
            return dict.fromkeys(outputs, 1)
        return found

    def node(self, write: TaskWrite) -> str | None:
        """The node of the task that wrote this; None where nothing tells."""
        path = _path(write)
        if path:
            index = sent(path)
            return pulled(path) if index is None else self._called(write.row.checkpoint_id, index)
        if self.note(write.row.checkpoint_id).source == "input":
            return START if write.channel not in (END, PREVIOUS) else None
        return self._recomputed(write.row.checkpoint_id, write.task_id)

    def _called(self, checkpoint_id: str, index: int) -> str | None:
        """The node of the Send at a place among those a checkpoint starts with."""
        packets = [write for write in self.credited(checkpoint_id) or () if write.channel == TASKS]
        if index >= len(packets) or not packets[index].read:
            return None
        known = js_send(packets[index].value)
        return known.node if known is not None else None

    def calls(self, checkpoint_id: str) -> bool:
        """Whether a checkpoint was made by a Send whose node is not known yet, for want of its value."""
        writes = self.credited(checkpoint_id) or ()
        return any(sent(_path(write)) is not None and self.node(write) is None for write in writes)

    def _recomputed(self, checkpoint_id: str, task_id: str) -> str | None:
        """The node whose task would have this id: databases without task paths tell it no other way."""
        step = self.note(checkpoint_id).step
        if step is None or not ids.is_uuid6(checkpoint_id):
            return None
        place = Place(checkpoint_id, self.ns, step + 1, 4)
        due = [t for w in self.credited(checkpoint_id) or () if (t := channels.target(w.channel)) is not None]
        packets = [w for w in self.credited(checkpoint_id) or () if w.channel == TASKS]
        for index, packet in enumerate(packets):
            known = js_send(packet.value) if packet.read else None
            if known is not None and task_id in place.push(known.node, index):
                return known.node
        for node in dict.fromkeys([*due, *self._known_triggers()]):
            for triggers in trigger_sets(self._known_triggers().get(node, {f"branch:to:{node}"})):
                if task_id in place.pull(node, triggers):
                    return node
        return due[0] if len(set(due)) == 1 and not packets and len(self.tasks(checkpoint_id)) == 1 else None

    def _known_triggers(self) -> dict[str, set[str]]:
        if self._triggers is None:
            self._triggers = {}
            for channel in {write.channel for kept in self.writes.values() for write in kept}:
                if (node := channels.target(channel)) is not None:
                    self._triggers.setdefault(node, {f"branch:to:{node}"}).add(channel)
        return self._triggers

    def changes(self, checkpoint_id: str) -> list[Change] | None:
        """What a step changed; None where nothing that is stored tells."""
        told = self.note(checkpoint_id)
        credited = self.credited(checkpoint_id)
        outputs = [] if credited is None else self.outputs(credited)
        if checkpoint_id in self._compared:
            return self._compared[checkpoint_id]
        if outputs or (credited is not None and told.outputs is None):
            return changes(outputs, self.habits, lambda channel: self._before(channel, checkpoint_id))
        return None if told.outputs is None else recorded(told.outputs, told.source, self.habits)

    def written(self, writes: Sequence[TaskWrite]) -> list[Change]:
        """What a task that waits for its siblings will change, as far as its writes tell."""
        return changes(self.outputs(writes), self.habits)

    def outputs(self, writes: Sequence[TaskWrite]) -> list[TaskWrite]:
        """Those of the writes that change the user's state or send."""
        return [w for w in writes if caller(_path(w)) is None and is_output(w, self.node(w) or self._self_named(w))]

    def _self_named(self, write: TaskWrite) -> str | None:
        """A node told by its own plain edge, where it is an update's (no task, so no node)."""
        return (
            None if self.note(write.row.checkpoint_id).outputs is None else _only(self.nodes(write.row.checkpoint_id))
        )

    def _before(self, channel: str, checkpoint_id: str) -> Any:
        last = next(self._written(channel, self.lineage.parent(checkpoint_id)), [])
        return last[0] if len(last) == 1 and overwrite(last[0]) is None else UNKNOWN

    def compare(self, state: State, parent: State) -> None:
        """Take in two decoded states where no writes tell what the step between them changed."""
        moved = [c for c in channels.user_channels(state) if state.versions.get(c) != parent.versions.get(c)]
        self._compared[state.ref.checkpoint_id] = [
            between(channel, parent.values.get(channel, UNKNOWN), state.values[channel])
            for channel in moved
            if channel in state.values
        ]

    def _written(self, channel: str, checkpoint_id: str | None) -> Iterator[list[Any]]:
        """What each step on the line up from here wrote to a channel, newest first, as long as all of it was read."""
        line = self.lineage.line(checkpoint_id) if checkpoint_id is not None else iter(())
        for at in islice(line, _BACK):
            if self.note(at).source == "input":
                continue
            credited = self.credited(at)
            if credited is None and self.note(at).source != "fork":
                return
            some = [write for write in credited or () if write.channel == channel]
            if not all(write.read for write in some):
                return
            if some:
                yield [write.value for write in some]

    def learn(self, state: State) -> None:
        """Take in what a decoded state proves of how its channels treat writes."""
        written = {c: list(islice(self._written(c, state.ref.checkpoint_id), 3)) for c in state.values}
        self.habits.update(habits(state.values, written))


def _only(nodes: Mapping[str, int]) -> str | None:
    return next(iter(nodes)) if len(nodes) == 1 else None


def _task(write: TaskWrite) -> str:
    return write.row.task_path if write.row.task_path.startswith("~~") else write.task_id


def _path(write: TaskWrite) -> str:
    """The task's path; ``durability="exit"`` puts the step in front of it (``~~0000000001~__pregel_pull, a``)."""
    path = write.row.task_path
    return path[path.index("~", 2) :] if path.startswith("~~") and "~" in path[2:] else path


def _update_id(checkpoint_id: str) -> str:
    return Place(checkpoint_id, "", 0, 4).update if ids.is_uuid6(checkpoint_id) else ""
