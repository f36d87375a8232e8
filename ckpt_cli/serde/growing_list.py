"""Decode a list that grows from payload to payload without decoding its known elements again.

Most of a checkpoint is the conversation, and each checkpoint has all of it. If a payload contains the bytes of the
previous payload's list, the nodes of that list are used again, and only the elements after them are decoded. The rest
of the payload is decoded with a mark instead of the list. Bytes that only look like the list do no harm: the mark is
found as a value exactly if an array was there.
"""

from collections.abc import Callable, Iterator
from struct import pack
from typing import Any, NamedTuple

from ckpt_cli.serde import spans
from ckpt_cli.values.node import Node

_NAME = b"ckpt: a list is."  # 16 bytes, the size that has a header of its own
_MARK = b"\xd8\x7f" + _NAME
_CODES = range(8)
_LEAST = 16  # elements, below which decoding them is as fast
_HEAD = 64  # bytes of the list that are looked for before all of them are compared


class Cut(NamedTuple):
    """A payload without its list.

    Attributes:
        rest: the payload with a mark instead of the list.
        known: the elements of the previous list.
        items: the bytes of all elements.
        new: code and bytes of each further object.
    """

    rest: bytes
    known: list[Any]
    items: bytes
    new: list[tuple[int, bytes]]


class GrowingList:
    """The longest list of the previous payload, to be found in the next.

    Args:
        most: how many bytes of a list are kept at most.
        is_free: whether an object with these bytes decodes to the same node wherever it is; a list with other objects
            isn't kept.
    """

    def __init__(self, most: int, is_free: Callable[[bytes], bool]) -> None:
        self._most = most
        self._is_free = is_free
        self._list: list[Any] = []
        self._items: bytes | None = None

    def remember(self, value: Any, items: bytes | None = None) -> None:
        """Keep the longest list of a decoded payload; or, with `items`, this list, whose elements have these bytes."""
        if items is not None:
            self._list, self._items = value, items
            return
        self._list = max((one for _, _, one in _places(value) if type(one) is list), key=len, default=[])
        self._items = None

    def cut(self, data: bytes) -> Cut | None:
        """The payload without the kept list; None if it doesn't contain that list, or the list is too short."""
        if len(self._list) < _LEAST or not (items := self._bytes_within(data)):
            return None
        at = data.find(items[:_HEAD])
        if at < 1 or not data.startswith(items, at):
            return None
        start, count = _array(data, at)
        if count < len(self._list):
            return None
        new, end = [], at + len(items)
        try:
            for _ in range(count - len(self._list)):
                head = spans.head(data, end)
                added = data[head.start : head.end]
                if head.kind != spans.EXT or head.code not in _CODES or not self._is_free(added):
                    return None
                new.append((head.code, added))
                end = head.end
        except spans.DamageError:
            return None
        rest = b"".join((data[:start], _MARK, data[end:]))
        return Cut(rest, self._list, data[at:end] if new else items, new) if rest.count(_NAME) == 1 else None

    def _bytes_within(self, data: bytes) -> bytes:
        """The bytes of the kept list's elements; b"" if one is no object, or the payload hasn't the last one."""
        if self._items is None:
            last = self._list[-1]
            if type(last) is not Node or not last.raw or last.raw not in data:
                return b""
            parts = [_packed(one) for one in self._list]
            usable = all(parts) and sum(map(len, parts)) <= self._most and all(self._is_free(n.raw) for n in self._list)
            self._items = b"".join(parts) if usable else b""
        return self._items


def put_back(value: Any, whole: list[Any]) -> Any:
    """A decoded `Cut.rest` with the list instead of the mark; None if the mark isn't a value in it."""
    for container, key, one in _places(value):
        if type(one) is Node and one.raw == _NAME:
            if container is None:
                return whole
            container[key] = whole
            return value
    return None


def _places(value: Any) -> Iterator[tuple[dict[Any, Any] | None, Any, Any]]:
    """The values among which a list is searched, each with its container and key: two levels of dicts."""
    yield None, None, value
    for key, one in value.items() if type(value) is dict else ():
        yield value, key, one
        for inner, other in one.items() if type(one) is dict else ():
            yield one, inner, other


def _array(data: bytes, at: int) -> tuple[int, int]:
    """Where the header of the array begins whose first element is at `at`, and its count of elements; 0 if none is."""
    for byte, size in ((0xDC, 2), (0xDD, 4)):
        start = at - size - 1
        if start >= 0 and data[start] == byte:
            return start, int.from_bytes(data[start + 1 : at], "big")
    return at - 1, data[at - 1] & 0x0F if 0x90 <= data[at - 1] < 0xA0 else 0


def _packed(node: Any) -> bytes:
    """The msgpack bytes of an object; b"" if the value isn't one."""
    if type(node) is not Node or node.raw is None or not node.encoding.startswith("msgpack:"):
        return b""
    code, size = int(node.encoding[8:]), len(node.raw)
    if code not in _CODES:
        return b""
    fixed = {1: b"\xd4", 2: b"\xd5", 4: b"\xd6", 8: b"\xd7", 16: b"\xd8"}.get(size)
    if fixed is not None:
        head = fixed
    elif size < 1 << 8:
        head = pack(">BB", 0xC7, size)
    elif size < 1 << 16:
        head = pack(">BH", 0xC8, size)
    else:
        head = pack(">BI", 0xC9, size)
    return head + bytes([code]) + node.raw
