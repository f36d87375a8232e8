"""A reducer that a person named for a channel of the outer graph; a subgraph has a channel of this name too."""

import json
import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run

ON: Any = {"configurable": {"thread_id": "t"}}


class Outer(TypedDict, total=False):
    """Offers are collected."""

    offers: Annotated[list[str], operator.add]


class Inner(TypedDict, total=False):
    """The last offers only."""

    offers: list[str]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A subgraph that twice replaces what it was given."""
    inner = StateGraph(Inner)
    inner.add_node("first", lambda _: {"offers": ["a", "b"]}).add_node("second", lambda _: {"offers": ["c"]})
    inner.add_edge(START, "first").add_edge("first", "second")
    graph = StateGraph(Outer).add_node("ask", lambda _: {"offers": ["x"]}).add_node("pay", inner.compile())
    graph.add_edge(START, "ask").add_edge("ask", "pay")
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        graph.compile(checkpointer=saver).invoke({"offers": ["in"]}, ON)
    return tmp_path / "t.sqlite"


def test_no_step_of_the_subgraph_differs(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is suspect, with the reason; the outer graph agrees."""
    words = ["update", "t", "--values", '{"offers": ["y"]}', "--as-node", "ask", "--reducer", "offers=append"]
    assert run([*words, "--remember", "--yes", "-d", str(path)]) == 0
    capsys.readouterr()
    assert run(["verify", "t", "-d", str(path), "--json"]) == 0
    (thread,) = json.loads(capsys.readouterr().out)["threads"]
    assert {(one["verdict"], one["channel"]) for one in thread["findings"]} == {("suspect", "offers")}
    assert all("outer graph has a channel of this name" in one["why"] for one in thread["findings"])


def test_an_update_of_the_subgraph_goes_by_its_own_steps(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They contradict what was remembered."""
    words = ["update", "t", "--values", '{"offers": ["y"]}', "-d", str(path)]
    assert run([*words, "--as-node", "ask", "--reducer", "offers=append", "--remember", "--yes"]) == 0
    with SqliteSaver.from_conn_string(str(path)) as saver:
        (ns,) = {one.config["configurable"]["checkpoint_ns"] for one in saver.list(ON)} - {""}
    capsys.readouterr()
    assert run([*words, "--ns", ns, "--as-node", "second", "--dry-run"]) in (0, 7)
    said = capsys.readouterr()
    assert "append" not in said.out + said.err
