"""JSON in the dialect of the Redis saver: its own serializer writes, ckpt reads; ckpt writes, it reads."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.redis.jsonplus_redis import JsonPlusRedisSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Interrupt, Send

from ckpt_cli.errors import UsageError
from ckpt_cli.model import NULL, Payload
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.node import Form, Node, Opened
from ckpt_cli.values.well_known_types import text as natural_text
from tests.truth_rendering import rendered

TAG = "redis-json"
SAMPLES: list[Any] = [
    {"a": [1, 2.5, None, True, "ä\n"]},
    Interrupt({"ask": "sure?"}, id="i1"),
    [Interrupt("one", id="1"), Interrupt("two", id="2")],
    Send("node", {"x": 1}),
    _DeltaSnapshot(["a", {"b": 1}]),
    {"deep": {"send": [Send("n", Send("m", 1))]}},
    [HumanMessage("hello", id="h1"), AIMessage("yes", id="a1")],
]


def stored(value: Any) -> Payload:
    """As the saver stores it."""
    tag, data = JsonPlusRedisSerializer().dumps_typed(value)
    assert tag == "json"
    return Payload(TAG, data)


@pytest.mark.parametrize("value", SAMPLES, ids=repr)
def test_read_as_elsewhere(value: Any) -> None:
    """What the saver's JSON holds is shown as what msgpack holds of the same value."""
    elsewhere = Codec().decode(Payload(*JsonPlusSerializer().dumps_typed(value)))
    assert rendered(Codec().decode(stored(value))) == rendered(elsewhere)


@pytest.mark.parametrize("value", SAMPLES, ids=repr)
def test_written_anew(value: Any) -> None:
    """A value put in the place of another is what the saver's own serializer reads."""
    codec = Codec()
    made = codec.encode(codec.decode(stored(value)), like=stored({"some": "other"}))
    assert made.tag == TAG
    assert JsonPlusRedisSerializer().loads_typed(("json", made.data)) == value
    assert codec.encode(codec.decode(stored(value)), like=stored(value)) == stored(value)


def test_an_edit_inside_a_marker() -> None:
    """An edited Interrupt is written whole, and the rest keeps its bytes."""
    like = Payload(TAG, b'{"n":1.50,"q":{"__interrupt__":true,"value":"a","id":"1"}}')
    edited = {"n": 1.5, "q": Node(Opened("langgraph.types", "Interrupt", Form.KWARGS, {"value": "b", "id": "1"}))}
    made = Codec().encode(edited, like=like)
    assert made.data == b'{"n":1.50,"q":{"__interrupt__":true,"value":"b","id":"1"}}'


def test_messages_of_msgpack_become_envelopes() -> None:
    """A message as msgpack holds it is written as LangChain's envelope, which the saver revives."""
    message = HumanMessage("hello", id="h1")
    value = Codec().decode(Payload(*JsonPlusSerializer().dumps_typed([message])))
    made = Codec().encode(value, like=Payload(TAG, b"[]"))
    assert JsonPlusRedisSerializer().loads_typed(("json", made.data)) == [message]
    (envelope,) = json.loads(made.data)
    assert (envelope["lc"], envelope["id"]) == (1, ["langchain", "schema", "messages", "HumanMessage"])


def test_bytes() -> None:
    """Bytes inside a checkpoint have a marker, which is read and written; at the top they have a tag of their own."""
    codec = Codec()
    assert codec.decode(Payload(TAG, b'{"a":{"__bytes__":"aGk="}}')) == {"a": b"hi"}
    assert (
        codec.encode({"a": b"ho"}, like=Payload(TAG, b'{"a":{"__bytes__":"aGk="}}')).data
        == b'{"a":{"__bytes__":"aG8="}}'
    )
    assert codec.encode(b"ho", like=Payload(TAG, b"{}")) == Payload("bytes", b"ho")
    assert codec.encode(None, like=Payload(TAG, b"{}")) == NULL


def test_what_only_looks_like_a_marker_stays_a_dict() -> None:
    """A user's dict with a marker's key and something else is no marker."""
    for looks in (
        '{"__interrupt__":true}',
        '{"__send__":true,"node":"a"}',
        '{"__send__":false,"node":"a","arg":1}',
        '{"__delta_snapshot__":1,"value":1}',
        '{"__bytes__":"not base64"}',
        '{"__bytes__":5}',
    ):
        assert Codec().decode(Payload(TAG, looks.encode())) == json.loads(looks)


def test_nan_has_no_form() -> None:
    """RedisJSON holds no NaN, so none is written."""
    with pytest.raises(UsageError):
        Codec().encode({"n": float("nan")}, like=Payload(TAG, b'{"n":1}'))


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2026, 1, 2, 3, 4, 5),
        datetime(2026, 1, 2, tzinfo=UTC),
        datetime(2026, 1, 2, 3, 4, 5, 678, timezone(-timedelta(hours=5, minutes=30))),
    ],
)
def test_moments(moment: datetime) -> None:
    """Its serializer reads a date and time that ckpt writes; the natural text stays, and so does it in msgpack."""
    codec = Codec()
    node = codec.decode(Payload(*JsonPlusSerializer().dumps_typed(moment)))
    written = codec.encode({"at": node}, like=Payload(TAG, b"null"))
    assert JsonPlusRedisSerializer().loads_typed(("json", written.data)) == {"at": moment}
    read = codec.decode(written)["at"]
    assert natural_text(read) == natural_text(node)
    assert JsonPlusSerializer().loads_typed(codec.encode(read, like=Payload("msgpack", b"\xc0"))) == moment
