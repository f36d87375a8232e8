"""A checkpoint that needs pickle stores zones by name, the next one only their offsets: no step did that to a value."""

import json
import operator
import sqlite3
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, TypedDict
from zoneinfo import ZoneInfo

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run
from tests.graphs.building import on

_BERLIN, _JOHANNESBURG = ZoneInfo("Europe/Berlin"), ZoneInfo("Africa/Johannesburg")  # of one offset in summer


class State(TypedDict, total=False):
    """Channels with moments; `obj` holds what only a pickle can store."""

    moment: Any
    log: Annotated[list[Any], operator.add]
    days: Annotated[dict[str, Any], operator.or_]
    packed: Any
    dates: Any
    box: Any
    obj: Any


def _day(number: int, zone: ZoneInfo = _BERLIN) -> datetime:
    return datetime(2026, 7, number, 12, tzinfo=zone)


def _first(_: State) -> State:
    moments = {"moment": _day(1), "log": [_day(1)], "days": {"a": _day(1)}, "box": [_day(1)]}
    return State(**moments, packed={"a": bytearray(b"q")}, dates={_day(1), _day(2)})


def _in_place(state: State) -> State:
    state["box"].append("more")
    return {"obj": complex(2, 1)}


@pytest.fixture
def path(tmp_path: Path) -> Iterator[str]:
    """A database with the thread ``t``, whose checkpoints at the steps 2, 4 and 5 are pickles."""
    graph = StateGraph(State).add_node("first", _first)
    graph.add_node("pickled", lambda _: {"obj": complex(1, 2), "log": [_day(2)], "days": {"b": _day(2)}})
    graph.add_node("plain", lambda _: {"obj": 0, "log": [_day(3)]})
    graph.add_node("in_place", _in_place)
    graph.add_node("zone", lambda _: {"moment": _day(1, _JOHANNESBURG)})
    graph.add_edge(START, "first").add_edge("first", "pickled").add_edge("pickled", "plain")
    graph.add_edge("plain", "in_place").add_edge("in_place", "zone")
    path = str(tmp_path / "t.sqlite")
    with sqlite3.connect(path, check_same_thread=False) as connection:
        saver = SqliteSaver(connection, serde=JsonPlusSerializer(pickle_fallback=True))
        graph.compile(checkpointer=saver).invoke({"log": []}, on("t"), durability="sync")
    yield path


def _asked(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    capsys.readouterr()
    assert run([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_blame_names_who_wrote_each_part(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither a step that stored another form of it, nor one that added to the same list or dict."""

    def blamed(channel: str, revision: str = "@") -> list[tuple[str, int, str | None]]:
        lines = _asked(capsys, "blame", "t", channel, "--at", revision, "-d", path)["lines"]
        return [(one["path"], one["since"]["step"], one["since"]["node"]) for one in lines]

    assert blamed("moment", "@^") == [("moment", 1, "first")]
    assert blamed("moment") == [("moment", 5, "zone")]
    assert blamed("log") == [("log[0]", 1, "first"), ("log[1]", 2, "pickled"), ("log[2]", 3, "plain")]
    assert blamed("days") == [("days.a", 1, "first"), ("days.b", 2, "pickled")]
    assert blamed("packed") == [("packed.a", 1, "first")]
    assert blamed("dates") == [("dates[0]", 1, "first"), ("dates[1]", 1, "first")]
    assert blamed("box") == [("box[0]", 1, "first"), ("box[1]", 4, None)]  # changed in place


def test_log_has_only_what_a_step_did(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What was written, and what a node changed in place, even beside a moment in another form."""
    steps = _asked(capsys, "log", "t", "-d", path)["steps"]
    changes = {
        step["step"]: [(one["channel"], one["kind"], one["added"], one["unwritten"]) for one in step["changes"]]
        for step in steps
    }
    assert changes[2] == [("obj", "set", 0, False), ("log", "added", 1, False), ("days", "changed", 0, False)]
    assert changes[3] == [("obj", "changed", 0, False), ("log", "added", 1, False)]
    assert changes[4] == [("obj", "changed", 0, False), ("box", "added", 1, True)]
    assert changes[5] == [("moment", "changed", 0, False)]
