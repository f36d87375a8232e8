"""Lists stored with the items of later steps: a Topic that accumulates, and is stored late.

Checkpoints are stored in the background (``durability="async"``, the default), and a Topic gives its own list to them
(langgraph 1.2 ``channels/topic.py: checkpoint, update``). So a checkpoint may have what the next steps wrote.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ckpt_cli.values.same import same


class LaterStep(NamedTuple):
    """What one of the next steps wrote, channel to values, and the channels after it; none if they can't be read."""

    written: Mapping[str, list[Any]]
    after: Callable[[], Mapping[str, Any]]


Later = Callable[[], Iterable[LaterStep]]
"""Gives the next steps, one by one."""


def has_grown(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether some list is longer after a step."""
    lists = ((channel, value) for channel, value in after.items() if type(value) is list)
    return any(len(value) > _length(before.get(channel), ()) for channel, value in lists)


def without_later_items(
    before: Mapping[str, Any], after: Mapping[str, Any], written: Mapping[str, list[Any]], later: Later
) -> dict[str, list[Any]]:
    """The lists in a checkpoint that have exactly what its step made and the next items; without these items.

    Args:
        before: the channels before the step.
        after: the channels as the checkpoint has them.
        written: what the step wrote to each channel.
        later: gives the next steps.
    """
    early = {}
    for channel, value in after.items():
        if type(value) is list and len(value) > _length(before.get(channel), written.get(channel, ())):
            made = gathered(before.get(channel), written.get(channel, ()))
            if _is_continued(value, made, channel, later):
                early[channel] = made
    return early


def _is_continued(value: list[Any], made: list[Any], channel: str, later: Later) -> bool:
    """Whether the next items make a list whole, and it is still there after the step that wrote the last of them.

    A Topic that accumulates loses nothing; a list of two numbers that happens to look like two writes changes.
    """
    for step in later():
        made = gathered(made, step.written.get(channel, ()))
        if len(made) >= len(value):
            return same(value, made) and _begins_with(step.after().get(channel), value)
    return False


def _begins_with(after: Any, value: list[Any]) -> bool:
    return type(after) is not list or (len(after) >= len(value) and same(after[: len(value)], value))


def gathered(before: Any, writes: Iterable[Any]) -> list[Any]:
    """What a Topic makes of writes; a list adds its elements (1.2 ``channels/topic.py: _flatten``)."""
    items = (item for write in writes for item in (write if isinstance(write, list) else [write]))
    return [*(before if type(before) is list else ()), *items]


def _length(before: Any, writes: Iterable[Any]) -> int:
    """The length of `gathered`."""
    old = len(before) if type(before) is list else 0
    return old + sum(len(write) if isinstance(write, list) else 1 for write in writes)
