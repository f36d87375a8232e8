"""Which of the writes stored on a checkpoint are in the channels of one of its children.

All children of a checkpoint share the writes that are stored on it. A run's writes are in its first ``loop`` child, and
the writes of ``update_state`` in the first ``update`` child. A later child's own writes are stored nowhere: a saver
keeps the older row of the same task and index (langgraph-checkpoint-sqlite 3.1 ``put_writes``).
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple
from uuid import UUID, uuid5

from ckpt_cli.history.lineage import ids
from ckpt_cli.history.tasks.write_makers import is_of_run, is_update
from ckpt_cli.model import NULL_TASK
from ckpt_cli.values.state import State, TaskWrite

Siblings = Callable[[], Iterable[State]]
"""Gives the children of a checkpoint, oldest first."""


class BranchWrites(NamedTuple):
    """The stored writes that are in one child.

    Attributes:
        lost: the channels that the child changed by writes that are not stored.
    """

    writes: Sequence[TaskWrite]
    lost: frozenset[str] = frozenset()


def branch_writes(
    child: State, parent: State, stored: Sequence[TaskWrite], siblings: Siblings | None = None
) -> BranchWrites:
    """The writes stored on the parent that are in this child.

    A channel that has the parent's version was not written. An only child has all writes: the library counts them all
    (langgraph-checkpoint 4.3 ``base/__init__.py: get_delta_channel_history``). An input has none of the writes of
    tasks: it drops the tasks that have not finished (langgraph 1.2 ``pregel/_loop.py: _first``).

    Args:
        child: the checkpoint whose parent is `parent`.
        parent: the checkpoint that bears the writes.
        stored: all writes stored on the parent, in canonical order.
        siblings: gives all children of the parent, oldest first; None if `child` is the only one.
    """
    written = [write for write in stored if _changed(write.channel, child, parent)]
    if child.source == "input":
        return BranchWrites([write for write in written if not of_task(write)])
    if siblings is None or not written:
        return BranchWrites(written)
    older = takewhile(lambda one: one.ref != child.ref, siblings())
    if child.source == "fork":
        return _copied(child, parent, written, list(older))
    own = [write for write in written if write.task_id == NULL_TASK or is_update(write) == (child.source == "update")]
    if any((one.source == "update") == (child.source == "update") for one in older if one.source != "fork"):
        return BranchWrites([], _channels(written))
    return BranchWrites(own, _channels(written) - _channels(own))


def _copied(child: State, parent: State, written: Sequence[TaskWrite], older: Sequence[State]) -> BranchWrites:
    """The writes in a copy, which are those of the child that was copied: it has the same version of the channel."""
    own: list[TaskWrite] = []
    lost = frozenset[str]()
    for channel in _channels(written):
        same_version = (one for one in older if one.versions.get(channel) == child.versions.get(channel))
        original = next((one for one in same_version if one.source != "fork"), None)
        if original is None:
            lost |= {channel}
            continue
        of_original = branch_writes(original, parent, [w for w in written if w.channel == channel], lambda: older)
        own, lost = [*own, *of_original.writes], lost | of_original.lost
    return BranchWrites(own, lost)


def _changed(channel: str, child: State, parent: State) -> bool:
    return bool(child.damage or parent.damage) or child.versions.get(channel) != parent.versions.get(channel)


def _channels(writes: Iterable[TaskWrite]) -> frozenset[str]:
    return frozenset(write.channel for write in writes)


def of_task(write: TaskWrite) -> bool:
    """Whether a task of the next step made this write, not an input, a command, or a run that stored it at its end."""
    row = write.row
    if row.task_id == NULL_TASK or is_of_run(write):
        return False
    if row.task_id[14:15] != "5":  # an input's id is a UUID of version 5
        return True
    return not (ids.is_uuid6(row.checkpoint_id) and row.task_id == _input_task(row.checkpoint_id))


@lru_cache(1000)
def _input_task(checkpoint_id: str) -> str:
    """The id under which an input's writes to delta channels are stored (langgraph 1.2 ``pregel/_loop.py: _first``)."""
    return str(uuid5(UUID(checkpoint_id), "__input__"))
