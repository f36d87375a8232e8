"""What reducers keep that choose: the greatest or least number, items that a list doesn't have yet.

Such a reducer looks like a last value or an append until a number falls, or an item comes twice.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ckpt_cli.values.node import Node


def extreme(choose: Callable[[float, float], float], parts: Sequence[Any]) -> float | None:
    """The number that is left of several by ``max`` or ``min``; None if not all are numbers."""
    if not parts or not all(isinstance(part, int | float) and not isinstance(part, bool) for part in parts):
        return None
    kept = parts[0]
    for part in parts[1:]:
        kept = choose(kept, part)
    number: float = kept
    return number


def with_new_items(before: list[Any], writes: Sequence[Any]) -> list[Any] | None:
    """A list with those items of the writes that it doesn't have; None if it isn't known which these are.

    Only a class itself knows which of its objects are equal. If one write has an item twice, reducers that drop known
    items do different things.
    """
    joined = list(before)
    if sum(len(write) for write in writes if isinstance(write, list)) > _FEW:
        return _with_many_new_items(joined, writes)
    for write in writes:
        if not isinstance(write, list) or not all(map(_is_plain, write)):
            return None
        new = [item for item in write if item not in joined]
        if any(item in new[:place] for place, item in enumerate(new)):
            return None
        joined += new
    return joined


_FEW = 20  # items that are looked for one by one; for more, the keys of all items are made first


def _with_many_new_items(joined: list[Any], writes: Sequence[Any]) -> list[Any] | None:
    known = set(map(item_key, joined))
    for write in writes:
        if not isinstance(write, list) or not all(map(_is_plain, write)):
            return None
        new = {key: item for item in write if (key := item_key(item)) not in known}
        if len(new) < sum(item_key(item) not in known for item in write):
            return None
        joined += new.values()
        known |= new.keys()
    return joined


def item_key(value: Any) -> Any:
    """A key that is equal for those plain values that Python holds equal."""
    if isinstance(value, dict):
        return dict, frozenset((key, item_key(one)) for key, one in value.items())
    return (list, *map(item_key, value)) if isinstance(value, list) else value


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    return all(map(_is_plain, value)) if isinstance(value, list) else not isinstance(value, Node)
