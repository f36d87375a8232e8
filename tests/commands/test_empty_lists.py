"""A list of alerts that is empty in most runs: what nothing but empty writes show is taken for no message."""

import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run
from tests.graphs.waiting import until_stored


class State(TypedDict, total=False):
    """Where a parcel is, and what is odd there."""

    at: str
    alerts: Annotated[list[str], operator.add]


def on(thread_id: str) -> Any:
    return {"configurable": {"thread_id": thread_id}}


def test_the_first_alert_is_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The thread's own step wrote nothing, so others decide: `update` and `replay --commit` append the text."""
    path, down = tmp_path / "t.sqlite", [False]

    def estimate(_: State) -> State:
        if down[0]:
            until_stored(saver)
            raise ZeroDivisionError("speed")
        return {}

    graph = StateGraph(State)
    graph.add_node("check", lambda state: {"alerts": ["lost"] if state["at"] == "sea" else []})
    graph.add_node("estimate", estimate).add_edge(START, "check").add_edge(START, "estimate")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = graph.compile(checkpointer=saver)
        for thread_id, places in {"other": ["hub", "sea", "sea"], "t": ["hub"]}.items():
            for place in places:
                app.invoke({"at": place}, on(thread_id))
        down[0] = True
        with pytest.raises(ZeroDivisionError):
            app.invoke({"at": "sea"}, on("t"))
        words = ["--as-node", "check", "--values", '{"alerts": ["late"]}', "--dry-run", "-d", str(path)]
        assert run(["update", "t", *words]) == 0
        assert run(["replay", "t", "--commit", "--yes", "-d", str(path)]) == 0
        assert app.get_state(on("t")).values["alerts"] == ["lost"]
