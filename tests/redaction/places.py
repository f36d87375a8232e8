"""where a secret text may be: values, names and ids that real graphs store, each with a secret of its own."""

import base64
import gzip
import json
import re
from collections import deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass, make_dataclass
from enum import Enum
from html import escape
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import normalize
from urllib.parse import quote

import numpy as np
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from pydantic import BaseModel, SecretStr

PATTERN = r"zoë_\d\d_quimby"
WORD = "quimby"

Point = namedtuple("Point", "x y")


@dataclass
class Customer:
    name: str
    tags: list[str]


class Account(BaseModel):
    owner: str
    password: SecretStr
    inner: dict[str, Any]


class Mood(Enum):
    GOOD = "zoë_00_quimby"


class Place(NamedTuple):
    """A place.

    Attributes:
        make: the value that has the secret.
        by_path: it is replaced when its channel is.
        structure: it is a name of the graph's structure, which an outline keeps.
    """

    make: Callable[[str], Any]
    by_path: bool = True
    structure: bool = False


def _ascii_json(secret: str) -> str:
    return json.dumps({"user": {"name": secret}})


VALUES: dict[str, Place] = {
    "a text": Place(lambda s: s),
    "inside a text": Place(lambda s: f"call {s} at once"),
    "many in a text": Place(lambda s: f"{s} {s}{s}" * 40),
    "a list": Place(lambda s: ["a", [s]]),
    "a tuple": Place(lambda s: ("a", s)),
    "a set": Place(lambda s: {"a", s}),
    "a frozenset": Place(lambda s: frozenset({s})),
    "a deque": Place(lambda s: deque([s])),
    "a dict's value": Place(lambda s: {"a": {"b": s}}),
    "a dict's key": Place(lambda s: {"a": {s: 1}}),
    "a dict's tuple key": Place(lambda s: {(s, 1): 1}),
    "bytes": Place(lambda s: f"x {s}".encode()),
    "bytes of UTF-16": Place(lambda s: s.encode("utf-16")),
    "bytes of UTF-16, big endian": Place(lambda s: s.encode("utf-16-be")),
    "bytes of UTF-32": Place(lambda s: s.encode("utf-32")),
    "bytes of Latin-1": Place(lambda s: s.encode("latin-1")),
    "bytes of gzip": Place(lambda s: gzip.compress(s.encode(), mtime=0)),
    "a bytearray": Place(lambda s: [s.encode()]),
    "a message's content": Place(lambda s: HumanMessage(f"I am {s}", id="1")),
    "a content block": Place(lambda s: HumanMessage([{"type": "text", "text": s}], id="2")),
    "a data URL": Place(
        lambda s: HumanMessage(
            [
                {
                    "type": "image_url",
                    "image_url": {"url": f"data:image/png;base64,{base64.b64encode(s.encode()).decode()}"},
                }
            ],
            id="3",
        )
    ),
    "a message's id": Place(lambda s: HumanMessage("hi", id=s)),
    "a message's name": Place(lambda s: HumanMessage("hi", id="4", name=s)),
    "a tool call's argument": Place(
        lambda s: AIMessage("", id="5", tool_calls=[{"name": "find", "args": {"who": s}, "id": "c1"}])
    ),
    "a tool call's argument's name": Place(
        lambda s: AIMessage("", id="6", tool_calls=[{"name": "find", "args": {s: 1}, "id": "c2"}])
    ),
    "a tool call's id": Place(lambda s: AIMessage("", id="7", tool_calls=[{"name": "find", "args": {}, "id": s}])),
    "a provider's arguments": Place(
        lambda s: AIMessage("", id="8", additional_kwargs={"function": {"arguments": _ascii_json(s)}})
    ),
    "response metadata": Place(lambda s: AIMessage("", id="9", response_metadata={"header": s})),
    "a tool's result": Place(lambda s: ToolMessage(f"found {s}", tool_call_id="c1", id="10")),
    "a tool's artifact": Place(lambda s: ToolMessage("found", tool_call_id="c1", id="11", artifact={"row": [s]})),
    "a document": Place(lambda s: Document(page_content=s, metadata={"source": s})),
    "a dataclass": Place(lambda s: Customer(s, [s])),
    "a pydantic model": Place(lambda s: Account(owner=s, password=SecretStr(s), inner={"a": s})),
    "a SecretStr": Place(SecretStr),
    "a named tuple": Place(lambda s: Point(s, 1)),
    "a path": Place(lambda s: Path("/home", s, "x")),
    "a path over two parts": Place(lambda s: Path("/home", s)),
    "a regular expression": Place(lambda s: re.compile(f"^{s}$")),
    "a numpy array of text": Place(lambda s: np.array([s])),
    "a numpy array of bytes": Place(lambda s: np.frombuffer(s.encode(), dtype=np.uint8)),
    "JSON in a text": Place(_ascii_json),
    "JSON in JSON in a text": Place(lambda s: json.dumps([_ascii_json(s)])),
    "a Python repr": Place(lambda s: f"ValueError({s.encode()!r})"),
    "an ASCII repr": Place(lambda s: ascii(s)),
    "a URL": Place(lambda s: f"https://example.org/?q={quote(s)}&x=1"),
    "HTML": Place(lambda s: f"<p>{escape(s).encode('ascii', 'xmlcharrefreplace').decode()}</p>"),
    "base64": Place(lambda s: base64.b64encode(s.encode()).decode()),
    "base64 of JSON": Place(lambda s: f"token={base64.urlsafe_b64encode(_ascii_json(s).encode()).decode()}"),
    "base64 in lines": Place(lambda s: base64.encodebytes(f"{'hello ' * 30}{s}".encode()).decode()),
    "base64 behind a word": Place(lambda s: "path/" + base64.b64encode(f"user {s} here".encode()).decode()),
    "hex": Place(lambda s: s.encode().hex()),
    "another Unicode form": Place(lambda s: normalize("NFD", s)),
    "a text with zero bytes": Place(lambda s: "\0".join(s)),
    "the name of a class": Place(lambda s: make_dataclass(f"C{s}", ["x"])(1), structure=True),
    "a field of a class": Place(lambda s: make_dataclass("C", [s])(1), structure=True),
}
"""Values of one channel, by what they are."""

NAMES: dict[str, bool] = {
    "the thread's id": False,
    "a node": True,
    "a node that a Send calls": True,
    "a channel": True,
    "a channel inside": True,
    "a subgraph": True,
    "a join's node": True,
    "a number's channel": True,
    "a key of the metadata": True,
    "an entry of the metadata": False,
    "the metadata's thread": False,
    "the run's label": False,
    "an error": False,
    "an error's class": False,
    "a question": False,
    "a question's key": False,
    "an answer": False,
    "an answer's key": False,
    "a Send's argument": False,
    "a pending Send's argument": False,
    "the input": False,
    "a subgraph's state": False,
    "an update": False,
    "a short text": False,
    "a functional input": False,
    "a task's result": False,
    "the saved result": False,
    "a functional question": False,
    "a task's name": True,
}
"""Other places: whether each is a name of the graph's structure."""

_ORDER = [*VALUES, *NAMES]


def secret(place: str) -> str:
    """The secret of a place."""
    return f"zoë_{_ORDER.index(place):02d}_quimby"


def spellings(text: str) -> dict[str, bytes]:
    """How a text may be spelled in bytes."""
    plain = text.encode()
    aligned = {
        f"base64 {n} of {kind}": base64.b64encode(b"\0" * n + data)[(0, 4, 4)[n] : -4]
        for n in range(3)
        for kind, data in (("UTF-8", plain), ("JSON", json.dumps(text)[1:-1].encode()))
    }
    return {
        "UTF-8": plain,
        "NFD": normalize("NFD", text).encode(),
        "Latin-1": text.encode("latin-1"),
        "UTF-16": text.encode("utf-16-le"),
        "UTF-16 BE": text.encode("utf-16-be"),
        "UTF-32": text.encode("utf-32-le"),
        "escaped": ascii(text)[1:-1].encode(),
        "JSON": json.dumps(text)[1:-1].encode(),
        "JSON in JSON": json.dumps(json.dumps(text)[1:-1])[1:-1].encode(),
        "bytes' repr": repr(plain)[2:-1].encode(),
        "percent": quote(text).encode(),
        "HTML": text.encode("ascii", "xmlcharrefreplace"),
        "hex": plain.hex().encode(),
        "gzip": gzip.compress(plain, mtime=0)[10:],
        "zeros": "\0".join(text).encode(),
        **aligned,
    }
