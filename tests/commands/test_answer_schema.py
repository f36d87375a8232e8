"""An answer is held to the ``response_schema`` of its question, as LangGraph itself holds it when it continues."""

import json
import sys
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from random import Random
from typing import Any, Literal
from uuid import UUID

import pytest
from langgraph.types import Command
from pydantic import BaseModel, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from ckpt_cli.app import run
from ckpt_cli.history.tasks.answer_formats import CHECKS
from tests.commands.test_answers import EACH, THREAD, Asked, asked
from tests.graphs.human_in_the_loop import DELETE, RAN, agent, asking, on

__all__ = ["asked"]


class Review(BaseModel):
    approved: bool
    score: int = 0
    by: str | None = None


class Typed(TypedDict):
    text: str


@dataclass
class Plain:
    day: date


class Colour(Enum):
    RED = "red"


FITS: list[tuple[Any, Any]] = [
    (Review, {"approved": True, "score": 3}),
    (Review, {"approved": False, "also": 1}),
    (Typed, {"text": ""}),
    (Plain, {"day": "2026-11-01"}),
    (Literal["a", "b"], "b"),
    (list[int], [1, 2]),
    (Colour, "red"),
    (int | None, None),
    (float, 5),
    ({"type": "string"}, "x"),
    (date, "2026-11-01T00:00:00"),
    (datetime, "2026-11-01 10:00"),
    (datetime, "1760000000"),
    (timedelta, "1 day, 2:03:04"),
    (UUID, "urn:uuid:12345678-1234-5678-1234-567812345678"),
]
CONVERTED: list[tuple[Any, Any]] = [
    (Review, {"approved": "yes"}),
    (Review, {"approved": 1, "score": "5"}),
    (int, "5"),
    (float, "1e3"),
    (int | None, "7"),
    (list[int], [1, "2"]),
    (dict[str, bool], {"a": "off"}),
    (set[int], [1, 1]),
    (Plain, {"day": 86400}),
]
REFUSED: list[tuple[Any, Any]] = [
    (Review, {"nope": 1}),
    (Review, {"approved": "perhaps"}),
    (Review, {"approved": True, "score": 1.5}),
    (Review, "yes"),
    (Typed, {"text": 5}),
    (Literal["a", "b"], "c"),
    (list[int], 5),
    (Colour, "blue"),
    (int, "five"),
    (int, None),
    (int | None, [1]),
    (Plain, {"day": "tomorrow"}),
    (datetime, "soon"),
    (time, "noon"),
    (timedelta, "a while"),
    (UUID, "abc"),
    (date | None, "never"),
    (IPv4Address, "localhost"),
]


def name(value: Any) -> str:
    return value.__name__ if isinstance(value, type) else repr(value)


@pytest.mark.parametrize(("schema", "answer"), FITS + CONVERTED, ids=name)
def test_what_langgraph_takes_is_recorded(schema: Any, answer: Any, asked: Asked) -> None:
    """A value that fits is recorded, and one that LangGraph converts, of which the plan says so; the graph goes on."""
    asked.start(lambda saver: asking(saver, "?", schema=schema), {"answers": []})
    notes = asked.answer("--value", json.dumps(answer))["notes"]
    assert any("LangGraph may convert it" in note for note in notes) is ((schema, answer) in CONVERTED)
    assert len(asked.go_on()["answers"]) == 1


@pytest.mark.parametrize(("schema", "answer"), REFUSED, ids=name)
def test_what_langgraph_refuses_is_refused(schema: Any, answer: Any, asked: Asked) -> None:
    """The refusal says what is wrong and changes no row; LangGraph refuses the same value."""
    graph = asked.start(lambda saver: asking(saver, "?", schema=schema), {"answers": []})
    before = asked.rows()
    error = asked.ckpt("--value", json.dumps(answer), "--yes", code=7)
    assert error["message"].startswith("the answer doesn't fit the schema") and error["candidates"]
    assert asked.rows() == before
    if answer is not None:
        with pytest.raises(ValidationError):
            graph.invoke(Command(resume=answer), on(THREAD))


FORMATS: dict[str, tuple[Any, list[str]]] = {
    "date": (date, ["2026-11-01", "2026-11-01T00:00", "1760000000", "-.5"]),
    "date-time": (datetime, ["2026-11-01T10:00:00Z", "2026-11-01 10:00:00,5+01:00", "2026-11-01", ".5"]),
    "time": (time, ["10:00", "10:00:00.5Z", "10:00:00-0100"]),
    "duration": (timedelta, ["PT5S", "-P1D", "1 day, 2:03:04", "3 d 04:05", "5.5"]),
    "uuid": (UUID, ["12345678-1234-5678-1234-567812345678", "{12345678123456781234567812345678}"]),
    "ipv4": (IPv4Address, ["192.0.2.1"]),
    "ipv6": (IPv6Address, ["2001:db8::1", "fe80::1%eth0"]),
}


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_a_text_that_pydantic_takes_has_its_format(name: str) -> None:
    """No text that the type takes is refused, also of texts with characters exchanged, left out or put in."""
    kind, texts = FORMATS[name]
    adapter, dice, taken = TypeAdapter(kind), Random(1), 0
    assert adapter.json_schema() == {"type": "string", "format": name}
    for _ in range(4000):
        text = list(dice.choice(texts))
        for _ in range(dice.randrange(3)):
            at = dice.randrange(len(text))
            text[at : at + dice.randrange(2)] = dice.choice(["", *"0123456789:+-Tz. dys,"])
        try:
            adapter.validate_python("".join(text))
        except ValidationError:
            continue
        assert CHECKS[name]("".join(text)), text
        taken += 1
    assert taken > 500


def test_no_schema_records_it(asked: Asked) -> None:
    """With ``--no-schema`` the answer is recorded; the next run raises, and undo takes the answer back."""
    asked.start(lambda saver: asking(saver, "?", schema=Review), {"answers": []})
    asked.answer("--value", '{"nope": 1}', "--no-schema")
    with pytest.raises(ValidationError):
        asked.go_on()


def test_edited_arguments_of_a_tool(asked: Asked) -> None:
    """The arguments of ``--edit`` are held to the tool's own schema."""
    asked.start(lambda saver: agent(saver, "per_call", {"delete_user": True}, [DELETE]))
    assert asked.ckpt("--edit", "{}", "--yes", code=7)["candidates"] == [
        "edited_action.args: 'name' is a required property"
    ]
    assert "is not of type 'string'" in asked.ckpt("--edit", '{"name": 5}', "--yes", code=7)["candidates"][0]
    asked.answer("--edit", '{"name": "rob", "ignored": 1}')
    asked.go_on()
    assert RAN == [("delete_user", {"name": "rob"})]


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "https://schema.example.org/answer.json"},
        {"$ref": "#/$defs/nowhere"},
        {"type": "no such type"},
        {"properties": 7},
        {"$ref": "#"},
    ],
    ids=str,
)
def test_a_schema_that_cant_be_used(schema: dict[str, Any], asked: Asked) -> None:
    """A damaged, endless or foreign schema refuses the answer; no address is fetched."""
    asked.start(lambda saver: asking(saver, "?", schema=schema), {"answers": []})
    assert "the question's schema can't be used" in asked.ckpt("--value", "yes", "--yes", code=2)["message"]
    asked.answer("--value", "yes", "--no-schema")
    assert asked.go_on()["answers"] == ["yes"]


def test_without_the_extra(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without jsonschema, the error names the install line; a decision without arguments needs none."""
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    asked.start(lambda saver: asking(saver, "?", schema=Review), {"answers": []})
    assert "pip install 'langgraph-ckpt[schema]'" in asked.ckpt("--value", "{}", code=2)["hint"]


def test_a_decision_needs_no_extra(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """A decision without arguments is checked without jsonschema."""
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    asked.start(EACH)
    asked.answer("--approve")
    asked.go_on()
    assert RAN == [DELETE]


def test_a_run_that_fails_with_a_recorded_answer_is_a_failure(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    """`threads`, `stats` and `tree` have the failure of a task that didn't take its answer, as ``get_state`` has it."""
    graph = asked.start(lambda saver: asking(saver, "?", schema=Review), {"answers": []})
    asked.answer("--value", '{"nope": 1}', "--no-schema")

    def said(*words: str) -> Any:
        assert run([*words, "--json", "-d", str(asked.path)]) == 0
        return json.loads(capsys.readouterr().out)

    assert said("threads", "--status", "failed")["threads"] == []
    with pytest.raises(ValidationError):
        asked.go_on()
    (task,) = graph.get_state(on(THREAD)).tasks
    (thread,) = said("threads", "--status", "failed")["threads"]
    assert task.error and [one["error"] for one in thread["errors"]] == [task.error]
    assert (thread["statuses"], thread["answered"], said("stats")["failed"]) == (["failed"], ["ask"], 1)
    (shown,) = said("tree", THREAD)["rows"][-1]["step"]["tasks"]
    assert (shown["status"], shown["failed_too"], shown["error"]) == ("answered", True, task.error)
