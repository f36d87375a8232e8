"""The walker over msgpack reads each header as the real decoder does."""

from collections.abc import Callable

import ormsgpack
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ckpt_cli.serde import msgpack_spans


@pytest.mark.parametrize("first", range(256))
def test_maps_and_arrays_are_told_by_their_first_byte(first: int) -> None:
    """`is_map` and `is_array`, which read one byte, agree with `head` for every byte."""
    data = bytes([first]) + bytes(40)
    kind = msgpack_spans.head(data, 0).kind
    assert (msgpack_spans.is_map(data), msgpack_spans.is_array(data)) == (
        kind == msgpack_spans.MAP,
        kind == msgpack_spans.ARRAY,
    )
    assert not msgpack_spans.is_map(data, len(data)) and not msgpack_spans.is_array(data, len(data))


@pytest.mark.parametrize("code", [-128, -1, 0, 1, 127])
@pytest.mark.parametrize("header", [b"\xd4", b"\xc7\x01", b"\xc8\x00\x01", b"\xc9\x00\x00\x00\x01"])
def test_codes_are_signed(code: int, header: bytes) -> None:
    """Codes below zero are msgpack's own, and `head` reads them as ormsgpack does, whatever the header."""
    data = header + bytes([code & 0xFF]) + b"x"
    found = msgpack_spans.head(data, 0)
    assert (found.kind, found.code, data[found.start : found.end]) == (msgpack_spans.EXT, code, b"x")
    assert ormsgpack.unpackb(data, ext_hook=lambda code_read, content: (code_read, bytes(content))) == (code, b"x")


@pytest.mark.parametrize("number", [0, 127, 128, 255, 256, 65_536, 2**32, -1, -32, -33, -128, -129, -40_000, -(2**40)])
def test_numbers_are_read_and_stepped_over(number: int) -> None:
    """Each with the header that the real encoder gives it, and floats of both sizes."""
    for data in (ormsgpack.packb(number), ormsgpack.packb(number + 0.5), b"\xca\x3f\x80\x00\x00"):
        found = msgpack_spans.head(data + b"\xc0", 0)
        assert (found.kind, found.value, found.end) == (msgpack_spans.NUMBER, ormsgpack.unpackb(data), len(data))


@given(st.binary(max_size=40), st.integers(0, 3))
@example(b"\xa3abc", 0)
@example(b"\xa4abc", 0)
@example(b"\x92\xc0\xd8" + bytes(17), 0)
@example(b"\x92\xc0\xd8" + bytes(16), 0)
def test_an_element_ends_where_its_headers_say(data: bytes, at: int) -> None:
    """The end is the one that is found header by header, and bytes that end too soon are damaged at the same place."""

    def walked() -> int:
        place, left = at, 1
        while left:
            element = msgpack_spans.head(data, place)
            place, left = element.end, left + element.children - 1
        return place

    def result(find: Callable[[], int]) -> int | tuple[str, int]:
        try:
            return find()
        except msgpack_spans.DamageError as error:
            return error.what, error.at

    assert result(lambda: msgpack_spans.end(data, at)) == result(walked)
