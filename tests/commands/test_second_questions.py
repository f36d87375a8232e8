"""A node asks, is answered, asks again, and fails before it comes to that question: the question is still open."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt

from ckpt_cli.app import run

ON: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    """What two people said."""

    said: list[str]


def agent(saver: SqliteSaver, how: str, *, down: bool = False) -> Any:
    """A node with two questions, started by an edge or by a Send, in a subgraph or not; `down` fails between them."""

    def ask(_: Any) -> State:
        first = interrupt("who?")
        if down:
            raise ValueError("down")
        return {"said": [first, interrupt("when?")]}

    graph = StateGraph(State).add_node("ask", ask)
    if "Send" in how:
        graph.add_conditional_edges(START, lambda _: [Send("ask", {})], ["ask"])
    else:
        graph.add_edge(START, "ask")
    if "subgraph" in how:
        graph = StateGraph(State).add_node("child", graph.compile()).add_edge(START, "child")
    return graph.compile(checkpointer=saver)


@pytest.mark.parametrize("how", ["edge", "Send", "edge in a subgraph", "Send in a subgraph"])
def test_it_is_open(how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The thread waits and has failed, `resume` answers the second question, and the agent ends with both answers."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = agent(saver, how)
        app.invoke({"said": []}, ON)
        app.invoke(Command(resume="Ada"), ON)
        with suppress(ValueError):
            agent(saver, how, down=True).invoke(None, ON)
        assert [one.value for one in app.get_state(ON).interrupts] == ["when?"]
        assert run(["threads", "-d", str(path), "--json"]) == 0
        (thread,) = json.loads(capsys.readouterr().out)["threads"]
        assert thread["statuses"] == ["waiting", "failed"]
        assert [one["value"] for one in thread["interrupts"]] == ["when?"]
        assert run(["resume", "t", "--value", '"today"', "--yes", "-d", str(path)]) == 0
        assert app.invoke(None, ON)["said"] == ["Ada", "today"]


def asking_three(saver: SqliteSaver, *, down: bool = False) -> Any:
    """A node with three questions; with `down` it fails after the first answer."""

    def ask(_: Any) -> State:
        said = [interrupt("who?")]
        if down:
            raise ValueError("down")
        return {"said": [*said, interrupt("when?"), interrupt("where?")]}

    return StateGraph(State).add_node("ask", ask).add_edge(START, "ask").compile(checkpointer=saver)


def test_the_third_is_open_where_fewer_answers_are_stored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """LangGraph stores only the answers that the failed run took; the question came after two."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = asking_three(saver)
        app.invoke({"said": []}, ON)
        app.invoke(Command(resume="Ada"), ON)
        app.invoke(Command(resume="today"), ON)
        with suppress(ValueError):
            asking_three(saver, down=True).invoke(Command(resume="here"), ON)
        [question] = app.get_state(ON).interrupts
        assert question.value == "where?"
    assert run(["threads", "-d", str(path), "--status", "waiting", "--json"]) == 0
    (thread,) = json.loads(capsys.readouterr().out)["threads"]
    assert [one["value"] for one in thread["interrupts"]] == ["where?"]
