"""Reads the first numbers of a numpy array from its bytes, without numpy; stored shapes may be huge."""

import struct
from typing import Any

from ckpt_cli.output.theme import MORE, TIMES

_CODES = {
    "f2": "e",
    "f4": "f",
    "f8": "d",
    "i1": "b",
    "i2": "h",
    "i4": "i",
    "i8": "q",
    "u1": "B",
    "u2": "H",
    "u4": "I",
    "u8": "Q",
    "b1": "?",
}
_DIGITS = 9  # in a dtype, the size of a number has fewer digits than this
_DIMENSIONS = 8  # so many lengths of a shape are shown; numpy itself allows 64
_LONGEST = 1 << 63  # no real array is as long
_BYTES_OF_A_CHARACTER = 4
_NAMES = {"f": "float", "i": "int", "u": "uint", "c": "complex", "M": "datetime", "m": "timedelta"}


def heading(state: dict[str, Any]) -> str:
    """The type and shape of an array: ``float64[3×4]``; and the size of its data if that is not the size of the shape.

    A stored shape may be any list of numbers; its first ones are shown.
    """
    dtype, shape, data = str(state.get("dtype")), _shape(state), state.get("data")
    kind, size = dtype.lstrip("<>=|")[:1], dtype.lstrip("<>=|")[1:]
    has_size = size.isascii() and size.isdecimal() and len(size) < _DIGITS
    name = "bool" if kind == "b" else f"{_NAMES[kind]}{int(size) * 8}" if has_size and kind in _NAMES else dtype
    lengths = [str(n) if n < _LONGEST else MORE for n in shape[:_DIMENSIONS]]
    text = f"{name}[{TIMES.join(lengths)}{MORE if len(shape) > _DIMENSIONS else ''}]" if shape else name
    if not has_size or not isinstance(data, bytes):
        return text
    bytes_each = int(size) * (_BYTES_OF_A_CHARACTER if kind == "U" else 1)
    fits = _count(shape, len(data) + 1) * bytes_each == len(data)
    return text if fits else f"{text} of {len(data):,} byte{'' if len(data) == 1 else 's'}"


def first(state: dict[str, Any], count: int) -> tuple[list[Any], int] | None:
    """The first numbers in stored order, and the number of all elements; None if the elements aren't plain numbers."""
    dtype, data = str(state.get("dtype")), state.get("data")
    code = _CODES.get(dtype.lstrip("<>=|"))
    if code is None or not isinstance(data, bytes):
        return None
    total = _count(_shape(state), len(data) // struct.calcsize(f"={code}"))
    order = ">" if dtype.startswith(">") else "<"
    return list(struct.unpack_from(f"{order}{min(count, total)}{code}", data)), total


def _count(shape: list[int], most: int) -> int:
    """How many elements an array of this shape has, at most `most`: the product of a stored shape may be huge."""
    count = 0 if 0 in shape else 1
    for length in shape:
        count *= length
        if count >= most:
            return most
    return count


def _shape(state: dict[str, Any]) -> list[int]:
    shape = state.get("shape")
    return [n for n in shape if isinstance(n, int)] if isinstance(shape, list) else []
