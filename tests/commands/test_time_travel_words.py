"""What is said of tips that aren't the head: where a run from there goes on, and which calls it continues."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command, interrupt

from ckpt_cli.app import run
from tests.graphs.building import Log, line, on


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[SqliteSaver]:
    with closing(sqlite3.connect(tmp_path / "t.sqlite", check_same_thread=False)) as connection:
        yield SqliteSaver(connection)


def travelled(saver: SqliteSaver, ran: list[str]) -> tuple[Any, Any]:
    """A thread that was run twice from its first checkpoint; gives the graph, and the older of the two new tips."""

    def first(state: Any) -> Any:
        ran.append("first")
        return {"log": ["first"]}

    inner = line(None, "first", "ask", schema=Log, nodes={"first": first, "ask": lambda s: {"log": [interrupt("go?")]}})
    graph = line(saver, "sub", schema=Log, nodes={"sub": inner})
    graph.invoke({"log": ["in"]}, on("t"))
    graph.invoke(Command(resume="yes"), on("t"))
    old = next(one for one in graph.get_state_history(on("t")) if one.next == ("sub",))
    graph.invoke(None, old.config)
    tip = graph.get_state(on("t"))
    graph.invoke(None, old.config)
    return graph, tip


def test_a_run_from_an_older_tip(tmp_path: Path, saver: SqliteSaver, capsys: pytest.CaptureFixture[str]) -> None:
    """A run with its checkpoint_id still answers its question, and makes no new branch; neither is denied."""
    ran: list[str] = []
    graph, tip = travelled(saver, ran)
    db, tip_id = ["-d", str(tmp_path / "t.sqlite")], tip.config["configurable"]["checkpoint_id"]
    assert run(["show", "t", tip_id, *db]) == 0
    said = capsys.readouterr().out
    assert "runs again from here, with:" in said and "new branch" not in said
    assert run(["tree", "t", "--full", *db]) == 0
    tree = capsys.readouterr().out
    assert "no run continues" not in tree and "asked; the thread's next run doesn't continue this call" in tree
    assert run(["log", "t", "--all", "--json", *db]) == 0
    branches = {step["branch"] for step in json.loads(capsys.readouterr().out)["steps"]}
    ran.clear()
    graph.invoke(Command(resume={tip.interrupts[0].id: "answer"}), tip.config)
    assert "answer" in graph.get_state(on("t")).values["log"] and ran == []
    assert run(["log", "t", "--all", "--json", *db]) == 0
    assert {step["branch"] for step in json.loads(capsys.readouterr().out)["steps"]} == branches
