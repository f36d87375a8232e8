"""Divides payloads into segments: long texts and byte strings inside them become segments of their own.

The parts are cut without decoding: where the bytes look like a long value of msgpack or JSON. A wrong guess costs
compression, never correctness, as a payload is its segments put together.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ckpt_cli.model import Payload

LONG = 1 << 16
"""Values of so many bytes inside a payload become segments of their own."""
LARGEST = 1 << 24
"""No segment is longer."""

_LEADS = (b"\xc6", b"\xdb")
"""How long byte strings and texts begin: bin 32, str 32 (msgpack's specification)."""
_LENGTHS = (0, 1)
"""The first of the four bytes of the length, up to 32 MiB."""
_HEADER = 5
_QUOTE = b'"'


class Segment(NamedTuple):
    """Where some bytes are: in which frame, from where, and how many."""

    frame: int
    offset: int
    length: int


class Part(NamedTuple):
    """A part of a payload's bytes; `long` ones are worth comparing with others."""

    start: int
    end: int
    long: bool


def parts(payload: Payload) -> Iterator[Part]:
    """The parts of a payload, one behind the other and none longer than `LARGEST`."""
    data = payload.data
    position = 0
    for start, end in _long_values(payload) if len(data) > LONG else ():
        yield from _cut(position, start, long=False)
        yield from _cut(start, end, long=True)
        position = end
    yield from _cut(position, len(data), long=False)


def _cut(start: int, end: int, *, long: bool) -> Iterator[Part]:
    for position in range(start, end, LARGEST):
        yield Part(position, min(position + LARGEST, end), long)


def _long_values(payload: Payload) -> Iterator[tuple[int, int]]:
    is_json = payload.tag == "json" or payload.data[:1] in (b"{", b"[")
    return _long_texts(payload.data) if is_json else _long_strings(payload.data)


def _long_strings(data: bytes) -> Iterator[tuple[int, int]]:
    """Byte strings and texts with a length of 32 bits, as msgpack writes them; the outermost where they nest."""
    found = {lead: _next_header(data, lead, 0) for lead in _LEADS}
    while places := [place for place in found.values() if place >= 0]:
        place = min(places)
        start = place + _HEADER
        end = start + int.from_bytes(data[place + 1 : start], "big")
        fits = end - start >= LONG and end <= len(data)
        if fits:
            yield start, end
        following = end if fits else place + 1
        found = {
            one: _next_header(data, one, following) if at < following else at for one, at in found.items() if at >= 0
        }


def _next_header(data: bytes, lead: bytes, at: int) -> int:
    """Where such a value begins, from `at` on; -1 if nowhere. One byte is found twenty times as fast as two."""
    last = len(data) - 1
    while 0 <= (at := data.find(lead, at)) < last:
        if data[at + 1] in _LENGTHS:
            return at
        at += 1
    return -1


def _long_texts(data: bytes) -> Iterator[tuple[int, int]]:
    """What is between two quotes far apart in JSON, found by looking at few places."""
    position = 0
    while position + LONG <= len(data):
        middle = position + LONG // 2
        start, end = data.rfind(_QUOTE, position, middle) + 1, data.find(_QUOTE, middle)
        end = len(data) if end < 0 else end
        start = max(start, position)
        if end - start >= LONG:
            yield start, end
        position = max(end, middle)
