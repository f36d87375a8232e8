"""Where the values of a msgpack payload begin and end, without trusting any length.

There is no recursion. Format: msgpack's specification. ormsgpack gives no positions and refuses a whole payload for one
bad byte. This module is slower, so ckpt uses it only where bytes are damaged or must be kept.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Any, NamedTuple

NIL, BOOL, NUMBER, STR, BIN, EXT, ARRAY, MAP, RESERVED = range(9)


class DamageError(Exception):
    """The bytes are damaged at offset `at`, or end there."""

    def __init__(self, what: str, at: int) -> None:
        super().__init__(what)
        self.what = what
        self.at = at


class Head(NamedTuple):
    """One element's header: its kind, the offset of its content, and the content's size.

    Attributes:
        size: bytes of content of a scalar, string or extension; elements of an array; pairs of a map.
        code: the extension code.
        value: the value, if it is a number or a boolean.
    """

    kind: int
    start: int
    size: int
    code: int = 0
    value: Any = None

    @property
    def children(self) -> int:
        """How many elements this element directly contains; a key and a value count as one each."""
        return self.size if self.kind == ARRAY else 2 * self.size if self.kind == MAP else 0

    @property
    def end(self) -> int:
        """Where this element ends; for a container, where its first element begins."""
        return self.start if self.kind in (ARRAY, MAP) else self.start + self.size


_U8, _U16, _U32 = Struct(">B"), Struct(">H"), Struct(">I")
_SIZED: dict[int, tuple[int, Struct]] = {
    0xC4: (BIN, _U8),
    0xC5: (BIN, _U16),
    0xC6: (BIN, _U32),
    0xC7: (EXT, _U8),
    0xC8: (EXT, _U16),
    0xC9: (EXT, _U32),
    0xD9: (STR, _U8),
    0xDA: (STR, _U16),
    0xDB: (STR, _U32),
    0xDC: (ARRAY, _U16),
    0xDD: (ARRAY, _U32),
    0xDE: (MAP, _U16),
    0xDF: (MAP, _U32),
}
_NUMBERS: dict[int, Struct] = {
    0xCA: Struct(">f"),
    0xCB: Struct(">d"),
    0xCC: _U8,
    0xCD: _U16,
    0xCE: _U32,
    0xCF: Struct(">Q"),
    0xD0: Struct(">b"),
    0xD1: Struct(">h"),
    0xD2: Struct(">i"),
    0xD3: Struct(">q"),
}
_FIXEXT = {0xD4: 1, 0xD5: 2, 0xD6: 4, 0xD7: 8, 0xD8: 16}


def head(data: bytes, at: int) -> Head:
    """The header of the element at `at`.

    Raises:
        DamageError: the bytes end inside the element.
    """
    if at >= len(data):
        raise DamageError("truncated", at)
    result = _small(data[at], at) or _large(data, at)
    if result.end > len(data):
        raise DamageError("truncated", at)
    return result


def _small(byte: int, at: int) -> Head | None:
    if byte < 0x80:
        return Head(NUMBER, at + 1, 0, value=byte)
    if byte < 0x90:
        return Head(MAP, at + 1, byte & 0x0F)
    if byte < 0xA0:
        return Head(ARRAY, at + 1, byte & 0x0F)
    if byte < 0xC0:
        return Head(STR, at + 1, byte & 0x1F)
    if byte >= 0xE0:
        return Head(NUMBER, at + 1, 0, value=byte - 256)
    return None


def _large(data: bytes, at: int) -> Head:
    byte, start = data[at], at + 1
    if byte == 0xC0:
        return Head(NIL, start, 0)
    if byte == 0xC1:
        return Head(RESERVED, start, 0)
    if byte in (0xC2, 0xC3):
        return Head(BOOL, start, 0, value=byte == 0xC3)
    if number := _NUMBERS.get(byte):
        _need(data, at, start + number.size)
        return Head(NUMBER, start, number.size, value=number.unpack_from(data, start)[0])
    if byte in _FIXEXT:
        _need(data, at, start + 1)
        return Head(EXT, start + 1, _FIXEXT[byte], code=_code(data[start]))
    kind, length = _SIZED[byte]
    coded = kind == EXT
    _need(data, at, start + length.size + coded)
    size = int(length.unpack_from(data, start)[0])
    start += length.size
    return Head(kind, start + coded, size, code=_code(data[start]) if coded else 0)


def _need(data: bytes, at: int, end: int) -> None:
    if end > len(data):
        raise DamageError("truncated", at)


def _code(byte: int) -> int:
    return byte - 256 if byte > 127 else byte


def _length(byte: int) -> int:
    if byte in _SIZED:
        return 0
    if byte in _FIXEXT:
        return 2 + _FIXEXT[byte]
    return 1 + (_NUMBERS[byte].size if byte in _NUMBERS else 0)


_LENGTHS = [*[1] * 0x80, *[0] * 0x20, *range(1, 0x21), *map(_length, range(0xC0, 0xE0)), *[1] * 0x20]
"""The bytes of an element by its first byte; 0 for containers, and where further bytes say it."""


def end(data: bytes, at: int = 0) -> int:
    """Where the element at `at` ends.

    Raises:
        DamageError: the bytes end inside the element.
    """
    left, size = 1, len(data)
    while left:
        if at < size and (length := _LENGTHS[data[at]]) and at + length <= size:
            left, at = left - 1, at + length
            continue
        element = head(data, at)
        left += element.children - 1
        at = element.end
    return at


def end_after(data: bytes, at: int, known: bytes) -> int:
    """Like `end`; of an array that begins with all elements of the array `known`, only what comes after is walked over.

    Raises:
        DamageError: the bytes end inside the element.
    """
    old = common_array(data, at, known)
    if old is None:
        return end(data, at)
    array = head(data, at)
    after = array.start + len(known) - old.start
    for _ in range(array.size - old.size):
        after = end(data, after)
    return after


def common_array(data: bytes, at: int, known: bytes) -> Head | None:
    """The header of the array `known`, if the element at `at` is an array that begins with all its elements."""
    if not (is_array(known) and is_array(data, at)):
        return None
    old, array = head(known, 0), head(data, at)
    return old if old.size <= array.size and data.startswith(known[old.start :], array.start) else None


def elements(data: bytes, at: int = 0) -> Iterator[tuple[int, int]]:
    """The spans of an array's elements, or of a map's keys and values in turn; none for other kinds.

    Raises:
        DamageError: the bytes end inside the next element.
    """
    container = head(data, at)
    at = container.end
    for _ in range(container.children):
        after = end(data, at)
        yield at, after
        at = after


def is_map(data: bytes, at: int = 0) -> bool:
    """Whether the element at `at` is a map."""
    return at < len(data) and (0x80 <= data[at] < 0x90 or data[at] in (0xDE, 0xDF))


def is_array(data: bytes, at: int = 0) -> bool:
    """Whether the element at `at` is an array."""
    return at < len(data) and (0x90 <= data[at] < 0xA0 or data[at] in (0xDC, 0xDD))
