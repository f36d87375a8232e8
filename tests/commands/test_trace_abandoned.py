"""``trace`` of tasks that failed or asked and that no run continued, because an input came."""

import operator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from ckpt_cli.commands.graph import graph as graph_verb
from ckpt_cli.commands.trace import trace
from tests.commands.asking import at
from tests.graphs.building import on


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


def play(path: Path, way: str, *, own: bool) -> None:
    """An input that comes to nothing inside a subgraph, with or without a memory of its own, and a second input."""
    ways = [way]

    def second(_: State) -> Any:
        match ways.pop() if ways else "":
            case "failed":
                raise ValueError("once")
            case "asked":
                interrupt("go on?")
        return {"log": ["second"]}

    inner = StateGraph(State).add_node("first", lambda _: {"log": ["first"]}).add_node("second", second)
    inner.add_edge(START, "first").add_edge("first", "second")
    outer = StateGraph(State).add_node("sub", inner.compile(checkpointer=own or None)).add_edge(START, "sub")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = outer.compile(checkpointer=saver)
        for given in ("one", "two"):
            with suppress(ValueError):
                graph.invoke({"log": [given]}, on("t"))


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("way", ["failed", "asked"])
def test_an_abandoned_call_has_its_failures_and_questions(way: str, own: bool, tmp_path: Path) -> None:
    """A task inside a subgraph whose call was abandoned counts as in ``graph``, also at the end of a shorter line."""
    path = tmp_path / "t.sqlite"
    play(path, way, own=own)
    drawn = {node.name: node for part in at(path, graph_verb, ["t"]).graphs for node in part.nodes}
    for words in (("t",), ("t", "step:0")):
        summed = {node.node: node for node in at(path, trace, *words).nodes}
        for name in ("sub", "second"):
            assert getattr(summed[name], way) == getattr(drawn[name], way) == 1
