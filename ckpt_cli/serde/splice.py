"""Encodes an edited value: only the edited parts are encoded anew, all other parts keep their bytes.

To encode everything anew would lose details that aren't part of the value: the spelling of numbers, the order of keys,
and damaged parts.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from ckpt_cli.values.node import Node
from ckpt_cli.values.same import same

_LEVELS = 60
"""How many levels deep an edit is traced; a deeper value is encoded as a whole."""


class Wire(Protocol):
    """One encoding (msgpack, or a kind of JSON): splits an encoded value into raw parts and joins them.

    Raw parts are encoded values: bytes or text.
    """

    def members(self, raw: Any) -> list[tuple[Any, Any, Any]] | None:
        """Key, raw key and raw value of each member of a map; None if `raw` is no map or damaged."""

    def elements(self, raw: Any) -> list[Any] | None:
        """The raw elements of an array; None if `raw` is no array or damaged."""

    def join_map(self, pairs: Sequence[tuple[Any, Any]]) -> Any:
        """A map of these raw keys and values."""

    def join_list(self, items: Sequence[Any]) -> Any:
        """An array of these raw elements."""

    def write(self, value: Any) -> Any:
        """A value, encoded as a whole."""

    def write_object(self, new: Node, old: Node, raw: Any, levels: int) -> Any:
        """An edited object; `raw` is the encoding of `old`."""


def splice(wire: Wire, new: Any, old: Any, raw: Any, levels: int = _LEVELS) -> Any:
    """The encoding of `new`, where `raw` is the encoding of `old`."""
    if same(new, old):
        return raw
    if levels and type(new) is type(old):
        if isinstance(new, dict) and (members := wire.members(raw)) is not None:
            return _map(wire, new, old, members, levels - 1)
        if isinstance(new, list) and (elements := wire.elements(raw)) is not None and len(elements) == len(old):
            return _list(wire, new, old, elements, levels - 1)
        if isinstance(new, Node):
            return wire.write_object(new, old, raw, levels - 1)
    return wire.write(new)


def _map(wire: Wire, new: dict[Any, Any], old: dict[Any, Any], members: list[tuple[Any, Any, Any]], levels: int) -> Any:
    raw_by_key = {key: (raw_key, raw) for key, raw_key, raw in members}
    pairs = []
    for key, value in new.items():
        if key in raw_by_key and key in old:
            raw_key, raw = raw_by_key[key]
            pairs.append((raw_key, splice(wire, value, old[key], raw, levels)))
        else:
            pairs.append((wire.write(key), wire.write(value)))
    return wire.join_map(pairs)


def _list(wire: Wire, new: list[Any], old: list[Any], elements: list[Any], levels: int) -> Any:
    """The encoding of an edited list.

    Equal elements at both ends keep their bytes. In the middle, an element that is the same Python object as an old
    element keeps the old bytes. The rest is compared with the old element at the same index.
    """
    shorter = min(len(new), len(old))
    head = next((i for i in range(shorter) if not same(new[i], old[i])), shorter)
    rest = shorter - head
    tail = next((i for i in range(rest) if not same(new[-1 - i], old[-1 - i])), rest)
    items = elements[:head]
    old_place = {id(item): at for at, item in enumerate(old[head : len(old) - tail], head)}
    for at in range(head, len(new) - tail):
        if id(new[at]) in old_place:
            items.append(elements[old_place[id(new[at])]])
        elif at < len(old) - tail:
            items.append(splice(wire, new[at], old[at], elements[at], levels))
        else:
            items.append(wire.write(new[at]))
    return wire.join_list([*items, *elements[len(old) - tail :]])
