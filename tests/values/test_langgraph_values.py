"""Messages, interrupts, Sends and well-known types of every era are read alike."""

import datetime as dt
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from ckpt_cli.model import Payload
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.langgraph_values import (
    Interrupt,
    Message,
    Overwrite,
    Send,
    interrupts,
    items,
    js_send,
    message,
    messages,
    overwrite,
    send,
    text,
)
from ckpt_cli.values.node import Form, Node, Opened
from tests.serde.samples import VALUES, payload

WORK = {"node": "work", "arg": {"i": 1}}


def decoded(value: Any) -> Any:
    return Codec().decode(payload(value))


def from_text(text: str) -> Any:
    return Codec().decode(Payload("json", text.encode()))


def test_the_messages_of_today() -> None:
    """Role, text, id, tool calls and answers of every kind of message."""
    human, ai, tool, chunk, critic, parts, remove = messages(decoded(VALUES["messages"])) or []
    assert human == Message("human", "m1", "hello")
    assert ai.tool_calls == [{"name": "look", "args": {"q": "köln", "k": [1, 2]}, "id": "call_1"}]
    assert (tool.role, tool.text, tool.tool_call_id, tool.name) == ("tool", "found", "call_1", "look")
    assert (chunk.role, critic.role, remove.role, remove.id) == ("ai", "critic", "remove", "m1")
    assert parts.text == "see\n[image_url]"


@pytest.mark.parametrize(
    "stored",
    [
        '{"lc":1,"type":"constructor","id":["langchain","schema","messages","AIMessage"],'
        '"kwargs":{"content":"hi","type":"ai","id":"1"}}',
        '{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessageChunk"],"kwargs":{"content":"hi","id":"1"}}',
        '{"type":"ai","content":"hi","id":"1"}',
        '{"role":"assistant","content":"hi","id":"1"}',
        '{"role":"ai","content":[{"type":"text","text":"hi"}],"id":"1"}',
    ],
)
def test_messages_of_other_eras(stored: str) -> None:
    """LangChain's JSON from Python and JavaScript, and plain dicts as many graphs keep them."""
    assert message(from_text(stored)) == Message("ai", "1", "hi")


def test_messages_of_pydantic_v1() -> None:
    """langchain-core before 0.3 is extension 4."""
    node = Node(Opened("langchain_core.messages.ai", "AIMessage", Form.PYDANTIC_V1, {"content": "hi", "type": "ai"}))
    assert message(node) == Message("ai", None, "hi")


def test_tool_calls_of_openai_are_tool_calls() -> None:
    """Old messages have them among the additional arguments."""
    call = {"id": "c1", "function": {"name": "look", "arguments": "{}"}, "type": "function"}
    parsed = message({"role": "assistant", "content": None, "additional_kwargs": {"tool_calls": [call]}})
    assert parsed and parsed.tool_calls == [{"name": "look", "args": "{}", "id": "c1"}]


def test_a_subclass_of_a_message_is_a_message() -> None:
    """A user's own message class is known by its name and its fields."""

    class ReviewMessage(AIMessage):
        score: int = 1

    assert message(decoded(ReviewMessage("good", id="r"))) == Message("ai", "r", "good")


@pytest.mark.parametrize(
    "value",
    [
        None,
        "hi",
        {},
        {"role": "user"},
        {"type": "box", "content": "x"},
        {"role": "user", "content": 1},
        {"role": ["user"], "content": "x"},
        decoded(VALUES["pydantic"]),
        decoded(VALUES["document"]),
        decoded(VALUES["uuid"]),
    ],
)
def test_what_is_no_message(value: Any) -> None:
    """Other data is never taken for a message, nor a list that holds it for a conversation."""
    assert message(value) is None
    assert messages([{"role": "user", "content": "x"}, value]) is None
    assert messages([]) is None


@pytest.mark.parametrize(
    ("value", "interrupt"),
    [
        (decoded(VALUES["interrupt"]), Interrupt("0" * 32, {"q": 1})),
        ({"id": "i", "value": 1}, Interrupt("i", 1)),
        ({"value": {"why": 1}, "when": "during"}, Interrupt(None, {"why": 1})),
        ({"value": 1, "when": "during", "resumable": True, "ns": ["a:1"]}, Interrupt(None, 1, ["a:1"])),
        (
            Node(Opened("langgraph.types", "Interrupt", Form.KWARGS, {"value": 1, "resumable": True, "ns": ["n:t"]})),
            Interrupt(None, 1, ["n:t"]),
        ),
        (
            Node(
                Opened(
                    "langgraph.constants", "Interrupt", Form.LC2, {"args": [], "kwargs": {"value": 1, "when": "during"}}
                )
            ),
            Interrupt(None, 1),
        ),
        (
            Node(Opened("langgraph.types", "Interrupt", Form.PICKLE, {"state": {"value": 1, "id": "i"}})),
            Interrupt("i", 1),
        ),
    ],
)
def test_interrupts_of_every_era(value: Any, interrupt: Interrupt) -> None:
    """One or a list, with and without an id, as objects and as JavaScript's dicts."""
    assert interrupts(value) == [interrupt]


@pytest.mark.parametrize("value", [None, [], "x", {"value": 1, "mine": 2}, {"id": "x"}, decoded(VALUES["dataclass"])])
def test_what_is_no_interrupt(value: Any) -> None:
    """A user's dict with other keys is no interrupt."""
    assert interrupts(value) == []


@pytest.mark.parametrize(
    "value",
    [
        decoded(VALUES["send"]),
        Node(Opened("langgraph.constants", "Send", Form.LC2, {"args": [], "kwargs": WORK})),
        Node(Opened("langgraph.types", "Send", Form.PICKLE, {"state": WORK})),
        Node(Opened("langgraph.types", "Send", Form.ARGS, ["work", {"i": 1}, None])),
    ],
)
def test_sends_of_every_era(value: Any) -> None:
    """Its arguments are positional in msgpack and named in JSON and pickle."""
    parsed = send(value)
    assert parsed and parsed.node == "work" and parsed.arg["i"] == 1


def test_javascripts_sends_are_known_by_their_place() -> None:
    """The dict has no mark: only the caller knows that it is in a list of Sends."""
    assert send({"node": "work", "args": 1}) is None
    assert js_send({"node": "work", "args": 1}) == Send("work", 1)
    assert js_send(decoded(VALUES["send"])) == send(decoded(VALUES["send"]))
    assert js_send({"node": 1, "args": 1}) is None


def test_overwrites() -> None:
    """An `Overwrite` is an object, or a dict that LangGraph takes for one."""
    assert overwrite(decoded(VALUES["overwrite"])) == Overwrite(["fresh"])
    assert overwrite({"__overwrite__": None}) == Overwrite(None)
    assert overwrite({"__overwrite__": 1, "more": 2}) is None


@pytest.mark.parametrize(
    ("value", "natural"),
    [
        (VALUES["uuid"], "12345678-1234-5678-1234-567812345678"),
        (VALUES["decimal"], "3.14159265358979323846"),
        (VALUES["path"], "/tmp/a b/c.txt"),
        (VALUES["date"], "2024-02-29"),
        *((when, when.isoformat()) for when in VALUES["datetimes"]),
        *((when, when.isoformat()) for when in VALUES["times"]),
        (VALUES["timedelta"], str(VALUES["timedelta"])),
        *((zone, str(zone)) for zone in VALUES["timezones"]),
        (dt.timezone(-dt.timedelta(hours=3, minutes=30)), "UTC-03:30"),
        (dt.timezone(dt.timedelta(hours=1), "CET"), "CET"),
        *((address, str(address)) for address in VALUES["ip"]),
        (VALUES["enums"][0], "red"),
        (VALUES["enums"][1], "9"),
        (VALUES["regex"][0], r"^a+\d$"),
        (VALUES["regex"][1], "raw"),
        (VALUES["secrets"][0], "**********"),
        (VALUES["dataclass"], None),
        (VALUES["messages"], None),
        ("text", None),
    ],
)
def test_natural_texts(value: Any, natural: str | None) -> None:
    """The natural text is what Python's own classes print."""
    assert text(decoded(value)) == natural


def test_secrets_are_shown_only_when_asked_for() -> None:
    """The clear text is in the payload and is shown only with `reveal`."""
    assert text(decoded(VALUES["secrets"][0]), reveal=True) == "p@ss"


@pytest.mark.parametrize(
    ("kind", "form", "state"),
    [
        ("uuid.UUID", Form.VALUE, "short"),
        ("uuid.UUID", Form.VALUE, None),
        ("datetime.date", Form.ARGS, ["x", 1, 1]),
        ("datetime.timedelta", Form.ARGS, [10**30]),
        ("datetime.timedelta", Form.ARGS, [float("nan")]),
        ("datetime.time", Form.KWARGS, {}),
        ("datetime.timezone", Form.ARGS, []),
        ("datetime.timezone", Form.ARGS, [1]),
        ("pathlib.PosixPath", Form.ARGS, [1]),
        ("re.compile", Form.ARGS, []),
        ("decimal.Decimal", Form.VALUE, [1]),
    ],
)
def test_arguments_that_make_no_sense_have_no_text(kind: str, form: Form, state: Any) -> None:
    """A well-known type with damaged arguments is an object like any other."""
    module, _, name = kind.rpartition(".")
    assert text(Node(Opened(module, name, form, state))) is None


@pytest.mark.parametrize("value", [[1, 2], {1, 2}, frozenset({1, 2})])
def test_collections_have_items(value: Any) -> None:
    """Lists, sets and deques give their elements, in whatever form they are recorded."""
    assert items(decoded(value)) == [1, 2]


def test_collections_of_json_have_items() -> None:
    """The envelopes of Python and JavaScript."""
    for path in ('["builtins","set"]', '["Set"]', '["collections","deque"]'):
        assert items(from_text(f'{{"lc":2,"type":"constructor","id":{path},"args":[[1,2]]}}')) == [1, 2]
    assert items(from_text('{"lc":2,"type":"constructor","id":["Set"],"args":[]}')) == []
    assert items({"a": 1}) is None and items(decoded(VALUES["uuid"])) is None


@pytest.mark.parametrize(
    ("kind", "hidden"),
    [
        ("pydantic.types.SecretStr", True),
        ("pydantic.v1.types.SecretBytes", True),
        ("pydantic.types.Secret[int]", True),
        ("mine.SecretStr", True),
        ("mine.SecretSanta", False),
    ],
)
def test_what_counts_as_a_secret(kind: str, hidden: bool) -> None:
    """Pydantic's secrets of every version are; a user's class with such a name is not."""
    module, _, name = kind.rpartition(".")
    assert (text(Node(Opened(module, name, Form.VALUE, "p@ss"))) == "p@ss") is not hidden
