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


def agent(saver: SqliteSaver, *, by_send: bool, down: bool = False) -> Any:
    """A node with two questions, started by an edge or by a Send; with `down` it fails between them."""

    def ask(_: Any) -> State:
        first = interrupt("who?")
        if down:
            raise ValueError("down")
        return {"said": [first, interrupt("when?")]}

    graph = StateGraph(State).add_node("ask", ask)
    if by_send:
        graph.add_conditional_edges(START, lambda _: [Send("ask", {})], ["ask"])
    else:
        graph.add_edge(START, "ask")
    return graph.compile(checkpointer=saver)


@pytest.mark.parametrize("by_send", [False, True])
def test_it_is_open(by_send: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The thread waits and has failed, `resume` answers the second question, and the agent ends with both answers."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = agent(saver, by_send=by_send)
        app.invoke({"said": []}, ON)
        app.invoke(Command(resume="Ada"), ON)
        with suppress(ValueError):
            agent(saver, by_send=by_send, down=True).invoke(None, ON)
        assert [one.value for one in app.get_state(ON).interrupts] == ["when?"]
        assert run(["threads", "-d", str(path), "--json"]) == 0
        (thread,) = json.loads(capsys.readouterr().out)["threads"]
        assert thread["statuses"] == ["waiting", "failed"]
        assert [one["value"] for one in thread["interrupts"]] == ["when?"]
        assert run(["resume", "t", "--value", '"today"', "--yes", "-d", str(path)]) == 0
        assert app.invoke(None, ON)["said"] == ["Ada", "today"]
