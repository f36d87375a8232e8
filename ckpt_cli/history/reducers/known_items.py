"""Items of a list that come again: equal objects, and items known by a field, as an ``id`` or a ``url``."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from ckpt_cli.values.node import Node
from ckpt_cli.values.same import sort_key

_MANY = 8  # if a field tells so many items apart, it may be what they are known by, whatever its name is
_ID_NAMES = frozenset(
    {"id", "uuid", "key", "url", "uri", "href", "link", "path", "name", "title", "slug", "doi", "hash"}
)


class KnownItems:
    """The items of a list, by their values in some fields.

    A field that two items share, or that one lacks, tells none apart, unless its name is that of an id: an Overwrite or
    an edit may have put those beside each other, and the reducer would not have.

    Args:
        items: the list.
        fields: the fields that are looked at.
    """

    def __init__(self, items: Iterable[Any], fields: Collection[Any]) -> None:
        self._by_value: dict[Any, dict[Any, Any]] = {field: {} for field in fields}
        self._count = 0
        self._has_id = False
        for item in items:
            self.add(item)

    def add(self, item: Any) -> None:
        """Count one more item of the list."""
        own = fields_of(item)
        self._has_id |= not self._count and any(map(_names_items, own))
        self._count += 1
        for field, by_value in [*self._by_value.items()]:
            value = own.get(field)
            is_value = type(value) in (str, int)
            if is_value and (value not in by_value or _names_items(field)):
                by_value[value] = item
            elif not _names_items(field):
                del self._by_value[field]

    def alike(self, item: Any) -> Iterator[tuple[Any, Any]]:
        """Each field by which this item is one that the list has, and that item."""
        for field, value in fields_of(item).items():
            if type(value) not in (str, int) or value not in self._by_value.get(field, {}):
                continue
            if _names_items(field) or (self._count >= _MANY and not self._has_id):
                yield field, self._by_value[field][value]


def may_be_alike(items: Sequence[Any], new: Sequence[Any]) -> bool:
    """Whether `KnownItems` may find a new item alike; most lists only grow, and this is faster."""
    fields = {field for item in new for field in fields_of(item)}
    first = next(iter(items or new), None)
    if any(map(_names_items, fields_of(first))):
        fields = {field for field in fields if _names_items(field)}
    for field in fields:
        found = (fields_of(item).get(field) for item in chain(items, new))
        values = [value for value in found if type(value) in (str, int)]
        if len(set(values)) < len(values):
            return True
    return False


def has_object_again(items: Iterable[Any], new: Iterable[Any]) -> bool:
    """Whether a new item is an object that equals another new one, or one that the list has.

    Objects of one encoding are compared by their bytes; a set has them in an order that means nothing, and what a
    person typed, or Redis has as JSON, has none.
    """
    objects, before = ([item for item in some if isinstance(item, Node)] for some in (new, items))
    by_content = any(one.raw is None or one.unordered for one in objects) or any(one.raw is None for one in before)

    def key(one: Node) -> Any:
        return repr(sort_key(one)) if by_content else (one.encoding, one.raw)

    keys = {key(one) for one in objects}
    if len(keys) < len(objects):
        return True
    return bool(keys) and any(key(item) in keys for item in before)


def _names_items(field: Any) -> bool:
    return isinstance(field, str) and (field.lower() in _ID_NAMES or field.lower().endswith(("_id", "_key", "_url")))


def fields_of(item: Any) -> Mapping[Any, Any]:
    """The fields of an object or dict; none for other values."""
    if type(item) is dict:
        return item
    fields = item.fields if isinstance(item, Node) else item
    return fields if isinstance(fields, Mapping) else {}
