"""The one call of ormsgpack's decoder, behind a check of our own that no header claims more than the bytes hold.

ormsgpack up to 1.13.0 makes room for as many elements as a header claims: 9 to 105 bytes end the process (1.10 to 1.12
by a segmentation fault, 1.13.0 by an abort). pyproject.toml asks for 1.13.1, which reads what is there; the check holds
whatever is installed. How deep containers go inside each other every version bounds itself (1,024 levels).

Most payloads are cleared by what they lack: four bytes, of which one begins each header that can claim much. The others
are walked, at the speed of a regular expression, which takes about twice as long as decoding them. So where the decoder
is known to read what is there, only short ones are.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

_LENGTHS = dict(zip(range(0xC4, 0xCA), (1, 2, 4, 1, 2, 4), strict=True))  # binaries, extensions
_LENGTHS |= dict(zip(range(0xD9, 0xE0), (1, 2, 4, 2, 4, 2, 4), strict=True))  # strings, arrays, maps
"""Headers with a length or a count behind them, and how many bytes it has."""

_EACH = {0xDC: 1, 0xDD: 1, 0xDE: 2, 0xDF: 2}
"""Those of arrays and maps, which can claim more than 30 elements, and how many elements each count is."""

_CODED = frozenset({0xC7, 0xC8, 0xC9})

_CAREFUL = (1, 13, 1)
"""The first ormsgpack that makes no room for elements that aren't there."""

_SHORT = 4096  # bytes of a payload that is walked whatever decodes it


def unpack(data: bytes, hook: Callable[[int, bytes], Any] | None = None) -> Any:
    """What a payload holds; `hook` makes something of the code and the content of each extension.

    Raises:
        ValueError: it is damaged, or a header claims more than there is.
    """
    import ormsgpack

    if (len(data) <= _SHORT or not _is_careful(ormsgpack.__version__)) and not _is_modest(data):
        must_hold(data)
    return ormsgpack.unpackb(data, option=ormsgpack.OPT_NON_STR_KEYS, ext_hook=hook)


def _is_modest(data: bytes) -> bool:
    """Whether no header can claim too much, wherever the headers are: often no where the walk says yes."""
    if b"\xdc" not in data and b"\xdd" not in data and b"\xde" not in data and b"\xdf" not in data:
        return True
    room = len(data)
    for byte, each in _EACH.items():
        at = data.find(byte)
        while at >= 0:
            room -= each * int.from_bytes(data[at + 1 : at + 1 + _LENGTHS[byte]])
            if room < 0:
                return False
            at = data.find(byte, at + 1)
    return True


def must_hold(data: bytes) -> None:
    """Check, from header to header, that a payload can hold what they claim.

    Every element takes a byte at least, so all arrays and maps together have no more elements than there are bytes.
    Where an element ends doesn't depend on the container that it is in, so nothing needs to be kept.

    Raises:
        ValueError: it can't.
    """
    at, room, run = 0, len(data), _fixed()
    while (at := _after(run, data, at)) < len(data):
        byte = data[at]
        if byte not in _LENGTHS:
            raise ValueError("unexpected end")
        start = at + 1 + _LENGTHS[byte]
        length = int.from_bytes(data[at + 1 : start])
        each = _EACH.get(byte, 0)
        at = start if each else start + length + (byte in _CODED)
        room -= each * length
        if room < 0 or at > len(data):
            raise ValueError("a header claims more than there is")


@cache
def _is_careful(version: str) -> bool:
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    return found is not None and tuple(map(int, found.groups())) >= _CAREFUL


def _after(run: re.Pattern[bytes], data: bytes, at: int) -> int:
    found = run.match(data, at)
    return found.end() if found else at


@cache
def _fixed() -> re.Pattern[bytes]:
    """Any number of elements whose first byte tells their size, and of headers of short arrays and maps.

    The quantifiers are possessive: nothing is remembered to go back to.
    """
    texts = [rb"\x%02x.{%d}" % (0xA0 + length, length) for length in range(1, 32)]
    sized = [rb"[\xcc\xd0].", rb"[\xcd\xd1\xd4]..", rb"[\xca\xce\xd2].{4}", rb"[\xcf\xd3].{8}"]
    extensions = [rb"\xd5.{3}", rb"\xd6.{5}", rb"\xd7.{9}", rb"\xd8.{17}"]
    kinds = [rb"[\x00-\xa0\xc0-\xc3\xe0-\xff]++", rb"\xcb.{8}", *texts, *sized, *extensions]
    return re.compile(b"(?:" + b"|".join(kinds) + b")*+", re.DOTALL)
