"""What changes store in threads of LangGraph.js is JSON that it loads as what was typed, or is refused."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.app import run
from ckpt_cli.model import Payload
from ckpt_cli.plans.tool_calls import new_message
from ckpt_cli.serde.codec import Codec

RAW = {"lc": 2, "type": "constructor", "id": ["Uint8Array"], "method": "from", "args": [[1, 2, 3]], "kwargs": {}}
SET = {"lc": 2, "type": "constructor", "id": ["Set"], "method": None, "args": [[1]], "kwargs": {}}
HELD = [
    ('{"$bytes": "AQID"}', RAW),
    ('{"$map": [[1, "a"], [null, true]]}', {"1": "a", "null": True}),
    ('{"$type": "Set", "$form": "lc2", "$args": [[1]]}', SET),
    ("[1.5, null, 9007199254740992]", [1.5, None, 9007199254740992]),
]
REFUSED = [
    ('{"$float": "nan"}', "no form for nan"),
    ('{"a": [{"$float": "-inf"}]}', "no form for -inf"),
    ('{"$type": "builtins.set", "$value": [1]}', "no form for builtins.set"),
    ('{"$type": "decimal.Decimal", "$value": "1"}', "no form for decimal.Decimal"),
    ("12345678901234567890", "another number"),
]


@pytest.fixture
def waiting(database: Callable[[str], Path]) -> Path:
    """A database of LangGraph.js 1.4, in which a thread waits; its question is in a list, as 1.7 stores it."""
    path = database("legacy/js-1.4.17")
    with closing(sqlite3.connect(path)) as connection, connection:
        listed = "CAST('[' || CAST(value AS TEXT) || ']' AS BLOB)"
        sql = f"UPDATE writes SET value = {listed} WHERE thread_id = 'intr' AND channel = '__interrupt__'"
        assert connection.execute(sql).rowcount == 1
    return path


def answers(path: Path) -> list[tuple[str, bytes]]:
    """The answers stored for the thread, each with its type."""
    with closing(sqlite3.connect(path)) as connection:
        sql = "SELECT type, value FROM writes WHERE thread_id = 'intr' AND channel = '__resume__'"
        return connection.execute(sql).fetchall()


@pytest.mark.parametrize(("typed", "stored"), HELD)
def test_an_answer_is_json(waiting: Path, typed: str, stored: Any, capsys: Any) -> None:
    """`resume` stores bytes as a Uint8Array, keys as texts and a Set as such: LangGraph.js loads these."""
    assert run(["resume", "intr", "--value", typed, "--yes", "-d", str(waiting)]) == 0, capsys.readouterr()
    [(tag, value)] = answers(waiting)
    assert (tag, json.loads(value)) == ("json", [stored]) and b'", "' not in value


@pytest.mark.parametrize(("typed", "problem"), REFUSED)
def test_an_answer_that_it_can_not_load(waiting: Path, typed: str, problem: str, capsys: Any) -> None:
    """`resume` refuses what would be no JSON, a bare envelope or another number there, with a hint."""
    assert run(["resume", "intr", "--value", typed, "--yes", "-d", str(waiting)]) == 2
    said = capsys.readouterr().err
    assert problem in said and "hint:" in said and not answers(waiting)


@pytest.mark.parametrize("tag", ["json", "msgpack", "null", "empty", "bytes"])
def test_a_value_that_replaces_one_without_keys(tag: str) -> None:
    """In Postgres a channel's old value may be a number, bytes or none: the new one is LangGraph.js' JSON."""
    like = Payload(tag, {"json": b"5", "msgpack": b"\xc0", "bytes": b"\1"}.get(tag, b""))
    encode = Codec().encode
    made = encode([b"\1\2\3", None], like, javascript=True)
    assert made.tag == "json" and json.loads(made.data) == [RAW, None] and b" " not in made.data
    assert encode(None, like, javascript=True) == Payload("json", b"null")
    assert encode(b"\2", like, javascript=True) == Payload("bytes", b"\2")


def test_keys_are_texts_in_any_json() -> None:
    """A new key that is a number, true or null is quoted: JSON has no other keys."""
    made = Codec().encode({"a": 1, 2: 3, True: 4, None: 5}, Payload("json", b'{"a": 0}'))
    assert json.loads(made.data) == {"a": 1, "2": 3, "true": 4, "null": 5}


def test_an_answered_call_failed() -> None:
    """LangChain.js stores only fields that were given: a result without `status` doesn't mean that none has one."""
    given = {"content": "found", "tool_call_id": "c1", "name": "lookup"}
    envelope = {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "ToolMessage"], "kwargs": given}
    [earlier] = Codec().decode(Payload("json", json.dumps([envelope]).encode()))
    fields = {"content": "cancelled", "tool_call_id": "c2", "name": "lookup", "status": "error"}
    made = new_message([earlier])(fields)
    assert made.module == "langchain_core.messages" and made.state.items() >= fields.items()
