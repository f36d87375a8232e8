"""Which writes of a checkpoint ``edit --task`` kept: those of the other tasks, stored again.

The child that ``edit --task`` makes has the state of the edited checkpoint, but for one argument. No update of
LangGraph leaves that: it writes, and empties the channels that started tasks (1.2 ``pregel/_algo.py: apply_writes``).
What the kept writes show happened once, at the edited checkpoint.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ckpt_cli.history.lineage import ids
from ckpt_cli.history.state.channels import INTERRUPT, START, TASKS, without_bumps
from ckpt_cli.history.tasks.task_ids import push_path
from ckpt_cli.history.tasks.task_status import Status, status_of
from ckpt_cli.values.langgraph_values import Send, interrupts, items, js_send
from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.same import same
from ckpt_cli.values.state import State, TaskWrite


class PlacedTask(NamedTuple):
    """What one task left at a checkpoint.

    Attributes:
        has_subgraph: whether it called one that left checkpoints.
    """

    writes: Sequence[TaskWrite]
    has_subgraph: bool = False

    @property
    def has_finished(self) -> bool:
        """Whether it left an output; its writes stay as they are then."""
        return status_of(self.writes) is Status.FINISHED

    @property
    def starts_again(self) -> bool:
        """Whether ``edit --task`` can't keep its writes: it stopped in a subgraph, which belongs to its id."""
        return self.has_subgraph and not self.has_finished


Tasks = Mapping[str, PlacedTask]
"""The path of each task to what it left; it has the same path in the child. "" for a Command."""


def is_task_edit(before: State, after: State) -> bool:
    """Whether ``edit --task`` made a child (or, for delta channels, a sibling) of a checkpoint, and no update did.

    The checkpoint must have no writes of an update. One without values changes nothing either, but its id contains
    another step (see `ids`).
    """
    if after.source != "update" or before.step is None or after.step != before.step + 1:
        return False
    if ids.step(after.ref.checkpoint_id) != after.step or not _same_seen(before, after):
        return False
    changed = {c for c in before.versions.keys() | after.versions.keys() if not _same_version(c, before, after)}
    return changed <= {TASKS, START} and (TASKS not in changed or _corrected(before, after) is not None)


def kept_writes(before: State, after: State, old: Tasks, new: Tasks) -> Iterator[TaskWrite]:
    """The writes of the `new` tasks of such a child that are copies of those of the `old` ones.

    The task that was edited has none. Where only its start was asked for, no argument shows which one it is: then it
    must be shown by writes that are gone.
    """
    index = _corrected(before, after)
    lost = (path for path, task in old.items() if path and _is_lost(task, new.get(path)))
    edited = set(lost) if index is None else {push_path(index)}
    for path, task in new.items():
        origin = old.get(path)
        if origin is None or (path and (not edited or path in edited or origin.starts_again)):
            continue
        yield from (write for write in task.writes if any(_is_copy(one, write) for one in origin.writes))


def _same_seen(before: State, after: State) -> bool:
    return without_bumps(before.seen) == without_bumps(after.seen)


def _same_version(channel: str, before: State, after: State) -> bool:
    value = after.values.get(channel)
    is_snapshot = type(value) is Node and value.form is Form.SNAPSHOT
    return is_snapshot or before.versions.get(channel) == after.versions.get(channel)


def _corrected(before: State, after: State) -> int | None:
    """The index of the one Send that has another argument; None if there isn't exactly one."""
    old, new = _sends(before), _sends(after)
    if len(old) != len(new) or any(a is None or b is None or a.node != b.node for a, b in zip(old, new, strict=True)):
        return None
    other = [at for at, (a, b) in enumerate(zip(old, new, strict=True)) if not same(a, b)]
    return other[0] if len(other) == 1 else None


def _sends(state: State) -> list[Send | None]:
    return [js_send(one) for one in items(state.values.get(TASKS)) or []]


def _is_lost(task: PlacedTask, again: PlacedTask | None) -> bool:
    """Whether a task that was recorded surely has no kept writes, so that it is the one that was started again."""
    if task.has_subgraph:
        return False
    own = again.writes if again is not None else ()
    if task.has_finished:
        return not all(any(_is_copy(write, one) for one in own) for write in task.writes)
    places = {(one.row.idx, one.channel) for one in own}
    return not all((write.row.idx, write.channel) in places for write in task.writes)


def _is_copy(write: TaskWrite, copy: TaskWrite) -> bool:
    """Whether a write is the same; a question has the id of its task."""
    if (write.row.idx, write.channel) != (copy.row.idx, copy.channel):
        return False
    if write.channel != INTERRUPT:
        return write.row.payload == copy.row.payload
    asked, again = interrupts(write.value), interrupts(copy.value)
    return len(asked) == len(again) > 0 and all(same(a.value, b.value) for a, b in zip(asked, again, strict=True))
