"""Objects are equal where LangGraph makes equal ones of them, whichever form records them."""

import pickle
import re
from collections import OrderedDict, deque
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.redis.jsonplus_redis import JsonPlusRedisSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command, Interrupt, Send

from ckpt_cli.history.diff.diff import differences
from ckpt_cli.history.diff.element_keys import digest
from ckpt_cli.model import NULL, Payload
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.node import Form, Node, Opened
from ckpt_cli.values.recorded_calls import CLASSES, DEFAULTS
from ckpt_cli.values.same import same, sort_key
from ckpt_cli.values.write_forms import is_as_written


@dataclass
class Pair:
    x: Any


@dataclass(frozen=True, slots=True)
class Slotted:
    x: Any
    y: int = 0


class Size(Enum):
    SMALL = "s"
    LARGE = "l"


class Point(NamedTuple):
    x: Any
    y: Any


class Unpackable:
    """An object that msgpack can't hold."""


CALL = {"name": "look", "args": {"at": [1, None]}, "id": "c1", "type": "tool_call"}
USAGE: Any = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
MESSAGES: list[Any] = [
    HumanMessage("hello"),
    HumanMessage("hello", id="h1"),
    HumanMessage([{"type": "text", "text": "hello"}], name="n", additional_kwargs={"k": [1]}),
    AIMessage("", tool_calls=[CALL], id="a1", usage_metadata=USAGE, response_metadata={"model": "m"}),  # type: ignore[list-item]
    AIMessage("hi"),
    AIMessageChunk("hi"),
    ToolMessage("found", tool_call_id="c1", artifact={"rows": 3}),
    ToolMessage("not found", tool_call_id="c1", status="error"),
    *(SystemMessage("be kind"), ChatMessage("x", role="r"), FunctionMessage("x", name="f"), RemoveMessage("h1")),
    *(Document("text"), Document("text", metadata={"n": 1}, id="d")),
]
ZONE = timezone(-timedelta(hours=5, minutes=30, seconds=7))
VALUES: list[Any] = [
    *(Decimal("1.10"), Decimal("1.1"), {"a", "b"}, set(), frozenset({1}), deque([1, 2]), deque()),
    *(UUID(int=7), Path("/a/b"), Path(), re.compile("a+", re.IGNORECASE), re.compile("a+"), Pair(1), Pair({"y"})),
    *(datetime(2026, 1, 2), datetime(2026, 1, 2, 3, 4, 5, 678), datetime(2026, 1, 2, tzinfo=UTC)),
    *(datetime(2026, 1, 2, tzinfo=ZONE), date(2026, 1, 2), time(3, 4), time(3, 4, tzinfo=UTC)),
    *(timedelta(days=-1, microseconds=3), ZONE, timezone(timedelta(hours=1), "CET"), b"\1", [b"\1"], ["x"], "x"),
    {"deep": [Pair([Decimal(2), {"in": HumanMessage("x", id="1")}]), [frozenset({UUID(int=1)})]]},
]
PICKLED: list[Any] = [
    *(Size.SMALL, Size.LARGE, Send("work", {"n": 1}), Interrupt("sure?", id="i"), OrderedDict(a=1)),
    datetime(2026, 7, 2, tzinfo=UTC),
    [Pair(Size.SMALL)],
]
"""Values that a pickle holds in another form than msgpack."""
SERDE, REDIS = JsonPlusSerializer(), JsonPlusRedisSerializer()
CODEC = Codec()


def stored(value: Any) -> Any:
    return CODEC.decode(Payload(*SERDE.dumps_typed(value)))


def copied(value: Any) -> Any:
    """What a copy into a checkpoint of Redis holds, whose saver reads the same value from it."""
    payload = CODEC.encode([stored(value)], like=Payload("redis-json", b"[]"))
    return CODEC.decode(payload)[0]


def copied_on(value: Any) -> Any:
    return CODEC.decode(CODEC.encode([copied(value)], like=NULL))[0]


def pickled(value: Any) -> Any:
    """What a checkpoint holds that is a pickle because of another channel's value."""
    return CODEC.decode(Payload("pickle", pickle.dumps([value, Unpackable()])))[0]


def must_be_same(one: Any, other: Any) -> None:
    assert same(one, other) and same(other, one), (one, other)
    assert digest(one, raw=False) == digest(other, raw=False) and sort_key(one) == sort_key(other)
    assert not isinstance(one, Node) or hash(one) == hash(other)


@pytest.mark.parametrize("value", [*MESSAGES, *VALUES])
def test_a_copy_in_redis_holds_the_same(value: Any) -> None:
    """What is stored as msgpack, as JSON in Redis, and as msgpack again is one value."""
    must_be_same(stored(value), copied(value))
    must_be_same(stored(value), copied_on(value))
    must_be_same(copied(value), copied_on(value))


@pytest.mark.parametrize("value", [*MESSAGES, *VALUES, *PICKLED])
def test_a_pickle_holds_the_same(value: Any) -> None:
    """A checkpoint that msgpack can't hold is a pickle, the writes of its other channels are msgpack."""
    must_be_same(stored(value), pickled(value))


def test_what_a_checkpoint_stores_in_another_form_is_as_written_and_not_the_same() -> None:
    """LangGraph reads bytes for a bytearray that was written, and of a zone only the offset: two states differ."""
    berlin = datetime(2026, 7, 2, tzinfo=ZoneInfo("Europe/Berlin"))
    forms = [(CODEC.decode(Payload("bytearray", b"q")), b"q"), (stored(berlin), pickled(berlin))]
    for one, other in (*forms, ([{"a": forms[0][0]}, 1], [{"a": b"q"}, 1])):
        assert is_as_written(one, other) and is_as_written(other, one)
        assert not same(one, other) and not same(other, one)
    lagos = datetime(2026, 1, 2, tzinfo=ZoneInfo("Africa/Lagos"))
    winter = datetime(2026, 1, 2, tzinfo=ZoneInfo("Europe/Berlin"))
    assert not is_as_written(pickled(winter), pickled(lagos)) and is_as_written(stored(lagos), pickled(winter))
    assert not is_as_written(forms[0][0], b"r") and not is_as_written(stored(berlin), pickled(lagos))


def test_a_pickle_without_names_holds_the_same() -> None:
    """Of a named tuple, and of a frozen class with slots, a pickle has the values in order, without their names."""
    values = [Point(1, "b"), Point("b", 1), Point(1, "c"), Slotted(1), Slotted([2], 3), Command(goto="a"), Command()]
    for one in values:
        for other in values:
            assert same(stored(one), pickled(other)) == same(pickled(one), stored(other)) == (one is other)


@pytest.mark.parametrize("value", MESSAGES)
def test_langchains_json_is_the_same(value: Any) -> None:
    """Redis' own saver leaves out fields with their defaults; LangChain gives them to the object again."""
    must_be_same(CODEC.decode(Payload("redis-json", REDIS.dumps_typed([value])[1]))[0], stored(value))


def test_other_values_stay_others() -> None:
    """No two different values are the same in any two forms."""
    values = [*MESSAGES, *VALUES, *PICKLED]
    for at, value in enumerate(values):
        for other in values[:at]:
            assert not same(stored(value), copied(other)), (value, other)
            assert not same(copied(value), copied(other)), (value, other)
            assert not same(stored(value), pickled(other)), (value, other)


def test_a_call_without_the_content_is_another() -> None:
    """What Redis' own saver stores of a Decimal has lost its value, and another class makes another object."""
    for value in (Decimal("1.10"), Path("/a/b"), frozenset({1}), deque([1])):
        lost = CODEC.decode(Payload("redis-json", REDIS.dumps_typed([value])[1]))[0]
        assert not same(lost, stored(value))
    once = Node(Opened("m", "C", Form.VALUE, 1))
    assert same(once, Node(Opened("m", "C", Form.ARGS, [1])))
    for opened in (
        Opened("m", "D", Form.VALUE, 1),
        Opened("m", "C", Form.METHOD, 1, method="of"),
        Opened("m", "C", Form.LC2, {"args": [1], "kwargs": {}}, method="of"),
        Opened("m", "C", Form.LC2, {"args": [1], "kwargs": {"y": 1}}),
        Opened("m", "C", Form.PYDANTIC, {"x": 1}),
        Opened("m", "C", Form.VALUE, 1, problem="cut off"),
    ):
        assert not same(once, Node(opened))


def test_differences_between_two_forms() -> None:
    """Only what differs is listed, and defaults that one form leaves out aren't; a set by its members."""
    before = {"log": [HumanMessage("a", id="1"), Decimal(2)], "tags": {Decimal(1), UUID(int=2)}, "pair": Pair([1, 2])}
    after = {"log": [HumanMessage("b", id="1"), Decimal(2)], "tags": {Decimal(1), UUID(int=3)}, "pair": Pair([1, 3])}
    redis = CODEC.decode(Payload("redis-json", REDIS.dumps_typed([HumanMessage("a", id="1")])[1]))
    for old in (copied(before), copied_on(before), {**copied(before), "log": [*redis, copied(Decimal(2))]}):
        log, tags, pair = differences(old, stored(after))
        [message] = log.parts
        assert [(one.path, one.before, one.after) for one in message.parts] == [("log[0].content", "a", "b")]
        assert tags.counts is not None and (tags.counts.kept, len(tags.parts)) == (1, 2)
        assert [part.path for part in pair.parts] == ["pair.x"]


@pytest.mark.parametrize("kind", {type(one): None for one in MESSAGES})
def test_defaults_are_those_of_the_library(kind: Any) -> None:
    """Each class has these values in fields that it isn't given, and its module is the one that its old path means."""
    *path, name = kind.lc_id()
    assert CLASSES[".".join(path), name] == kind.__module__
    free = {key: field for key, field in kind.model_fields.items() if not field.is_required() and key != "type"}
    ours = {key: value for key, value in DEFAULTS.get(name, DEFAULTS[""]).items() if key in free}
    assert {key: field.get_default(call_default_factory=True) for key, field in free.items()} == ours
