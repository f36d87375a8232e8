"""The first human message of a state is found, whatever form it has, and no value is skipped that holds one."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, HumanMessageChunk
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ckpt_cli.history.state import titles
from ckpt_cli.model import Payload
from ckpt_cli.serde.codec import Codec

HUMAN: list[Any] = [
    [HumanMessage("hello")],
    [AIMessage("hi"), HumanMessageChunk("hello")],
    [{"role": "user", "content": "hello"}],
    [{"type": "human", "content": "hello"}],
    [("user", "hello")],
    [["human", "hello"]],
    HumanMessage("hello"),
    [AIMessage(f"{n}") for n in range(60)] + [HumanMessage("hello")],
]
OTHERS: list[Any] = [
    "hello",
    ["hello", "you"],
    5,
    None,
    {"role": "assistant", "content": "hello"},
    [AIMessage("hello")],
]


def stored(value: Any) -> Payload:
    return Payload(*JsonPlusSerializer().dumps_typed(value))


@pytest.mark.parametrize("value", HUMAN)
def test_no_message_is_skipped(value: Any) -> None:
    """A payload with a human message is one that may hold a message."""
    payload = stored(value)
    assert titles.from_values({"chat": Codec().decode(payload)}) == "hello"
    assert titles.may_hold_message("chat", payload)
    assert titles.may_hold_message("chat", Payload("json", b'[{"role": "us\\u0065r", "content": "hello"}]'))


@pytest.mark.parametrize("value", OTHERS)
def test_others_are_skipped(value: Any) -> None:
    """Values without roles aren't decoded for a title; in a conversation, a text is a human message."""
    payload = stored(value)
    assert titles.from_values({"chat": Codec().decode(payload)}) == ""
    assert payload.tag != "msgpack" or not titles.may_hold_message("chat", payload)
    assert titles.may_hold_message("messages", payload)
    assert titles.from_values({"messages": Codec().decode(stored(["hello"]))}) == "hello"
