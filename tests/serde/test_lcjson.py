"""JSON of both LangGraphs: envelopes become nodes, a user's data stays data, and damage is told."""

import json
from typing import Any

import pytest

from ckpt_cli.model import Payload
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.known import text
from ckpt_cli.values.node import DAMAGED, Form, Node
from ckpt_cli.values.same import same
from tests.serde.samples import JS_JSON, PYTHON_JSON, broken_parts


def decode(text: str | bytes) -> Any:
    return Codec().decode(Payload("json", text if isinstance(text, bytes) else text.encode()))


def test_pythons_forms() -> None:
    """LangChain's objects and constructor envelopes are nodes; NaN is a bare word."""
    values = decode(PYTHON_JSON)["channel_values"]
    message = values["messages"][0]
    assert (message.type, message.fields["content"]) == ("langchain.schema.messages.HumanMessage", "hello")
    assert text(values["when"]) == "2024-07-01T12:00:00+00:00"
    assert values["set"].state == {"args": [[1, 2]], "kwargs": {}}
    assert values["ratio"] != values["ratio"]


def test_javascripts_forms() -> None:
    """Ids of one element, undefined and delta snapshots."""
    values = decode(JS_JSON)["channel_values"]
    assert values["messages"][0].name == "AIMessage"
    assert (values["m"].module, values["m"].name) == ("", "Map")
    assert values["u"].form is Form.UNDEFINED
    assert (values["d"].form, values["d"].state) == (Form.SNAPSHOT, ["x"])


def test_bytes_read_as_bytes() -> None:
    """The fromhex envelope of bytes is bytes."""
    assert (
        decode('{"lc": 2, "type": "constructor", "id": ["builtins", "bytes"], "method": "fromhex", "args": ["00ff"]}')
        == b"\x00\xff"
    )


@pytest.mark.parametrize(
    "data",
    [
        {"lc": 1},
        {"lc": 3, "type": "constructor", "id": ["a"], "kwargs": {}},
        {"lc": True, "type": "constructor", "id": ["a"], "kwargs": {}},
        {"lc": 2, "type": "constructor"},
        {"lc": 2, "id": ["a"]},
        {"lc": 2, "type": "constructor", "id": []},
        {"lc": 2, "type": "constructor", "id": "os.system"},
        {"lc": 2, "type": "constructor", "id": ["a", 1]},
        {"lc": 2, "type": "constructor", "id": ["a"], "args": 1},
        {"lc": 2, "type": "constructor", "id": ["a"], "method": {"x": 1}},
        {"lc": 2, "type": "constructor", "id": ["a"], "mine": 1},
        {"lc": 1, "type": "constructor", "id": ["a"], "kwargs": []},
        {"lc": 1, "type": "other", "id": ["a"]},
        {"lc": 2, "type": "undefined", "mine": 1},
    ],
)
def test_data_that_merely_looks_like_an_envelope_stays_data(data: dict[str, Any]) -> None:
    """An envelope that no library writes is the user's dict."""
    assert decode(json.dumps({"x": data})) == {"x": data}


def test_the_words_of_a_failed_stringify_are_text() -> None:
    """LangGraph.js stores a string where it could not serialize; it is a string here too."""
    words = "[unable to serialize, circular reference is too complex to analyze]"
    assert decode(json.dumps(words)) == words


def test_lone_surrogates_are_kept() -> None:
    """An escape for half a character is read as that half."""
    assert decode('"bad \\ud83d half"') == "bad \ud83d half"


@pytest.mark.parametrize(
    "data",
    [b"", b"nope", b"\xff\xfe", b'"cut', b"[" * 200_000, b'{"a":' * 5_000 + b"1", b"1" * 5_000],
)
def test_what_is_no_json_is_broken(data: bytes) -> None:
    """A text nobody can read is one BROKEN node, whatever its depth or length."""
    value = decode(data)
    assert isinstance(value, Node) and value.form is Form.BROKEN and value.problem


@pytest.mark.parametrize(
    ("data", "value", "problems"),
    [
        (b'{"s":[1,,3],"fn":undefined,"ok":1}', {"s", "fn", "ok"}, ["no value @ $.s[1]", "no value @ $.fn"]),
        (b'{"a":"\xff","b":"ok"}', {"a", "b"}, ["bad UTF-8 @ $.a"]),
        (b'{"a b":tru}', {"a b"}, ["no value @ $['a b']"]),
        (b'{a:1,"b":2}', {"a:1", "b"}, ["no key @ $['a:1']"]),
        (b'{"a":1', {"a", DAMAGED}, ["truncated @ $['<damaged>']"]),
        (b'{"a":', {"a", DAMAGED}, ["truncated @ $.a", "truncated @ $['<damaged>']"]),
        (b'{"a":1} and more', {"a", DAMAGED}, ["not JSON: Extra data at character 8"]),
        (b'{"a":1]', {"a", DAMAGED}, ["not JSON: Expecting ',' delimiter at character 6"]),
        (b'{"n":' + b"1" * 5_000 + b',"b":1}', {"n", "b"}, ["a number of thousands of digits @ $.n"]),
    ],
)
def test_one_damaged_value_costs_no_other(data: bytes, value: set[str], problems: list[str]) -> None:
    """Holes, bare words, bad bytes and cut ends are BROKEN where they stand; the other members are there."""
    found = decode(data)
    assert set(found) == value
    assert sorted(node.problem for node in broken_parts(found)) == sorted(problems)


@pytest.mark.parametrize("stored", [PYTHON_JSON, JS_JSON])
def test_a_truncated_text_keeps_what_it_held(stored: str) -> None:
    """Cut anywhere, the members before the cut are there, and the damage is told."""
    for at in range(2, len(stored.encode())):
        value = decode(stored.encode()[:at])
        assert broken_parts(value)
    assert decode(stored[:-5])["channel_values"]["messages"][0].fields["content"] == "hello"


def test_depth_is_bounded() -> None:
    """Valid JSON that is nested beyond use is BROKEN, so that no reader of the value overflows."""
    assert decode("[" * 600 + "]" * 600).form is Form.BROKEN
    assert isinstance(decode("[" * 300 + "]" * 300), list)


def test_untagged_payloads_are_told_by_their_first_byte() -> None:
    """Tables without a type column hold JSON text, or a pickle."""
    assert Codec().decode(Payload("", b'{"v": 1}')) == {"v": 1}
    assert Codec().decode(Payload("", b"\x80\x04K\x01.")) == 1


@pytest.mark.parametrize("stored", [PYTHON_JSON, JS_JSON])
def test_an_edit_leaves_the_other_text_as_it_is(stored: str) -> None:
    """Only the edited value is written anew, in the style of the library that wrote the rest."""
    codec, like = Codec(), Payload("json", stored.encode())
    value = codec.decode(like)
    edited = {**value, "channel_values": {**value["channel_values"], "extra": [1, {"k": None}]}}
    new = codec.encode(edited, like)
    assert same(codec.decode(new), edited)
    style = '"extra":[1,{"k":null}]' if stored is JS_JSON else '"extra": [1, {"k": null}]'
    assert style in new.data.decode()
    assert codec.encode(value, new) == like


@pytest.mark.parametrize("stored", [PYTHON_JSON, JS_JSON])
def test_a_field_of_an_object_is_edited_inside_its_envelope(stored: str) -> None:
    """The envelope of an edited message keeps its keys and their order; one word differs."""
    codec, like = Codec(), Payload("json", stored.encode())
    edited = codec.decode(Payload("json", stored.replace("hello", "goodbye").encode()))
    assert codec.encode(edited, like).data.decode() == stored.replace("hello", "goodbye")
