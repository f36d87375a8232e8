"""Values and payloads that the tests of serde start from; the serializer is the real one."""

import dataclasses
import datetime as dt
import decimal
import enum
import ipaddress
import pathlib
import pickle
import re
import uuid
import zoneinfo
from collections import deque, namedtuple
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, AIMessageChunk, ChatMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command, Interrupt, Overwrite, Send
from pydantic import BaseModel, RootModel, SecretStr

from ckpt_cli.model import Payload
from ckpt_cli.values.node import Form, Node

SERIALIZER = JsonPlusSerializer(pickle_fallback=True)


class Color(enum.Enum):
    RED = "red"

    def __reduce_ex__(self, protocol: int) -> Any:
        """By value, as Python's own enums but those of 3.11.0 to 3.11.3, which pickle themselves by name."""
        return self.__class__, (self.value,)


class Level(enum.IntEnum):
    HIGH = 9


class Mode(str, enum.Enum):  # noqa: UP042
    FAST = "fast"


class Address(BaseModel):
    street: str
    zip: str | None = None


class Person(BaseModel):
    name: str
    address: Address
    mode: Mode = Mode.FAST


class Names(RootModel[list[str]]):
    """A pydantic model whose dump is no dict."""


class Login(BaseModel):
    user: str
    password: SecretStr


@dataclasses.dataclass
class Point:
    x: float
    y: Any = None


class Pair(NamedTuple):
    left: int
    right: str


Old = namedtuple("Old", "p q")

CALL = {"name": "look", "args": {"q": "köln", "k": [1, 2]}, "id": "call_1", "type": "tool_call"}

VALUES: dict[str, Any] = {
    "scalars": [None, True, False, 0, -1, 42, 2**63 + 5, -(2**63), 1.5, 5e-324, float("inf"), "", "naïve 🦜 \x00"],
    "nan": float("nan"),
    "keys": {1: "one", 2.5: "float", None: "none", False: "no", b"b": "bytes", (1, (2, "x")): "tuple", "s": "str"},
    "nested": {"a": [{"b": (1, {"c": {2, 3}, "d": Point(1, Point(2)), "e": [dt.date(2020, 1, 1)] * 2})}]},
    "bytes inside": {"b": b"\xfe\xed", "big": b"x" * 70_000},
    "bytearray": [bytearray(b"abc")],
    "pydantic": Person(name="Ada", address=Address(street="1 Main")),
    "root model": Names(["a", "b"]),
    "dataclass": Point(0.5, {"deep": [Point(1)]}),
    "enums": [Color.RED, Level.HIGH, Mode.FAST],
    "datetimes": [
        dt.datetime(2025, 1, 2, 3, 4, 5, 678901, tzinfo=dt.UTC),
        dt.datetime(2025, 1, 2, 3, 4, 5),
        dt.datetime(2025, 1, 2, tzinfo=zoneinfo.ZoneInfo("Asia/Shanghai")),
    ],
    "date": dt.date(2024, 2, 29),
    "times": [
        dt.time(23, 59, 58, 7),
        dt.time(1, 2, tzinfo=dt.UTC),
        dt.time(1, tzinfo=dt.timezone(-dt.timedelta(hours=3))),
    ],
    "timedelta": dt.timedelta(days=-1, seconds=3, microseconds=9),
    "timezones": [dt.timezone(dt.timedelta(hours=5, minutes=30)), dt.UTC, zoneinfo.ZoneInfo("Asia/Shanghai")],
    "uuid": uuid.UUID("12345678-1234-5678-1234-567812345678"),
    "decimal": decimal.Decimal("3.14159265358979323846"),
    "sets": [{1, 2, 3}, frozenset({"a"}), deque([1, 2], maxlen=5), set()],
    "path": pathlib.Path("/tmp/a b/c.txt"),
    "regex": [re.compile(r"^a+\d$", re.IGNORECASE | re.MULTILINE), re.compile(b"raw")],
    "ip": [
        ipaddress.ip_address("10.0.0.1"),
        ipaddress.ip_network("2001:db8::/32"),
        ipaddress.ip_interface("10.0.0.1/24"),
    ],
    "arrays": [
        np.arange(6, dtype=np.float64).reshape(2, 3),
        np.asfortranarray(np.arange(4, dtype=np.int8).reshape(2, 2)),
        np.array([True, False]),
        np.zeros((0, 3), dtype=np.float32),
        np.arange(10)[::2],
        np.array(3.5),
    ],
    "namedtuples": [Pair(1, "r"), Old([1], {"z": 2})],
    "exception": ValueError("kept as repr"),
    "document": Document(page_content="doc", metadata={"p": 1}, id="d1"),
    "messages": [
        HumanMessage("hello", id="m1", additional_kwargs={"k": 1}),
        AIMessage("", id="m2", tool_calls=[CALL]),
        ToolMessage("found", tool_call_id="call_1", id="m3", name="look"),
        AIMessageChunk("par", id="m4"),
        ChatMessage(role="critic", content="hm", id="m5"),
        HumanMessage([{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "data:,"}}]),
        RemoveMessage(id="m1"),
    ],
    "send": Send("work", {"i": 1, "who": Color.RED}),
    "interrupt": [Interrupt(value={"q": 1}, id="0" * 32)],
    "command": Command(goto="x", update={"a": 1}),
    "overwrite": Overwrite(["fresh"]),
    "secrets": [SecretStr("p@ss"), Login(user="u", password=SecretStr("p@ss"))],
}

CHECKPOINT = {
    "v": 4,
    "ts": "2026-01-02T03:04:05+00:00",
    "id": "1f1e5868-b79f-6501-8001-a4aa277e0b42",
    "channel_values": {"messages": VALUES["messages"], "route": "refund", "person": VALUES["pydantic"]},
    "channel_versions": {
        "messages": "00000000000000000000000000000003.0.5",
        "route": "00000000000000000000000000000002.0.1",
    },
    "versions_seen": {"__input__": {}, "agent": {"branch:to:agent": "00000000000000000000000000000002.0.1"}},
    "updated_channels": None,
}


def payload(value: Any) -> Payload:
    """What the real serializer stores for a value."""
    return Payload(*SERIALIZER.dumps_typed(value))


def look_into(value: Any) -> int:
    """Open every node of a value; the number of parts seen."""
    return sum(1 for _ in parts(value))


def broken_parts(value: Any) -> list[Node]:
    """The BROKEN nodes of a value."""
    return [item for item in parts(value) if isinstance(item, Node) and item.form is Form.BROKEN]


def parts(value: Any) -> Iterator[Any]:
    """A value and everything in it."""
    todo = [value]
    while todo:
        item = todo.pop()
        yield item
        if isinstance(item, Node):
            todo.append(item.state)
        elif isinstance(item, dict):
            todo.extend([*item, *item.values()])
        elif isinstance(item, list | tuple):
            todo.extend(item)


def pickled(value: Any, protocol: int = 4) -> Payload:
    """A pickle of a value, as ``pickle_fallback=True`` stores it."""
    return Payload("pickle", pickle.dumps(value, protocol=protocol))


PYTHON_JSON = (
    '{"v": 1, "id": "1ef5e8f1", "channel_values": {"messages": [{"lc": 1, "type": "constructor", "id": ["langchain", '
    '"schema", "messages", "HumanMessage"], "kwargs": {"content": "hello", "type": "human", "id": "h-1"}}], "when": '
    '{"lc": 2, "type": "constructor", "id": ["datetime", "datetime"], "method": "fromisoformat", "args": '
    '["2024-07-01T12:00:00+00:00"], "kwargs": {}}, "set": {"lc": 2, "type": "constructor", "id": ["builtins", "set"], '
    '"args": [[1, 2]]}, "ratio": NaN, "uni": "naïve"}, "channel_versions": {"messages": 3}}'
)
JS_JSON = (
    '{"v":4,"id":"1ef5e8f1","channel_values":{"messages":[{"lc":1,"type":"constructor","id":["langchain_core","messages",'
    '"AIMessage"],"kwargs":{"content":"hello","id":"a-1","tool_calls":[],"additional_kwargs":{}}}],"m":{"lc":2,"type":'
    '"constructor","id":["Map"],"method":null,"args":[[["k",1]]],"kwargs":{}},"u":{"lc":2,"type":"undefined"},"d":{"lc":2,'
    '"type":"delta_snapshot","value":["x"]}},"channel_versions":{"messages":3}}'
)
