"""A process that is killed in an error handler: the next run calls the handler, not the node that failed."""

import json
import operator
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run

ON: Any = {"configurable": {"thread_id": "t"}}
RAN: list[str] = []


class State(TypedDict, total=False):
    """What each node says."""

    log: Annotated[list[str], operator.add]


def agent(saver: SqliteSaver, *, killed: bool = False, own: bool = True) -> Any:
    """A node that fails and has a handler, its own or the graph's."""

    def bad(_: State) -> State:
        RAN.append("bad")
        raise ValueError("down")

    def handler(_: State) -> State:
        RAN.append("handler")
        if killed:
            os._exit(9)
        return {"log": ["handled"]}

    graph = StateGraph(State)
    graph.add_node("bad", bad, error_handler=handler if own else None)
    if not own:
        graph.set_node_defaults(error_handler=handler)
    return graph.add_edge(START, "bad").compile(checkpointer=saver)


def begin(path: str, own: bool) -> None:
    """A run that is killed in the handler."""
    with SqliteSaver.from_conn_string(path) as saver:
        agent(saver, killed=True, own=own).invoke({"log": ["go"]}, ON, durability="sync")


@pytest.mark.parametrize("own", [True, False])
def test_it_runs_next(own: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`threads` has no failure, `show` and `replay` say that the handler runs instead, and so it does."""
    path = tmp_path / "t.sqlite"
    script = f"from {__name__} import begin; begin({str(path)!r}, {own})"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 9
    assert run(["threads", "-d", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["threads"][0]["statuses"] == ["unfinished"]
    assert run(["show", "t", "-d", str(path)]) == 0
    assert "its error handler: unknown node" in capsys.readouterr().out
    assert run(["replay", "t", "-d", str(path), "--json"]) == 0
    tasks = json.loads(capsys.readouterr().out)["tasks"]
    assert [(task["node"], task["status"], task["again"]) for task in tasks] == [
        ("bad", "failed", False),
        (None, "due", True),
    ]
    with SqliteSaver.from_conn_string(str(path)) as saver:
        RAN.clear()
        agent(saver, own=own).invoke(None, ON)
    assert RAN == ["handler"]
    assert run(["threads", "-d", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["threads"][0]["statuses"] == ["done"]
