"""``ckpt tree`` of a subgraph's call whose caller isn't stored, as after a run with ``durability="exit"``."""

import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run
from tests.graphs.building import on


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


def test_it_is_not_drawn_as_a_call_of_the_head(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The run that called it stored its last checkpoint alone; a line says so, and no arrow leads to it."""
    path = str(tmp_path / "t.sqlite")
    inner = StateGraph(State).add_node("keep", lambda _: {"log": ["kept"]}).add_edge(START, "keep")
    memory = inner.compile(checkpointer=True)

    def recall(_: State) -> Any:
        return {"log": memory.invoke({"log": []})["log"][-1:]}

    outer = StateGraph(State).add_node("scan", lambda _: {"log": ["scan"]}).add_node("recall", recall)
    outer.add_edge(START, "scan").add_edge("scan", "recall")
    with SqliteSaver.from_conn_string(path) as saver:
        graph = outer.compile(checkpointer=saver)
        graph.invoke({"log": ["one"]}, on("t"), durability="exit")
        graph.invoke({"log": ["two"]}, on("t"), interrupt_before=["scan"])
        [called] = [one for one in saver.list(on("t")) if one.config["configurable"]["checkpoint_ns"]]
        stored = [one.config["configurable"]["checkpoint_id"] for one in saver.list(on("t"))]
        assert called.metadata["parents"][""] not in stored
    assert run(["tree", "t", "-d", path]) == 0
    *_, said, drawn = capsys.readouterr().out.splitlines()
    assert said == "called by checkpoints that aren't stored or aren't known:" and "recall" in drawn
    assert run(["tree", "t", "-d", path, "--format", "mermaid"]) == 0
    lines = capsys.readouterr().out.splitlines()
    [caller] = [line.split("(")[0].strip() for line in lines if "caller not stored or not known" in line]
    assert [line for line in lines if f"> {caller}" in line] == []
    assert [line for line in lines if line.startswith(f"  {caller} -.->")] != []
