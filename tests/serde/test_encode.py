"""Encoding an edit: what was not edited keeps its bytes, and the real library reads the result."""

from typing import Any

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpt_cli.errors import NotSupported, UsageError
from ckpt_cli.model import NULL, Payload
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.node import Form, Node, Opened, broken
from ckpt_cli.values.same import same
from tests.serde.samples import CHECKPOINT, SERIALIZER, VALUES, payload, pickled

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


def msgpack(*parts: bytes) -> Payload:
    return Payload("msgpack", b"".join(parts))


@given(PLAIN, PLAIN)
def test_what_is_encoded_decodes_to_the_value(value: Any, like: Any) -> None:
    """Whatever the old value was, what is encoded decodes to the new one, here and in the real library."""
    codec, old = Codec(), payload(like)
    new = codec.encode(value, old)
    assert same(codec.decode(new), value)
    assert SERIALIZER.loads_typed((new.tag, new.data)) == value
    if same(value, codec.decode(old)):
        assert new is old


@pytest.mark.parametrize("name", VALUES)
def test_an_untouched_value_is_the_same_payload(name: str) -> None:
    """Encoding what was decoded gives the very payload back."""
    like = payload(VALUES[name])
    assert Codec().encode(Codec().decode(like), like) is like


def test_neighbours_of_an_edit_keep_their_spelling() -> None:
    """Long numbers, floats of 32 bits and texts with a wide header stay as they are around an edited value."""
    odd = [b"\xa1a\xce\x00\x00\x00\x01", b"\xa1b\xca\x3f\x80\x00\x00", b"\xa1c\xdb\x00\x00\x00\x02hi"]
    like = msgpack(b"\xde\x00\x04", *odd, b"\xa1d\x92\x01\xd9\x01x")
    codec = Codec()
    value = codec.decode(like)
    assert value == {"a": 1, "b": 1.0, "c": "hi", "d": [1, "x"]}
    new = codec.encode({**value, "d": [2, "x"]}, like)
    assert new.data == b"\x84" + b"".join(odd) + b"\xa1d\x92\x02\xd9\x01x"


@pytest.mark.parametrize("edit", [["x", "a", "b", "c"], ["a", "b"], ["a", "x", "c"], ["a", "c"], [], ["c", "b", "a"]])
def test_lists_keep_the_items_around_an_edit(edit: list[str]) -> None:
    """Items before and after an insertion, a removal or a change keep their bytes."""
    wide = {letter: b"\xda\x00\x01" + letter.encode() for letter in "abc"}
    like = msgpack(b"\x93", *wide.values())
    new = Codec().encode(edit, like)
    assert Codec().decode(new) == edit
    if edit == ["x", "a", "b", "c"]:
        assert new.data == b"\x94\xa1x" + b"".join(wide.values())


def test_an_edited_object_is_written_by_its_form() -> None:
    """A message with a new text is what the library would have written for it."""
    codec, like = Codec(), payload(CHECKPOINT)
    value = codec.decode(like)
    first, *rest = value["channel_values"]["messages"]
    changed = Node(Opened(first.module, first.name, first.form, {**first.state, "content": "goodbye"}))
    edited = {**value, "channel_values": {**value["channel_values"], "messages": [changed, *rest]}}
    new = codec.encode(edited, like)
    found = SERIALIZER.loads_typed((new.tag, new.data))["channel_values"]["messages"]
    assert found[0].content == "goodbye" and found[1:] == CHECKPOINT["channel_values"]["messages"][1:]
    assert new.data == payload(SERIALIZER.loads_typed((new.tag, new.data))).data


def test_a_duplicate_key_goes_with_the_map_that_is_edited() -> None:
    """A map with a key twice can't be taken apart; edited, it is written whole."""
    new = Codec().encode({"a": 3}, msgpack(b"\x82\xa1a\x01\xa1a\x02"))
    assert new.data == b"\x81\xa1a\x03"


def test_none_and_bytes_have_tags_of_their_own() -> None:
    """As the library does, at the top None is ``null`` and bytes are ``bytes``."""
    codec, like = Codec(), payload([1])
    assert codec.encode(None, like) == NULL
    assert codec.encode(b"x", like) == Payload("bytes", b"x")
    assert codec.encode([2], NULL) == payload([2])
    held = Node(Opened("builtins", "bytearray", Form.VALUE, b"x"))
    assert codec.encode(held, like) == Payload("bytearray", b"x")


@pytest.mark.parametrize(
    "value",
    [
        2**70,
        "half \ud83d",
        {"key": broken("gone", b"\x91")},
        {1: object()},
        [Node(Opened("m", "C", Form.PICKLE, {"args": []}))],
    ],
)
def test_what_msgpack_cannot_hold_is_refused(value: Any) -> None:
    """It is an error; nothing else is written instead."""
    with pytest.raises(UsageError):
        Codec().encode(value, payload([1]))


def test_pickles_and_unknown_tags_are_not_written() -> None:
    """An untouched one is carried on; an edited one is refused."""
    codec = Codec()
    for like in (pickled([1]), Payload("custom", b"abc")):
        assert codec.encode(codec.decode(like), like) is like
        with pytest.raises(NotSupported):
            codec.encode([2], like)


def test_objects_made_from_json_envelopes_can_go_into_msgpack() -> None:
    """A datetime that was read from an old JSON checkpoint is written as msgpack writes it."""
    envelope = {"args": ["2024-07-01T12:00:00+00:00"], "kwargs": {}}
    node = Node(Opened("datetime", "datetime", Form.LC2, envelope, "fromisoformat"))
    new = Codec().encode([node], payload([1]))
    assert ormsgpack.unpackb(new.data, ext_hook=lambda code, _: code) == [3]


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 8, 15, 16, 17, 300])
def test_extensions_of_msgpacks_own_are_carried_to_another_place(size: int) -> None:
    """Codes below zero, which ormsgpack reads but doesn't write, survive another part's edit, whatever their size."""
    codec, content = Codec(), bytes(range(256))[:size].ljust(size, b"z")
    (own,) = codec.decode(msgpack(b"\x91\xc9", size.to_bytes(4), b"\xfe", content))
    new = codec.encode({"moved": [own]}, payload({"other": 1}))
    found: list[Any] = []
    ormsgpack.unpackb(new.data, ext_hook=lambda *parts: found.append(parts))
    assert found == [(-2, content)]


@pytest.mark.parametrize("length", [1, 15, 16, 17, 65_535, 65_536])
def test_lists_and_maps_of_every_size_are_put_together(length: int) -> None:
    """With one element edited they are what the library writes."""
    codec, many = Codec(), list(range(length))
    for old, new in ((many, [*many[:-1], "x"]), (dict.fromkeys(map(str, many)), dict.fromkeys(map(str, many), 1))):
        assert codec.encode(new, payload(old)).data == payload(new).data


@pytest.mark.parametrize("code", [0, 1, 2, 3, 4, 5, 7])
def test_an_edited_object_keeps_the_spelling_inside(code: int) -> None:
    """Only the edited part of an object is written anew, whatever its form: another field's 32-bit float stays one."""
    codec, odd = Codec(), b"\xca\x3f\x80\x00\x00"
    inside = b"\x92" + odd + b"\x01" if code == 1 else b"\x82\xa1a" + odd + b"\xa1b\x01"
    parts = [b"\xa1m", b"\xa1C", inside, *([b"\xa1f"] if code in (3, 5) else [])]
    content = inside if code == 7 else bytes([0x90 + len(parts)]) + b"".join(parts)
    like = msgpack(ormsgpack.packb([ormsgpack.Ext(code, content)]))
    (node,) = codec.decode(like)
    state = [1.0, 2] if code == 1 else {"a": 1.0, "b": 2}
    new = codec.encode([Node(Opened(node.module, node.name, node.form, state, node.method))], like)
    assert new.data == like.data.replace(inside, inside[:-1] + b"\x02")


@pytest.mark.parametrize(
    ("form", "state", "code"),
    [
        (Form.VALUE, 1, 0),
        (Form.ARGS, [1], 1),
        (Form.KWARGS, {"a": 1}, 2),
        (Form.METHOD, 1, 3),
        (Form.PYDANTIC_V1, {"a": 1}, 4),
        (Form.PYDANTIC, {"a": 1}, 5),
        (Form.SNAPSHOT, {"a": 1}, 7),
    ],
)
def test_a_new_object_has_the_code_of_its_form(form: Form, state: Any, code: int) -> None:
    """As the library numbers them, and it is read as what it was."""
    codec, node = Codec(), Node(Opened("m", "C", form, state, "made" if form is Form.METHOD else ""))
    new = codec.encode([node], payload([1]))
    assert ormsgpack.unpackb(new.data, ext_hook=lambda code_read, _: code_read) == [code]
    (found,) = codec.decode(new)
    assert (found.form, found.state, found.method) == (form, state, node.method)
