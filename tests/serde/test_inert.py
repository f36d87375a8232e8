"""Pickles: followed, never run; what they record reads like its msgpack counterpart."""

import pickle
import struct
from collections import Counter, OrderedDict, defaultdict
from typing import Any

import numpy as np
import pytest
from langchain_core.messages import HumanMessage

from ckpt_cli.model import Payload
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.jsonback import from_json
from ckpt_cli.values.jsonform import to_json
from ckpt_cli.values.langgraph_values import items, message, text
from ckpt_cli.values.node import DAMAGED, Form, Node
from ckpt_cli.values.same import same
from tests.serde.samples import CHECKPOINT, VALUES, Color, Pair, Point, broken_parts, look_into, payload, pickled

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


def decode(data: bytes) -> Any:
    return Codec().decode(Payload("pickle", data))


PICKLABLE = [name for name in VALUES if name not in ("command", "interrupt", "overwrite", "send")]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", PICKLABLE)
def test_every_protocol_reads_the_same(name: str, protocol: int) -> None:
    """The opcodes differ, the value doesn't; nothing of it is broken and its JSON comes back."""
    value = Codec().decode(pickled(VALUES[name], protocol))
    assert not broken_parts(value)
    assert same(from_json(to_json(value, reveal=True)), value)
    if name not in ("namedtuples", "ip") or protocol > 1:
        assert same(value, Codec().decode(pickled(VALUES[name])))


@pytest.mark.parametrize(
    "name", ["uuid", "decimal", "date", "timedelta", "path", "datetimes", "times", "timezones", "sets", "arrays", "ip"]
)
def test_well_known_types_are_as_in_msgpack(name: str) -> None:
    """A pickled value of a well-known type is the very node that msgpack gives."""
    known = {"datetimes": VALUES["datetimes"][:2]}.get(name, VALUES[name])
    unpickled, unpacked = Codec().decode(pickled(known)), Codec().decode(payload(known))
    if name == "path":  # Python 3.13 pickles the whole path as one argument, of a class in pathlib._local
        assert text(unpickled) == text(unpacked) == str(known)
    else:
        assert same(unpickled, unpacked)


def test_messages_are_messages() -> None:
    """A pickled pydantic model has its fields; langchain's are read as messages."""
    found = [message(item) for item in Codec().decode(pickled(VALUES["messages"]))]
    assert [one and one.role for one in found] == ["human", "ai", "tool", "ai", "critic", "human", "remove"]
    assert found[1] and found[1].tool_calls[0]["name"] == "look"


def test_dicts_of_other_classes_are_dicts() -> None:
    """The default factory of a defaultdict and the order of an OrderedDict are no part of the state."""
    value = {"a": defaultdict(int, x=1), "b": OrderedDict(z=1, a=2)}
    assert Codec().decode(pickled(value)) == {"a": {"x": 1}, "b": {"z": 1, "a": 2}}
    assert Codec().decode(pickled(Counter("aab"))).name == "Counter"


def test_keys_of_well_known_types_are_their_text() -> None:
    """Enums, dates and UUIDs as keys read as the text that LangGraph's msgpack makes of them."""
    keys = {Color.RED: 1, VALUES["uuid"]: 2, VALUES["date"]: 3, (1, Color.RED): 4}
    assert list(Codec().decode(pickled(keys))) == ["red", str(VALUES["uuid"]), "2024-02-29", (1, "red")]


def test_objects_of_unknown_classes_show_what_they_hold() -> None:
    """State, positional arguments and items of whatever class."""
    point, pair, color = Codec().decode(pickled([Point(1, "y"), Pair(1, "r"), Color.RED]))
    assert point.fields == {"x": 1, "y": "y"}
    assert (pair.type, pair.state) == ("tests.serde.samples.Pair", {"args": [1, "r"]})
    assert text(color) == "red"


def test_numpys_numbers_are_numbers() -> None:
    """A numpy scalar is its number under its own type."""
    assert Codec().decode(pickled([np.float64(2.5), np.int16(-3)]))[1].state == -3


def test_arrays_of_objects_stay_objects() -> None:
    """An array without bytes is no array node, and nothing of it is lost."""
    node = Codec().decode(pickled(np.array([{"a": 1}], dtype=object)))
    assert node.form is Form.PICKLE and look_into(node) > 5


EVIL = {
    "REDUCE": b"cos\nsystem\n(S'echo pwned'\ntR.",
    "INST": b"(S'echo pwned'\nios\nsystem\n.",
    "OBJ": b"(cos\nsystem\nS'echo pwned'\no.",
    "NEWOBJ": b"\x80\x02cos\nsystem\nS'echo pwned'\n\x85\x81.",
    "STACK_GLOBAL": b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x0aecho pwned\x85R.",
    "EXT": b"\x80\x02\x82\x05S'x'\n\x85R.",
    "BUILD": b"\x80\x02cbuiltins\nobject\n)\x81}S'__setstate__'\ncos\nsystem\nsbS'echo pwned'\nb.",
    "getattr": b"\x80\x02cbuiltins\ngetattr\ncbuiltins\nobject\nS'__subclasses__'\n\x86RS'echo pwned'\n\x85R.",
    "chained": b"\x80\x02cbuiltins\neval\nS'1'\n\x85R)R.",
    "PERSID": b"Pos.system\n.",
}


@pytest.mark.parametrize("name", EVIL)
def test_nothing_is_called(name: str, watch: Any) -> None:
    """Whatever opcode would call something, it becomes a node; nothing is imported, opened or run."""
    with watch() as events:
        value = decode(EVIL[name])
        look_into(value)
        to_json(value)
    assert events == []
    assert isinstance(value, Node) and value.form is Form.PICKLE


def test_what_would_have_run_is_told() -> None:
    """The node names the function and its arguments."""
    node = decode(EVIL["REDUCE"])
    assert (node.type, node.state) == ("os.system", {"args": ["echo pwned"]})


def test_nine_bytes_take_no_gigabyte() -> None:
    """A memo index of billions is one entry; the C unpickler would make room for all before it."""
    assert decode(b"Nr" + struct.pack("<I", 0xFFFFFFF0) + b".") is None


@pytest.mark.parametrize("opcode", [b"\x8b", b"\x8d", b"\x8e", b"\x96", b"T", b"B", b"X"])
def test_lengths_that_are_not_there_are_damage(opcode: bytes) -> None:
    """A string or number of billions of bytes in a pickle of ten is BROKEN."""
    assert decode(b"\x80\x04" + opcode + b"\xff\xff\xff\x7f" + b"\x00" * 4).form is Form.BROKEN


def test_a_cycle_ends() -> None:
    """A list that contains itself has a BROKEN node there, and its other items."""
    loop: list[Any] = [1]
    loop.append({"again": loop})
    value = Codec().decode(pickled(loop))
    assert value[0] == 1
    assert value[1]["again"].problem == "a cycle"


def test_an_object_that_holds_itself_ends() -> None:
    """Cycles through the state of an object end too."""
    point = Point(1)
    point.y = point
    assert Codec().decode(pickled(point)).fields["y"].problem == "a cycle"


def test_billions_of_laughs_are_cut_short() -> None:
    """Lists that share lists forty levels down would have a trillion items; what is seen stays bounded."""
    laugh: list[Any] = ["ha"]
    for _ in range(40):
        laugh = [laugh, laugh]
    value = Codec().decode(pickled(laugh))
    assert 1_000 < look_into(value) < 2_000_000
    assert broken_parts(value)


def test_a_shared_text_of_a_megabyte_is_bounded() -> None:
    """Text that is shared counts every time it is seen."""
    value = Codec().decode(pickled(["x" * 1_000_000] * 5_000))
    assert sum(len(item) for item in value if isinstance(item, str)) < 200_000_000


def test_depth_is_bounded() -> None:
    """A list of a thousand levels is BROKEN beyond its bound."""
    assert broken_parts(decode(b"\x80\x02" + b"]" * 1_000 + b"a" * 999 + b"."))


def test_numbers_too_long_to_print_are_broken() -> None:
    """Python itself refuses to print an integer of that length."""
    assert broken_parts(decode(b"\x80\x02\x8b" + struct.pack("<i", 10_000) + b"\x7f" * 10_000 + b"."))


def test_a_truncated_pickle_keeps_what_it_held() -> None:
    """A checkpoint cut anywhere has the channels before the cut, and its top dict says that it is cut."""
    stored = pickled(CHECKPOINT).data
    for at in range(len(stored)):
        value = decode(stored[:at])
        assert broken_parts(value)
        if isinstance(value, dict):
            assert DAMAGED in value
    late = decode(stored[:-120])
    found = message(late["channel_values"]["messages"][0])
    assert found and found.text == "hello"


def test_sets_have_their_items() -> None:
    """A set of unknown objects is a set of nodes."""
    assert len(items(Codec().decode(pickled({Color.RED, 1}))) or []) == 2


def test_a_message_reads_the_same_from_every_encoding() -> None:
    """Pickle and msgpack of one message give one message."""
    one = HumanMessage("hi", id="1")
    assert message(Codec().decode(pickled(one))) == message(Codec().decode(payload(one)))
