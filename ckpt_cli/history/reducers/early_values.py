"""Lists that were stored with the items of the next step: a Topic that accumulates changes in place, and is stored later.

Checkpoints are stored in the background (``durability="async"``, the default), and a Topic gives its own list to them
(langgraph 1.2 ``channels/topic.py: checkpoint, update``). So a checkpoint may have what its children's step wrote.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from ckpt_cli.history.tasks.write_attribution import is_update
from ckpt_cli.model import NULL_TASK
from ckpt_cli.values.same import same
from ckpt_cli.values.state import TaskWrite

_NO_LISTS: dict[str, list[Any]] = {}


def without_later_items(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    written: Mapping[str, list[Any]],
    stored: Iterable[TaskWrite],
) -> dict[str, list[Any]]:
    """The lists in a checkpoint that are exactly what its step made, and the next step's items; without these items.

    Args:
        before: the channels before the step.
        after: the channels as the checkpoint has them.
        written: what the step wrote to each channel.
        stored: the writes stored on the checkpoint, in canonical order: those of the tasks that started there.
    """
    later: dict[str, list[TaskWrite]] = {}
    for write in stored:
        own = after.get(write.channel)
        if type(own) is list and len(own) > len(_list(before.get(write.channel))):
            later.setdefault(write.channel, []).append(write)
    if not later:
        return _NO_LISTS
    made = {channel: gathered(before.get(channel), written.get(channel, ())) for channel in later}
    return {channel: own for channel, own in made.items() if _has_more(after[channel], own, later[channel])}


def _has_more(value: list[Any], made: list[Any], later: Iterable[TaskWrite]) -> bool:
    if len(value) <= len(made):
        return False
    writes = [write.value for write in later if write.task_id != NULL_TASK and not is_update(write)]
    return bool(writes) and same(value, gathered(made, writes))


def _list(value: Any) -> list[Any]:
    return value if type(value) is list else []


def gathered(before: Any, writes: Iterable[Any]) -> list[Any]:
    """What a Topic makes of writes; a list adds its elements (1.2 ``channels/topic.py: _flatten``)."""
    return [*_list(before), *(item for write in writes for item in (write if isinstance(write, list) else [write]))]
