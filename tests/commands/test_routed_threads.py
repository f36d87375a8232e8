"""Other threads of a graph went other ways: together they explain a channel that each of them leaves open."""

import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from ckpt_cli.app import run
from tests.graphs.building import on


class State(TypedDict, total=False):
    way: str
    out: Annotated[list[str], operator.add]


def made(saver: SqliteSaver) -> Any:
    """A node that sends each thread to one of two others; both end at the one that asks."""
    graph = StateGraph(State)
    graph.add_node("choose", lambda state: Command(goto=state["way"]), destinations=("long", "ask"))
    graph.add_node("long", lambda _: Command(goto="ask", update={"out": ["long"]}), destinations=("ask",))
    graph.add_node("ask", lambda _: {"out": [f"said {interrupt('ok?')}"]}).add_node("end", lambda _: {})
    return graph.add_edge(START, "choose").add_edge("ask", "end").compile(checkpointer=saver)


def test_a_channel_that_two_threads_explain_together(tmp_path: Path) -> None:
    """One thread fits "last value or append", another one only an append: this is no reason to refuse."""
    with SqliteSaver.from_conn_string(str(path := tmp_path / "t.sqlite")) as saver:
        graph = made(saver)
        for thread, way in (("one", "long"), ("two", "ask")):
            graph.invoke({"way": way}, on(thread))
            graph.invoke(Command(resume="1"), on(thread))
        graph.invoke({"way": "ask"}, on("two"))
        graph.invoke({"way": "ask"}, on("waits"))
        where = ("-d", str(path), "--yes")
        assert run(["update", "waits", "--values", '{"out": ["u"]}', "--as-node", "ask", *where]) == 0
        ours = graph.get_state(on("waits"))
        graph.update_state(on("two"), {"out": ["u"]}, as_node="ask")
        assert (ours.values["out"], ours.next) == (["u"], graph.get_state(on("two")).next)
