"""A list that grows from payload to payload (a conversation): known elements aren't decoded again.

Most of a checkpoint is the conversation, and each checkpoint has the whole conversation. If a payload contains the
bytes of the previous payload's list, the nodes of that list are used again, and only the elements after them are
decoded. The rest of the payload is decoded with a mark instead of the list. If other bytes only look like the list, no
harm is done: the mark doesn't decode to a value of its own then, and `put_back` gives None.
"""

from collections.abc import Callable, Iterator
from struct import pack
from typing import Any, NamedTuple

from ckpt_cli.serde import msgpack_spans
from ckpt_cli.values.node import Node

_MARK_BODY = b"ckpt: a list is."  # 16 bytes, so that msgpack's fixext16 header fits
_MARK = b"\xd8\x7f" + _MARK_BODY
_CODES = range(8)
_LEAST = 16  # elements; a shorter list is decoded as fast without this
_HEAD = 64  # bytes of the list to search for, before all bytes of the list are compared


class Cut(NamedTuple):
    """A payload without its list.

    Attributes:
        rest: the payload with a mark instead of the list.
        known: the elements of the previous list.
        items: the bytes of all elements, in pieces.
        new: code and bytes of each object after the known elements.
    """

    rest: bytes
    known: list[Any]
    items: list[bytes]
    new: list[tuple[int, bytes]]


class GrowingList:
    """The longest list of the previous payload, which the next payload may contain.

    Args:
        max_bytes: a list with more bytes isn't kept.
        is_movable: whether an object with these bytes decodes to the same node anywhere; a list with another object
            isn't kept.
    """

    def __init__(self, max_bytes: int, is_movable: Callable[[bytes], bool]) -> None:
        self._max_bytes = max_bytes
        self._is_movable = is_movable
        self._list: list[Any] = []
        self._items: list[bytes] | None = None

    def remember(self, value: Any, items: list[bytes] | None = None) -> None:
        """Keep the longest list of a decoded payload; with `items`, `value` is that list and `items` its bytes."""
        if items is not None:
            self._list, self._items = value, items
            return
        self._list = max((one for _, _, one in _places(value) if type(one) is list), key=len, default=[])
        self._items = None

    def cut(self, data: bytes) -> Cut | None:
        """The payload without the kept list; None if the payload lacks that list, or the list is too short."""
        if len(self._list) < _LEAST or not (items := self._bytes_within(data)):
            return None
        at = first_new = data.find(items[0][:_HEAD])
        if at < 1:
            return None
        for piece in items:
            if not data.startswith(piece, first_new):
                return None
            first_new += len(piece)
        start, count = _array(data, at)
        if count < len(self._list):
            return None
        new, end = [], first_new
        try:
            for _ in range(count - len(self._list)):
                head = msgpack_spans.head(data, end)
                added = data[head.start : head.end]
                if head.kind != msgpack_spans.EXT or head.code not in _CODES or not self._is_movable(added):
                    return None
                new.append((head.code, added))
                end = head.end
        except msgpack_spans.DamageError:
            return None
        rest = b"".join((data[:start], _MARK, data[end:]))
        if rest.count(_MARK_BODY) != 1:
            return None
        return Cut(rest, self._list, _with_piece(items, data[first_new:end]) if new else items, new)

    def _bytes_within(self, data: bytes) -> list[bytes]:
        """The bytes of the kept list's elements; [] if any isn't an object, or if the payload lacks the last."""
        if self._items is None:
            last = self._list[-1]
            if type(last) is not Node or not last.raw or last.raw not in data:
                return []
            parts = [_packed(one) for one in self._list]
            usable = (
                all(parts)
                and sum(map(len, parts)) <= self._max_bytes
                and all(self._is_movable(n.raw) for n in self._list)
            )
            self._items = [b"".join(parts)] if usable else []
        return self._items


def _with_piece(pieces: list[bytes], new: bytes) -> list[bytes]:
    """The pieces and a new one, which is joined with shorter ones: so few are left, and each byte is rarely copied."""
    kept = [*pieces]
    while kept and len(kept[-1]) <= 2 * len(new):
        new = kept.pop() + new
    return [*kept, new]


def put_back(value: Any, whole: list[Any]) -> Any:
    """A decoded `Cut.rest`, with the list in place of the mark; None if the mark isn't one of the values."""
    for container, key, one in _places(value):
        if type(one) is Node and one.raw == _MARK_BODY:
            if container is None:
                return whole
            container[key] = whole
            return value
    return None


def _places(value: Any) -> Iterator[tuple[dict[Any, Any] | None, Any, Any]]:
    """The values that may be the list, each with its container and key: the value itself and two levels of dicts."""
    yield None, None, value
    for key, one in value.items() if type(value) is dict else ():
        yield value, key, one
        for inner, other in one.items() if type(one) is dict else ():
            yield one, inner, other


def _array(data: bytes, at: int) -> tuple[int, int]:
    """For an array whose first element is at `at`: the offset of its header, and its size (0 if there is no array)."""
    for byte, size in ((0xDC, 2), (0xDD, 4)):
        start = at - size - 1
        if start >= 0 and data[start] == byte:
            return start, int.from_bytes(data[start + 1 : at], "big")
    return at - 1, data[at - 1] & 0x0F if 0x90 <= data[at - 1] < 0xA0 else 0


def _packed(node: Any) -> bytes:
    """The msgpack bytes of an object; b"" if the value isn't an object."""
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
