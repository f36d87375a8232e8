"""JSON of both LangGraphs: envelopes become nodes, a user's data stays data, and damage is told."""

import json
from typing import Any

import pytest

from ckpt_cli.model import Payload
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.known import text
from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.same import same
from tests.serde.samples import JS_JSON, PYTHON_JSON


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
    [b"", b"{", b"nope", b'{"a":1,}', b"\xff\xfe", b"[" * 200_000, b'{"a":' * 5_000 + b"1", b"1" * 5_000],
)
def test_what_is_no_json_is_broken(data: bytes) -> None:
    """A text nobody can read is one BROKEN node, whatever its depth or length."""
    value = decode(data)
    assert isinstance(value, Node) and value.form is Form.BROKEN and value.problem.endswith("@ $")


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
