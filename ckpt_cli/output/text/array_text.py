"""Reads the first numbers of a numpy array from its bytes, without numpy; stored shapes may be huge."""

import struct
from typing import Any

from ckpt_cli.output.theme import TIMES

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
_NAMES = {"f": "float", "i": "int", "u": "uint", "c": "complex", "M": "datetime", "m": "timedelta"}


def heading(state: dict[str, Any]) -> str:
    """The type and shape of an array: ``float64[3×4]``."""
    dtype, shape = str(state.get("dtype")), _shape(state)
    kind, size = dtype.lstrip("<>=|")[:1], dtype.lstrip("<>=|")[1:]
    is_known = kind in _NAMES and size.isascii() and size.isdecimal() and len(size) < _DIGITS
    name = "bool" if kind == "b" else f"{_NAMES[kind]}{int(size) * 8}" if is_known else dtype
    return f"{name}[{TIMES.join(map(str, shape))}]" if shape else name


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
