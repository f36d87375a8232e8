"""An update whose Sends are in no stored write: the nodes that they called have their names in every look."""

import json
import operator
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Send

from ckpt_cli.app import run
from tests.graphs.building import on, says
from tests.graphs.waiting import until_stored

Ckpt = Callable[..., Any]


class Log(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


def sends_after_an_update(path: Path, *, fails: bool) -> None:
    """A run, an update at its first checkpoint as the node that had run, which now sends; then the next run."""
    failures = [1] * fails

    def work(state: Any) -> Any:
        if state["number"] in failures:
            failures.clear()
            until_stored(saver)
            raise ValueError("work")
        return {"log": [f"work {state['number']}"]}

    def route(state: Any) -> Any:
        return [Send("work", {"number": number}) for number in range(2)] if "updated" in state["log"] else "end"

    builder = StateGraph(Log).add_node("plan", says("plan")).add_node("work", work).add_node("end", says("end"))
    builder.add_edge(START, "plan").add_conditional_edges("plan", route, ["work", "end"]).add_edge("work", "end")
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        saver = SqliteSaver(connection)
        graph = builder.compile(checkpointer=saver)
        graph.invoke({"log": []}, on("t"))
        first = next(one for one in graph.get_state_history(on("t")) if one.metadata["step"] == 0)
        graph.update_state(first.config, {"log": ["updated"]}, as_node="plan")
        with suppress(ValueError):
            graph.invoke(None, on("t"))
        if fails:
            graph.invoke({"log": ["again"]}, on("t"))  # so the failed tasks aren't those of the head


@pytest.mark.parametrize("has_paths", [True, False], ids=["paths", "no paths"])
@pytest.mark.parametrize("fails", [False, True], ids=["finished", "failed"])
def test_the_nodes_are_named(fails: bool, has_paths: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`graph`, `log` and `blame` read them in the checkpoint that the update made."""
    path = tmp_path / "sends.sqlite"
    sends_after_an_update(path, fails=fails)
    if not has_paths:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE writes SET task_path = ''")
    said = {}
    for verb, *words in (("graph",), ("log", "-n", "0"), ("blame", "log")):
        assert run([verb, "t", *words, "--json", "-d", str(path)]) == 0
        said[verb] = json.loads(capsys.readouterr().out)
    [graph] = said["graph"]["graphs"]
    assert {one["name"] for one in graph["nodes"]} == {"__start__", "plan", "work", "end"}
    assert [(one["runs"], one["failed"]) for one in graph["nodes"] if one["name"] == "work"] == [
        (3, 1) if fails else (2, 0)
    ]
    assert {"work": 2} in [step["nodes"] for step in said["log"]["steps"]]
    by = {line["value"]: line["since"]["node"] for line in said["blame"]["lines"]}
    assert by["work 1"] == "work" and "" not in [*by.values()][2:]
