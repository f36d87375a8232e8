"""Keys by which the elements of lists are compared: an element's id, else a digest of its content.

An id identifies an element where it is the only one of its list that has it. Where several share one, as the events of
an order have its id, they are compared by content.
"""

from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Sequence
from math import isnan
from typing import Any, NamedTuple

from ckpt_cli.values.node import Node
from ckpt_cli.values.parts import fields
from ckpt_cli.values.same import same

_DEEPEST = 40

OwnId = str | int | None
"""The id that an element has, if any."""

Around = Callable[[], Iterable[OwnId]]


class Id(NamedTuple):
    """The key of an element that its id identifies."""

    id: str | int


def id_of(item: Any) -> OwnId:
    """The id of an element, by which it is known again; None if it has none."""
    own = fields(item).get("id") if isinstance(item, dict | Node) else None
    return own if isinstance(own, str | int) and own != "" else None


def keys(a: Sequence[Any], b: Sequence[Any], around: Around | None = None) -> tuple[list[Hashable], list[Hashable]]:
    """For each element of two lists its id, if it identifies it, else a number that equal contents share.

    Args:
        a: the first list.
        b: the second.
        around: gives the ids of elements that both lists have besides; asked only if an element changed.
    """
    old, new = [*map(id_of, a)], [*map(id_of, b)]
    shared = _repeated(old) | _repeated(new)
    if around is not None and (changed := _changed(a, b, old, new) - shared):
        shared |= changed.intersection(around())
    contents, others = _contents(a, b, old, new, shared)
    return [*map(_key, contents, old)], [*map(_key, others, new)]


def content_keys(a: Sequence[Any], b: Sequence[Any]) -> tuple[list[int | None], list[int | None]]:
    """For each element of two lists a number that equal contents share; None for an element that its id identifies."""
    old, new = [*map(id_of, a)], [*map(id_of, b)]
    return _contents(a, b, old, new, _repeated(old) | _repeated(new))


def digest(value: Any, depth: int = 0, *, raw: bool = True) -> int:
    """A hash that is equal for equal values; with `raw`, a node is hashed by its bytes, without decoding."""
    if isinstance(value, Node):
        if raw and value.raw is not None:
            return hash((value.encoding, value.raw))
        if depth > _DEEPEST:
            return 0
        identity, content, _ = value.compared
        if (members := value.members) is not None:  # a set: its elements have no order, and may be stored twice
            return hash((identity, *sorted(digest(item, depth + 2, raw=raw) for item in members)))
        return hash((identity, digest(content, depth + 1, raw=raw)))
    if depth > _DEEPEST:
        return 0
    if isinstance(value, dict):
        return hash(frozenset((type(key), key, digest(item, depth + 1, raw=raw)) for key, item in value.items()))
    if isinstance(value, list | tuple):
        return hash((type(value), *(digest(item, depth + 1, raw=raw) for item in value)))
    if isinstance(value, float) and isnan(value):
        return hash("nan")
    return hash((type(value), value))


def _contents(
    a: Sequence[Any], b: Sequence[Any], old: Sequence[OwnId], new: Sequence[OwnId], shared: Container[OwnId]
) -> tuple[list[int | None], list[int | None]]:
    raw = _encodings(a) == _encodings(b)
    first, second = (
        [digest(one, raw=raw) if own is None or own in shared else None for one, own in zip(items, ids, strict=True)]
        for items, ids in ((a, old), (b, new))
    )
    return first, second


def _key(content: int | None, own: OwnId) -> Hashable:
    return Id(own) if content is None and own is not None else content


def _repeated(ids: Sequence[OwnId]) -> set[OwnId]:
    """The ids that several elements of a list have; None may be among them."""
    return {own for own, times in Counter(ids).items() if times > 1} if len({*ids}) < len(ids) else set()


def _changed(a: Sequence[Any], b: Sequence[Any], old: Sequence[OwnId], new: Sequence[OwnId]) -> set[OwnId]:
    """The ids of elements that have another content in the second list."""
    places = {own: j for j, own in enumerate(new) if own is not None}
    return {own for i, own in enumerate(old) if own in places and not same(a[i], b[places[own]])}


def _encodings(items: Sequence[Any]) -> set[str]:
    """The encodings of the nodes in a list.

    Raw bytes are compared only if both lists have the same encodings: a newer release may store an equal object in
    other bytes.
    """
    return {item.encoding for item in items if isinstance(item, Node)}
