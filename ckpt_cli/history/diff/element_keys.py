"""Keys by which the elements of lists are compared: an element's id, else a digest of its content."""

from collections.abc import Hashable, Sequence
from math import isnan
from typing import Any, NamedTuple

from ckpt_cli.values.node import Node
from ckpt_cli.values.parts import fields

_DEEPEST = 40


class Id(NamedTuple):
    """The key of an element that has an id."""

    id: str | int


def id_of(item: Any) -> str | int | None:
    """The id of an element, by which it is known again; None if it has none."""
    own = fields(item).get("id") if isinstance(item, dict | Node) else None
    return own if isinstance(own, str | int) and own != "" else None


def keys(a: Sequence[Any], b: Sequence[Any]) -> tuple[list[Hashable], list[Hashable]]:
    """For each element of two lists its id, or a number that equal contents share."""
    raw = _encodings(a) == _encodings(b)
    old, new = ([_key(one, raw) for one in some] for some in (a, b))
    return old, new


def content_keys(a: Sequence[Any], b: Sequence[Any]) -> tuple[list[Hashable | None], list[Hashable | None]]:
    """The same keys; None for an element with an id."""
    old, new = ([None if isinstance(key, Id) else key for key in some] for some in keys(a, b))
    return old, new


def digest(value: Any, depth: int = 0, *, raw: bool = True) -> int:
    """A hash that is equal for equal values; with `raw`, a node is hashed by its bytes, without decoding."""
    if isinstance(value, Node):
        if raw and value.raw is not None:
            return hash((value.encoding, value.raw))
        if depth > _DEEPEST:
            return 0
        if (members := value.members) is not None:  # a set: its elements have no order, and may be stored twice
            return hash((value.type, value.form, *sorted(digest(item, depth + 2, raw=raw) for item in members)))
        return hash((value.type, value.form, digest(value.state, depth + 1, raw=raw)))
    if depth > _DEEPEST:
        return 0
    if isinstance(value, dict):
        return hash(frozenset((type(key), key, digest(item, depth + 1, raw=raw)) for key, item in value.items()))
    if isinstance(value, list | tuple):
        return hash((type(value), *(digest(item, depth + 1, raw=raw) for item in value)))
    if isinstance(value, float) and isnan(value):
        return hash("nan")
    return hash((type(value), value))


def _key(item: Any, raw: bool) -> Hashable:
    own = id_of(item)
    return digest(item, raw=raw) if own is None else Id(own)


def _encodings(items: Sequence[Any]) -> set[str]:
    """The encodings of the nodes in a list.

    Raw bytes are compared only if both lists have the same encodings: a newer release may store an equal object in
    other bytes.
    """
    return {item.encoding for item in items if isinstance(item, Node)}
