"""What reducers keep that choose: the greatest or least value, items that a list doesn't have yet.

Such a reducer looks like a last value or an append until a value falls, or an item comes twice.
"""

from collections.abc import Sequence
from typing import Any

from ckpt_cli.history.reducers.reducer import ABSENT, Undecided, Unfit
from ckpt_cli.values.node import Node
from ckpt_cli.values.ordering import Unordered, is_less, is_ordered, sign


def extreme(before: Any, writes: Sequence[Any], *, least: bool, supposing: bool = False) -> Any:
    """What ``max`` or ``min`` makes of a channel's value and writes.

    Args:
        before: the channel's value.
        writes: what is written to it.
        least: whether it is ``min``.
        supposing: whether an agent's class is supposed to have the order that Python makes for a class.

    Raises:
        Unfit: Python has no order between them.
        Undecided: only a class, or the type of the channel, knows what is left.
    """
    parts = [part for part in (before, *writes) if part is not ABSENT]
    kept = _kept(parts, least=least)
    if not supposing:
        try:
            _chosen(parts, least=least, supposing=False)
        except Unordered as error:
            raise Undecided("only the class of these objects knows their order") from error
    if before is ABSENT and (sign(kept) or 0) * (1 if least else -1) > 0:
        start = "0" if isinstance(kept, int | float) else "an empty value of its type"
        raise Undecided(f"the channel holds nothing, and whether it begins with {start} isn't known")
    return kept


def _kept(parts: Sequence[Any], *, least: bool) -> Any:
    if parts and not may_be_extreme(parts[0]):  # known at a glance, so that no list of messages is compared
        raise Unfit("Python has no order between such values")
    try:
        kept = _chosen(parts, least=least, supposing=True)
    except Unordered as error:
        raise Unfit("Python has no order between all of these values") from error
    if not may_be_extreme(kept):
        raise Unfit("Python has no order between such values")
    return kept


def may_be_extreme(value: Any) -> bool:
    """Whether ``max`` or ``min`` may have left a value; a null is nothing, so that any other value replaces it."""
    return value is None or is_ordered(value)


def _chosen(parts: Sequence[Any], *, least: bool, supposing: bool) -> Any:
    """The first of the greatest or least values. A null in front is left out: many reducers take it for nothing.

    Raises:
        Unordered: Python has no order between them, or only a class itself knows it.
    """
    kept = None
    for part in parts:
        low, high = (part, kept) if least else (kept, part)
        if kept is None or is_less(low, high, supposing=supposing):
            kept = part
    return kept


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
