"""Damaged msgpack: a damaged part says so in its place, and the rest of the checkpoint is decoded."""

from typing import Any

import ormsgpack
import pytest

from ckpt_cli.model import Payload
from ckpt_cli.serde import msgpack_spans
from ckpt_cli.serde.codec import Codec
from ckpt_cli.serde.msgpack_write import pack
from ckpt_cli.values.node import DAMAGED, Form, Node
from ckpt_cli.values.same import same
from tests.serde.samples import CHECKPOINT, VALUES, broken_parts, look_into, payload


def decode(data: bytes) -> Any:
    return Codec().decode(Payload("msgpack", data))


def test_one_bad_byte_costs_one_string() -> None:
    """A string that is no UTF-8 is BROKEN with its path; its neighbours are as they were."""
    data = ormsgpack.packb({"channel_values": {"messages": ["a", "b", "c", "XY"], "n": 1}, "v": 4})
    value = decode(data.replace(b"XY", b"\xff\xfe"))
    *good, bad = value["channel_values"]["messages"]
    assert good == ["a", "b", "c"]
    assert (bad.form, bad.problem) == (Form.BROKEN, "bad UTF-8 @ $.channel_values.messages[3]")
    assert (value["channel_values"]["n"], value["v"]) == (1, 4)


def test_paths_quote_keys_that_are_no_names() -> None:
    """A key with spaces is put in brackets."""
    value = decode(ormsgpack.packb({"a b": ["XY"]}).replace(b"XY", b"\xff\xfe"))
    assert value["a b"][0].problem == "bad UTF-8 @ $['a b'][0]"


def test_a_damaged_value_goes_out_as_it_came() -> None:
    """A broken string keeps its bytes when its neighbours are written anew."""
    data = ormsgpack.packb({"a": "XY", "b": 1}).replace(b"XY", b"\xff\xfe")
    codec, like = Codec(), Payload("msgpack", data)
    value = codec.decode(like)
    assert codec.encode({**value, "b": 2}, like).data == ormsgpack.packb({"a": "XY", "b": 2}).replace(
        b"XY", b"\xff\xfe"
    )


def test_a_truncated_checkpoint_keeps_the_channels_before_the_end() -> None:
    """A checkpoint cut anywhere gives every channel whose bytes are whole, and says that it is cut."""
    stored = payload(CHECKPOINT).data
    whole = decode(stored)
    for at in range(len(stored)):
        value = decode(stored[:at])
        assert "truncated" in broken_parts(value)[-1].problem
        kept = value.get("channel_values", {}) if isinstance(value, dict) else {}
        if isinstance(kept, dict):
            assert all(same(kept[key], whole["channel_values"][key]) for key in kept if not broken_parts(kept[key]))


def test_a_truncated_list_keeps_its_items() -> None:
    """A cut list has the items before the cut, then one BROKEN node."""
    value = decode(ormsgpack.packb(["one", "two", "three"])[:-2])
    assert value[:2] == ["one", "two"] and value[2].problem == "truncated @ $[2]"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        b"\xc9\xff\xff\xff\xff\x05",
    ],
)
def test_headers_that_lie_are_told(data: bytes) -> None:
    """A length beyond the end takes no memory and no time; the value is BROKEN or as much as the bytes have."""
    value = decode(data)
    assert look_into(value) < 10
    node = value if isinstance(value, Node) else (value[0] if isinstance(value, list) else value[DAMAGED])
    assert node.form is Form.BROKEN


def test_keys_that_python_cannot_hold_are_broken_keys() -> None:
    """A map as a key, legal in msgpack, is reported and damages nothing else."""
    value = decode(b"\x82\x81\x01\x02\xa1x\xa1a\x01")
    assert value["a"] == 1
    assert [key.problem for key in value if isinstance(key, Node)] == ["a container as a key @ $.<key>"]


@pytest.mark.parametrize("name", VALUES)
def test_the_walker_agrees_with_ormsgpack_on_where_values_end(name: str) -> None:
    """The span of a value is all of its bytes, and the spans of its parts are theirs."""
    data = payload({"before": 1, "value": VALUES[name], "after": [2]}).data
    assert msgpack_spans.end(data) == len(data)
    parts = [data[start:end] for start, end in msgpack_spans.elements(data)]
    assert b"".join(parts) == data[1:]
    assert same(decode(parts[3]), decode(data)["value"])
    assert pack(decode(parts[3])) == parts[3]
