"""Lists stored with the items of later steps: a Topic that accumulates, and is stored late.

Checkpoints are stored in the background (``durability="async"``, the default), and a Topic gives its own list to them
(langgraph 1.2 ``channels/topic.py: checkpoint, update``). So a checkpoint may have what the next steps wrote.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ckpt_cli.values.same import same

Later = Callable[[], Iterable[Mapping[str, list[Any]]]]
"""Gives what each of the next steps wrote, step by step: channel to values."""


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
        later: gives what the next steps wrote.
    """
    early = {}
    for channel, value in after.items():
        if type(value) is list and len(value) > _length(before.get(channel), written.get(channel, ())):
            made = gathered(before.get(channel), written.get(channel, ()))
            if _is_continued(value, made, channel, later):
                early[channel] = made
    return early


def _is_continued(value: list[Any], made: list[Any], channel: str, later: Later) -> bool:
    for step in later():
        made = gathered(made, step.get(channel, ()))
        if len(made) >= len(value):
            return same(value, made)
    return False


def gathered(before: Any, writes: Iterable[Any]) -> list[Any]:
    """What a Topic makes of writes; a list adds its elements (1.2 ``channels/topic.py: _flatten``)."""
    items = (item for write in writes for item in (write if isinstance(write, list) else [write]))
    return [*(before if type(before) is list else ()), *items]


def _length(before: Any, writes: Iterable[Any]) -> int:
    """The length of `gathered`."""
    old = len(before) if type(before) is list else 0
    return old + sum(len(write) if isinstance(write, list) else 1 for write in writes)
