"""The config that `show` gives for a head continues the thread: finished tasks and recorded answers are kept."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from ckpt_cli.app import run
from tests.graphs.building import Log, on
from tests.graphs.waiting import until_stored


def build(saver: Any, ran: list[str], *, broken: bool) -> Any:
    """A graph of three nodes in one step: one finishes, one asks, one fails while `broken`."""

    def node(name: str, work: Callable[[], Any]) -> Callable[[Any], Any]:
        def go(state: Any) -> Any:
            ran.append(name)
            return {"log": [work()]}

        return go

    def fail() -> str:
        if broken:
            until_stored(saver, others=2)
            raise ValueError("down")
        return "up"

    builder = StateGraph(Log)
    for name, work in (("done", lambda: "done"), ("ask", lambda: interrupt("go?")), ("fails", fail)):
        builder.add_node(name, node(name, work))
        builder.add_edge(START, name)
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize("field", ["config_to_go_on", "config"])
def test_only_the_config_to_go_on_keeps_what_is_stored(
    field: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the named checkpoint, the real library runs every task again and asks again; with the other, it goes on."""
    path, ran = tmp_path / "step.sqlite", list[str]()
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        with suppress(ValueError):
            build(SqliteSaver(connection), ran, broken=True).invoke({"log": []}, on("t"))
        assert run(["resume", "t", "--value", "yes", "--yes", "-d", str(path)]) == 0
        capsys.readouterr()
        assert run(["show", "t", "-d", str(path)]) == 0
        last = capsys.readouterr().out.splitlines()[-1]
        assert run(["show", "t", "-d", str(path), "--json"]) == 0
        view = json.loads(capsys.readouterr().out)
        ran.clear()
        after = build(SqliteSaver(connection), ran, broken=False).invoke(None, view[field])
    assert json.loads(last) == view["config_to_go_on"]
    goes_on = field == "config_to_go_on"
    assert ("done" in ran) is not goes_on
    assert (sorted(after["log"]) == ["done", "up", "yes"]) is goes_on
