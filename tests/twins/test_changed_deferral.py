"""An application that made a node deferred, or no longer so: what an update stores, LangGraph can load."""

import json
import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run

ON: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    """What each node says."""

    log: Annotated[list[str], operator.add]


def agent(saver: SqliteSaver, *, defer: bool) -> Any:
    """Two ways from the first node, of which the short one ends in a node that may be deferred."""
    graph = StateGraph(State)
    for name in "abcd":
        graph.add_node(name, lambda _, name=name: {"log": [name]}, defer=defer and name == "d")
    graph.add_edge(START, "a").add_edge("a", "b").add_edge("a", "d").add_edge("b", "c")
    return graph.compile(checkpointer=saver)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("eras", [(False, True), (True, False), (True, False, True)])
def test_an_update_can_be_read(eras: tuple[bool, ...], named: bool, tmp_path: Path) -> None:
    """And runs the nodes that an update by the library runs; a person's word counts more than older runs."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        for defer in eras:
            agent(saver, defer=defer).invoke({"log": ["in"]}, ON)
        app = agent(saver, defer=eras[-1])
        before = len(app.get_state(ON).values["log"])
        words = ["update", "t", "--values", json.dumps({"log": ["mine"]}), "--as-node", "a", "-d", str(path)]
        assert run([*words, "--yes", *(["--deferred", f"d={'yes' if eras[-1] else 'no'}"] if named else [])]) == 0
        assert app.get_state(ON).next
        ran = app.invoke(None, ON)["log"][before:]
    assert sorted(ran) == sorted(["mine", "b", "c", "d"]) and ran[0] == "mine"
    if named or eras[-1]:
        assert ran == (["mine", "b", "c", "d"] if eras[-1] else ["mine", "b", "d", "c"])


@pytest.mark.parametrize("defer", [True, False])
def test_that_only_older_threads_show_it_is_said(
    defer: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three threads ran before the application changed; with the word that the plan asks for, the new one goes on."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        for number in range(3):
            agent(saver, defer=not defer).invoke({"log": ["in"]}, {"configurable": {"thread_id": f"old-{number}"}})
        app = agent(saver, defer=defer)
        app.invoke({"log": ["in"]}, ON, interrupt_after=["__start__"], durability="sync")
        words = [
            "update",
            "t",
            "--values",
            json.dumps({"log": ["mine"]}),
            "--as-node",
            "a",
            "--next",
            "b",
            "--next",
            "d",
        ]
        words += ["--reducer", "log=append", "-d", str(path)]
        assert run([*words, "--dry-run"]) == 0
        assert "only other threads show whether b, d are deferred" in " ".join(capsys.readouterr().out.split())
        named = ["--deferred", f"d={'yes' if defer else 'no'}"]
        assert run([*words, *named, "--yes"]) == 0
        assert "only other threads show whether b is deferred" in " ".join(capsys.readouterr().out.split())
        assert app.invoke(None, ON)["log"][-3:] == (["b", "c", "d"] if defer else ["b", "d", "c"])
