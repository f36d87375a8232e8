"""A delta channel whose reducer drops what it has already: other reducers, such as "the first 9", explain it too."""

import json
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run

ON: Any = {"configurable": {"thread_id": "t"}}
NEW, TURNS = 9, 18


def without_known(current: list[str], writes: list[list[str]]) -> list[str]:
    """The items that came, each once."""
    return [*dict.fromkeys([*current, *(item for write in writes for item in write)])]


class State(TypedDict, total=False):
    """The number of the turn, and what came."""

    turn: int
    came: Annotated[list[str], DeltaChannel(without_known, snapshot_frequency=4)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Nine new items, then some of them again."""
    graph = StateGraph(State)
    graph.add_node("take", lambda s: {"came": [f"x{s['turn'] if s['turn'] < NEW else s['turn'] % 4}"]})
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        app = graph.add_edge(START, "take").compile(checkpointer=saver)
        for turn in range(TURNS):
            app.invoke({"turn": turn}, ON)
    return tmp_path / "t.sqlite"


def test_its_steps_are_replayed(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Over steps that store it whole, by the reducer that is learned."""
    assert run(["replay", "t", "step:3", "--to", "@", "-d", str(path), "--json"]) == 0
    assert {step["verdict"] for step in json.loads(capsys.readouterr().out)["steps"]} == {"agrees"}


def test_a_named_reducer_is_used(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where what is stored so far fits an append: nothing had come again there."""
    words = ["prune", "t", "--keep-last", "30", "--snapshot", "--reducer", "came=new", "--dry-run", "-d", str(path)]
    assert run(words) == 0
    said = capsys.readouterr().out
    assert "isn't used" not in said and "came is made by append if new, as you say" in said


def test_a_named_reducer_that_values_contradict_is_not_used(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also one that ckpt doesn't try on delta channels, as a topic: the values would be cut."""
    words = ["prune", "t", "--keep-last", "2", "--snapshot", "--reducer", "came=topic", "--dry-run", "-d", str(path)]
    assert run(words) == 0
    assert "your reducer isn't used" in " ".join(capsys.readouterr().out.split())
