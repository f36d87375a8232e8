"""Bombs: payloads of at most some hundred kilobytes that would cost gigabytes or hours if they were believed."""

import tracemalloc
from typing import Any

import ormsgpack
import pytest

from ckpt_cli.model import Payload
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.jsonform import to_json
from tests.serde.samples import broken_parts, look_into


def wrapped(code: int, levels: int, core: bytes) -> bytes:
    """Objects inside objects, made without the packer's own bound."""
    raw = core
    for _ in range(levels):
        inner = b"\x93\xa1m\xa1C\x91" + raw if code == 1 else raw
        raw = b"\xc9" + len(inner).to_bytes(4) + bytes([code]) + inner
    return raw


def many(item: bytes, count: int) -> bytes:
    """An array of `count` equal items."""
    return b"\xdd" + count.to_bytes(4) + item * count


MSGPACK = {
    "arrays in arrays": b"\x91" * 300_000 + b"\xc0",
    "maps in maps": b"\x81\xa1a" * 100_000 + b"\xc0",
    "maps as keys": b"\x81" * 100_000,
    "snapshots in snapshots": wrapped(7, 3_000, b"\xc0"),
    "objects in objects": wrapped(1, 3_000, b"\xc0"),
    "objects in objects around a large text": wrapped(1, 300, b"\xda\xff\xff" + b"x" * 65_535),
    "many deep objects": many(wrapped(1, 30, b"\xc0"), 300),
    "an array of four billion": b"\xdd\xff\xff\xff\xff" + b"\xc0" * 100,
    "arrays of four billion, nested": b"\xdd\xff\xff\xff\xff" * 10_000,
    "a map of four billion": b"\xdf\xff\xff\xff\xff" + b"\xa1a\xc0" * 100,
    "a text of four billion": b"\x91\xdb\xff\xff\xff\xff" + b"x" * 100,
    "an object of four billion": b"\x91\xc9\xff\xff\xff\xff\x05" + b"x" * 100,
    "an object that lies about its inside": b"\xc7\x06\x05\xdd\xff\xff\xff\xff\xc0",
    "an array shape of four billion": ormsgpack.packb(
        ormsgpack.Ext(6, ormsgpack.packb(["<f8", [2**32, 2**32], "C", b""]))
    ),
    "reserved bytes": b"\xdc\x40\x00" + b"\xc1" * 16_384,
    "bad texts": b"\xdc\x40\x00" + b"\xa1\xff" * 16_384,
}
JSON = {
    "arrays in arrays": b"[" * 300_000,
    "objects in objects": b'{"a":' * 100_000,
    "envelopes in envelopes": b'{"lc":2,"type":"delta_snapshot","value":' * 10_000 + b"1" + b"}" * 10_000,
    "envelopes within the bound": b'{"lc":2,"type":"delta_snapshot","value":' * 200 + b"1" + b"}" * 200,
    "a number of a million digits": b"1" * 1_000_000,
    "commas": b"[" + b"," * 200_000 + b"]",
    "texts without end": b'["' + b'\\"' * 100_000 + b"x",
    "damaged texts": b"[" + b'"\\q",' * 30_000 + b"]",
    "an exponent": b"1e999999999",
}
PICKLE = {
    "lists": b"]" * 300_000 + b".",
    "lists in lists": b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".",
    "marks": b"(" * 300_000 + b"0" * 300_000,
    "numbers and marks": b"N" * 100_000 + b"(" * 100_000,
    "tuples of twice the same": b"\x80\x02N" + b"2\x86" * 20_000 + b".",
    "objects of twice the same": b"\x80\x02cm\nC\n" + b"2\x85R" * 20_000 + b".",
    "a dict of itself": b"\x80\x02}q\x00h\x00h\x00s.",
    "states that hold their object": b"\x80\x02cm\nC\n)\x81q\x00h\x00b.",
    "a reduce of itself": b"\x80\x02cm\nC\nq\x00h\x00\x85Rq\x01h\x01\x85R.",
    "a frame of exabytes": b"\x80\x04\x95" + b"\xff" * 8 + b"N.",
    "a memo of exabytes": b"\x80\x04N\x94r\xff\xff\xff\xffN.",
    "decimal digits": b"I" + b"1" * 100_000 + b"\n.",
}
BOMBS = [
    *((f"msgpack: {name}", Payload("msgpack", data)) for name, data in MSGPACK.items()),
    *((f"json: {name}", Payload("json", data)) for name, data in JSON.items()),
    *((f"pickle: {name}", Payload("pickle", data)) for name, data in PICKLE.items()),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "bomb"), BOMBS, ids=[name for name, _ in BOMBS])
def test_a_bomb_costs_little(name: str, bomb: Payload) -> None:
    """Looking into all of it ends, within memory of a fixed multiple of the payload, and its JSON can be made."""
    tracemalloc.start()
    try:
        value = Codec().decode(bomb)
        seen = look_into(value)
        shown: Any = to_json(value)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert shown is None or shown is not value
    assert seen < 3_000_000
    assert peak < 150_000_000 + 400 * len(bomb.data)


@pytest.mark.parametrize(("name", "bomb"), [(n, b) for n, b in BOMBS if "four billion" in n or "arrays in" in n])
def test_a_bomb_says_what_is_wrong(name: str, bomb: Payload) -> None:
    """A part that exceeds a bound is a BROKEN node that says why."""
    value = Codec().decode(bomb)
    if "shape" not in name:
        assert all(node.problem for node in broken_parts(value)) and broken_parts(value)
