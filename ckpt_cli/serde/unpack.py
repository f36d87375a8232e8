"""Calls ormsgpack, after a check that no header claims more than the payload has (crashes, huge memory).

ormsgpack up to 1.13.0 allocates as many elements as a header claims. So a damaged payload of only 9 to 105 bytes can
crash the process (1.10 to 1.12 by a segmentation fault, 1.13.0 by an abort). pyproject.toml requires 1.13.1, which
checks headers itself; the check here also protects a process with an older version. Every version limits how deep
containers are nested (1,024 levels).

Most payloads pass at once, because they have none of the four bytes with which headers of large containers begin. A
regular expression walks through the other payloads. The walk takes about twice as long as decoding. So with ormsgpack
1.13.1 or newer, only short payloads are walked through.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

_LENGTHS = dict(zip(range(0xC4, 0xCA), (1, 2, 4, 1, 2, 4), strict=True))  # binaries, extensions
_LENGTHS |= dict(zip(range(0xD9, 0xE0), (1, 2, 4, 2, 4, 2, 4), strict=True))  # strings, arrays, maps
"""By the first byte of a header with a length or a count: how many bytes the length or count takes."""

_ELEMENTS_PER_ENTRY = {0xDC: 1, 0xDD: 1, 0xDE: 2, 0xDF: 2}
"""By the first byte of a header that can claim more than 30 elements: how many elements each counted entry has."""

_WITH_CODE = frozenset({0xC7, 0xC8, 0xC9})

_FIRST_CAREFUL = (1, 13, 1)
"""The first ormsgpack that allocates nothing for elements that don't exist."""

_SHORT = 4096  # bytes; shorter payloads are walked with every version


def unpack(data: bytes, hook: Callable[[int, bytes], Any] | None = None) -> Any:
    """The value of a payload; `hook` converts the code and content of each extension.

    Raises:
        ValueError: the payload is damaged, or a header claims more elements than there are bytes.
    """
    import ormsgpack

    if (len(data) <= _SHORT or not _is_careful(ormsgpack.__version__)) and not _is_modest(data):
        must_hold(data)
    return ormsgpack.unpackb(data, option=ormsgpack.OPT_NON_STR_KEYS, ext_hook=hook)


def _is_modest(data: bytes) -> bool:
    """Whether no byte could be a header that claims too much. This check is quicker than the walk, and stricter."""
    if b"\xdc" not in data and b"\xdd" not in data and b"\xde" not in data and b"\xdf" not in data:
        return True
    room = len(data)
    for byte, each in _ELEMENTS_PER_ENTRY.items():
        at = data.find(byte)
        while at >= 0:
            room -= each * int.from_bytes(data[at + 1 : at + 1 + _LENGTHS[byte]])
            if room < 0:
                return False
            at = data.find(byte, at + 1)
    return True


def must_hold(data: bytes) -> None:
    """Walk from header to header and check that the payload is long enough for their claims.

    Every element takes at least one byte, so all arrays and maps together have no more elements than there are bytes.
    Where an element ends doesn't depend on its container, so the walk needs no stack.

    Raises:
        ValueError: the payload is too short.
    """
    at, room, run = 0, len(data), _fixed()
    while (at := _after(run, data, at)) < len(data):
        byte = data[at]
        if byte not in _LENGTHS:
            raise ValueError("unexpected end")
        start = at + 1 + _LENGTHS[byte]
        length = int.from_bytes(data[at + 1 : start])
        each = _ELEMENTS_PER_ENTRY.get(byte, 0)
        at = start if each else start + length + (byte in _WITH_CODE)
        room -= each * length
        if room < 0 or at > len(data):
            raise ValueError("a header claims more than there is")


@cache
def _is_careful(version: str) -> bool:
    numbers = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    return numbers is not None and tuple(map(int, numbers.groups())) >= _FIRST_CAREFUL


def _after(run: re.Pattern[bytes], data: bytes, at: int) -> int:
    match = run.match(data, at)
    return match.end() if match else at


@cache
def _fixed() -> re.Pattern[bytes]:
    """A pattern for elements whose first byte determines their size; headers of short arrays and maps are among them.

    The quantifiers are possessive: the match never backtracks.
    """
    texts = [rb"\x%02x.{%d}" % (0xA0 + length, length) for length in range(1, 32)]
    sized = [rb"[\xcc\xd0].", rb"[\xcd\xd1\xd4]..", rb"[\xca\xce\xd2].{4}", rb"[\xcf\xd3].{8}"]
    extensions = [rb"\xd5.{3}", rb"\xd6.{5}", rb"\xd7.{9}", rb"\xd8.{17}"]
    kinds = [rb"[\x00-\xa0\xc0-\xc3\xe0-\xff]++", rb"\xcb.{8}", *texts, *sized, *extensions]
    return re.compile(b"(?:" + b"|".join(kinds) + b")*+", re.DOTALL)
