"""An error handler runs again when its step goes on after a question, and the saver keeps what it wrote first."""

import json
import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from ckpt_cli.app import run

ON: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    """What each node says."""

    log: Annotated[list[str], operator.add]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The handler leads to another node in its second run, which LangGraph follows."""
    ways = iter(["first", "second"])

    def fail(_: State) -> State:
        raise ValueError("down")

    graph = StateGraph(State)
    graph.add_node("fails", fail, error_handler=lambda _: Command(update={"log": [way := next(ways)]}, goto=way))
    graph.add_node("asks", lambda _: {"log": [interrupt("what?")]})
    for name in ("first", "second"):
        graph.add_node(name, lambda _: None)
    graph.add_edge(START, "fails").add_edge(START, "asks")
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        app = graph.compile(checkpointer=saver)
        app.invoke({"log": []}, ON)
        app.invoke(Command(resume="this"), ON)
        assert app.get_state(ON).values["log"] == ["this", "second"]
    return tmp_path / "t.sqlite"


def test_its_stored_way_proves_nothing_about_others(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The node that asked ended there, so it isn't the only one that may have led to the node that ran."""
    assert run(["graph", "t", "-d", str(path), "--json"]) == 0
    edges = json.loads(capsys.readouterr().out)["graphs"][0]["edges"]
    (found,) = [edge for edge in edges if edge["target"] == "second"]
    assert found["proof"] == "candidates" and found["candidates"] == ["__error_handler__fails", "asks"]


def test_blame_names_the_cause(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is stored of the handler isn't what the step was made of."""
    assert run(["blame", "t", "log", "-d", str(path)]) == 0
    assert "an error handler that ran again" in " ".join(capsys.readouterr().out.split())
