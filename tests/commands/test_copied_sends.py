"""Sends that a checkpoint has and no stored write shows: those of a fork, of the oldest checkpoint after a prune."""

import json
import operator
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Send

from ckpt_cli.app import run
from tests.graphs.building import on, says


class Log(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


def _forked(path: Path, *, fork: bool) -> None:
    """A node sends to two others; with `fork`, the tasks of these Sends run once more from the old checkpoint."""
    runs = iter("abcdef")

    def work(state: Any) -> Any:
        return {"log": [f"{state['name']} {next(runs)}"]}

    def route(_: Any) -> Any:
        return [Send(name, {"name": name}) for name in ("left", "right")]

    builder = StateGraph(Log).add_node("plan", says("plan")).add_node("left", work).add_node("right", work)
    builder.add_edge(START, "plan").add_conditional_edges("plan", route, ["left", "right"])
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        graph = builder.compile(checkpointer=SqliteSaver(connection))
        graph.invoke({"log": []}, on("t"))
        if fork:
            [old] = [one for one in graph.get_state_history(on("t")) if one.metadata["step"] == 1]
            graph.invoke(None, old.config)
            assert [one.metadata["source"] for one in graph.get_state_history(on("t"))][1] == "fork"


@pytest.mark.parametrize("has_paths", [True, False], ids=["paths", "no paths"])
@pytest.mark.parametrize("made", ["fork", "prune"])
def test_the_nodes_have_their_names(
    made: str, has_paths: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every look names them: they are in the checkpoint itself."""
    path = tmp_path / "t.sqlite"
    _forked(path, fork=made == "fork")
    if not has_paths:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE writes SET task_path = ''")
    if made == "prune":
        assert run(["prune", "t", "--keep-last", "2", "--yes", "-d", str(path)]) == 0
        capsys.readouterr()
    said = {}
    for verb, *words in (("log",), ("blame", "log"), ("replay", "@^", "--to", "@"), ("trace", "--steps")):
        assert run([verb, "t", *words, "--json", "-d", str(path)]) == 0
        said[verb] = json.loads(capsys.readouterr().out)
    assert said["log"]["steps"][0]["nodes"] == {"left": 1, "right": 1}
    nodes = {line["value"].partition(" ")[0]: line["since"]["node"] for line in said["blame"]["lines"]}
    assert {one: nodes[one] for one in ("left", "right")} == {"left": "left", "right": "right"}
    assert [one["node"] for one in said["replay"]["steps"][-1]["tasks"]] == ["left", "right"]
    assert sorted(task["node"] for task in said["trace"]["steps"][-1]["tasks"]) == ["left", "right"]
