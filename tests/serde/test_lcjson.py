"""JSON of both LangGraphs: envelopes become nodes, a user's data stays data, and damage is reported."""

import json
from typing import Any

import pytest

from ckpt_cli.errors import UsageError
from ckpt_cli.model import Payload
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.langgraph_values import text
from ckpt_cli.values.node import DAMAGED, Form, Node, Opened
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


@pytest.mark.parametrize("args", [[], ["00", "ff"], [1], ["no hex"]])
def test_only_what_fromhex_takes_is_bytes(args: list[Any]) -> None:
    """With other arguments it is no value, and nothing is left out or guessed at."""
    envelope = {"lc": 2, "type": "constructor", "id": ["builtins", "bytes"], "method": "fromhex", "args": args}
    value = decode(json.dumps(envelope))
    if len(args) == 1:
        assert value == envelope
    else:
        assert (value.form, value.state, value.method) == (Form.LC2, {"args": args, "kwargs": {}}, "fromhex")


@pytest.mark.parametrize("given", [{}, {"args": None}, {"args": [1]}, {"kwargs": None}, {"kwargs": {"a": 1}}])
def test_arguments_that_are_left_out_are_none(given: dict[str, Any]) -> None:
    """The library calls without arguments that are missing or null."""
    value = decode(json.dumps({"lc": 2, "type": "constructor", "id": ["m", "C"], **given}))
    assert (value.form, value.state) == (
        Form.LC2,
        {"args": given.get("args") or [], "kwargs": given.get("kwargs") or {}},
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
    [b"", b"nope", b"\xff\xfe", b'"cut', b"[" * 200_000, b'{"a":' * 5_000 + b"1" + b"}" * 5_000, b"1" * 5_000],
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
        (b'{"a":[[1],[2,[3]]],"b":,"c":[{"d":[4]}]}', {"a", "b", "c"}, ["no value @ $.b"]),
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
    """Holes, bare words, bad bytes and cut ends become BROKEN nodes; the other members are decoded."""
    found = decode(data)
    assert set(found) == value
    assert sorted(node.problem for node in broken_parts(found)) == sorted(problems)


@pytest.mark.parametrize("stored", [PYTHON_JSON, JS_JSON])
def test_a_truncated_text_keeps_what_it_held(stored: str) -> None:
    """A text cut anywhere has the members before the cut, and the damage is reported."""
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


def test_a_snapshot_keeps_the_spelling_around_an_edit() -> None:
    """Inside the envelope of a delta snapshot only what was edited is written anew."""
    codec, stored = Codec(), '{"lc": 2, "type": "delta_snapshot", "value": {"a": 1.50, "b": %d}}'
    value = codec.decode(Payload("json", (stored % 1).encode()))
    edited = Node(Opened(value.module, value.name, Form.SNAPSHOT, {"a": 1.5, "b": 2}))
    assert codec.encode(edited, Payload("json", (stored % 1).encode())).data.decode() == stored % 2


@pytest.mark.parametrize(
    ("form", "state", "method", "expected"),
    [
        (Form.VALUE, 1, "", {"args": [1], "kwargs": {}}),
        (Form.VALUE, b"\x0f", "", {"args": ["0f"], "kwargs": {}}),
        (Form.METHOD, "2024", "parse", {"args": ["2024"], "kwargs": {}}),
        (Form.ARGS, [1, 2], "", {"args": [1, 2], "kwargs": {}}),
        (Form.KWARGS, {"a": 1}, "", {"args": [], "kwargs": {"a": 1}}),
        (Form.PYDANTIC, {"a": 1}, "construct", {"args": [], "kwargs": {"a": 1}}),
        (Form.PYDANTIC_V1, {"a": 1}, "", {"args": [], "kwargs": {"a": 1}}),
        (Form.PYDANTIC, [1], "", None),
        (Form.ARRAY, {"dtype": "f8"}, "", None),
        (Form.PICKLE, {"args": []}, "", None),
    ],
)
def test_objects_from_msgpack_go_into_json_by_their_form(
    form: Form, state: Any, method: str, expected: dict[str, Any] | None
) -> None:
    """Each is written as the constructor call that makes it; a value that no call makes is refused."""
    codec, like = Codec(), Payload("json", b"{}")
    node = Node(Opened("m.n", "C", form, state, method))
    if expected is None:
        with pytest.raises(UsageError, match="JSON has no form for"):
            codec.encode({"x": node}, like)
        return
    called = [None, "construct"] if method == "construct" else method or None
    envelope = {"lc": 2, "type": "constructor", "id": ["m", "n", "C"], "method": called, **expected}
    assert json.loads(codec.encode({"x": node}, like).data) == {"x": envelope}
