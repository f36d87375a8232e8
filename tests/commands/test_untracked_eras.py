"""A deployment makes a channel an UntrackedValue, or a plain one again: no step of the thread differs."""

import json
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import UntrackedValue
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run

ON: Any = {"configurable": {"thread_id": "t"}}
TURNS = 4


class Plain(TypedDict, total=False):
    """Both channels are stored."""

    n: int
    scratch: dict[str, int]


class Untracked(TypedDict, total=False):
    """One channel isn't."""

    n: int
    scratch: Annotated[dict[str, int], UntrackedValue]


def agent(saver: SqliteSaver, state: type) -> Any:
    """Two nodes; the first one writes to both channels."""
    graph = StateGraph(state)
    graph.add_node("first", lambda s: {"n": s["n"] + 1, "scratch": {"n": s["n"]}})
    graph.add_node("second", lambda s: {"n": s["n"] + 1})
    return graph.add_edge(START, "first").add_edge("first", "second").compile(checkpointer=saver)


@pytest.mark.parametrize("eras", [(Plain, Untracked), (Untracked, Plain), (Untracked, Plain, Untracked)])
def test_no_step_differs(eras: tuple[type, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is unknown is said, with the reason."""
    path = tmp_path / "t.sqlite"
    for state in eras:
        with SqliteSaver.from_conn_string(str(path)) as saver:
            for turn in range(TURNS):
                agent(saver, state).invoke({"n": turn}, ON)
    assert run(["verify", "t", "-d", str(path), "--json", "--strict"]) == 0
    (thread,) = json.loads(capsys.readouterr().out)["threads"]
    assert {one["verdict"] for one in thread["findings"]} == {"unknown"}
    [gone] = [one for one in thread["findings"] if one["kind"] == "value-gone"]
    assert gone["count"] == TURNS * eras.count(Untracked) and "UntrackedValue" in gone["why"]
