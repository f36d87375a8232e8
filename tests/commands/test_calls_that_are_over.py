"""Subgraph calls that no run continues: none of their questions is open, none of their tasks is called next."""

import operator
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from ckpt_cli.app import run
from tests.graphs.building import on


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


def ask(state: State) -> Any:
    """A node that asks, fails, or leaves the subgraph."""
    if state["log"][-1] == "leave":
        return Command(graph=Command.PARENT, goto="end", update={"log": ["left"]})
    if state["log"][-1] == "fail":
        raise ValueError("no desk")
    return {"log": [interrupt("which one?")]}


def made(saver: SqliteSaver) -> Any:
    """A graph whose node `desk` is a subgraph in which `ask` runs."""
    desk = StateGraph(State).add_node("ask", ask).add_edge(START, "ask").compile()
    outer = StateGraph(State).add_node("desk", desk, destinations=("end",)).add_node("end", lambda _: {"log": ["end"]})
    return outer.add_edge(START, "desk").add_edge("desk", "end").compile(checkpointer=saver)


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[SqliteSaver]:
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as opened:
        yield opened


def play(graph: Any, how: str) -> None:
    """Bring a thread to its end so that the subgraph's newest checkpoint has a task that no run continues."""
    durability = "exit" if "exit" in how else "async"
    with suppress(ValueError):
        given = "leave" if "left" in how else "fail" if "failed" in how else "in"
        graph.invoke({"log": [given]}, on(how), durability=durability)
    if "answered" in how:
        graph.invoke(Command(resume="this"), on(how), durability=durability)
    if "updated" in how:
        graph.update_state(on(how), {"log": ["by hand"]}, as_node="desk")
        graph.invoke(None, on(how))
    if "new input" in how:
        graph.invoke({"log": ["leave"]}, on(how))
    assert graph.get_state(on(how)).next == ()


@pytest.mark.parametrize(
    "how", ["left exit", "answered exit", "updated", "new input", "failed, updated", "failed, new input"]
)
def test_nothing_of_it_is_open(
    how: str, saver: SqliteSaver, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """As `get_state` says: nothing is next, nothing waits or has failed now."""
    play(made(saver), how)
    database = str(tmp_path / "t.sqlite")
    [inner] = [
        row[0]
        for row in saver.conn.execute(
            "SELECT checkpoint_ns FROM checkpoints WHERE thread_id = ? AND checkpoint_ns != '' ORDER BY checkpoint_id",
            [how],
        ).fetchmany(1)
    ]
    capsys.readouterr()
    for words in (["tree", how, "--full"], ["log", how, "--ns", inner], ["show", how, "--ns", inner]):
        assert run([*words, "-d", database]) == 0
    said = capsys.readouterr().out
    assert "⏸" not in said and "✗ ask" not in said and "would run next" not in said
    assert "over" in said or "out of date" in said or "gone on" in said


def test_an_open_question_is_open(saver: SqliteSaver, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The call is continued by an answer."""
    graph = made(saver)
    graph.invoke({"log": ["in"]}, on("t"))
    assert graph.get_state(on("t")).next == ("desk",)
    assert run(["tree", "t", "--full", "-d", str(tmp_path / "t.sqlite")]) == 0
    assert capsys.readouterr().out.count("⏸") > 1
