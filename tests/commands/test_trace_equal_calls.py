"""``ckpt trace`` counts each call of a model once, though its messages are equal and have no ids where it ran."""

import operator
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.graph.message import MessagesState
from typing_extensions import TypedDict

from ckpt_cli.commands.trace import DOUBTFUL, trace
from ckpt_cli.views.trace import TraceView
from tests.commands.asking import at
from tests.graphs.building import on


class Log(TypedDict):
    """Messages that no reducer gives an id."""

    messages: Annotated[list[AnyMessage], operator.add]


class Model:
    """A node that says the same each time, without an id; `calls` counts."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, _: Any) -> Any:
        self.calls += 1
        usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
        return {"messages": [AIMessage("ok", usage_metadata=usage)]}


def _inner(model: Model, nodes: int = 1, *, memory: bool = False) -> Any:
    """A subgraph that appends what the model says in each of its nodes."""
    graph, before = StateGraph(Log), START
    for name in [f"model{number}" for number in range(nodes)]:
        graph.add_node(name, model).add_edge(before, name)
        before = name
    return graph.compile(checkpointer=True if memory else None)


def _looked(path: Path, thread: str = "t") -> tuple[int, list[str]]:
    """The input tokens at nodes, and the notes about messages without an id."""
    view: TraceView = at(path, trace, thread)
    assert view.sums.unplaced_tokens == (0, 0)
    return view.sums.input_tokens, [note for note in view.notes if "without an id" in note]


_LAYERS = [
    *("side sub", "side sub side", "sub side", "side side sub sub", "side+sub", "side+sub side", "side+sub sub"),
    *("sub+sub", "sub+sub side", "side sub+sub", "sub sub sub", "side+sub sub+side"),
]


@pytest.mark.parametrize("layers", _LAYERS)
def test_nodes_and_subgraphs(layers: str, tmp_path: Path) -> None:
    """Beside and after each other: the outer graph gives the messages ids, the subgraphs have none."""
    model, before = Model(), [START]
    graph = StateGraph(MessagesState)
    for number, layer in enumerate(layers.split()):
        names = [f"{kind}{number}_{place}" for place, kind in enumerate(layer.split("+"))]
        for name in names:
            graph.add_node(name, _inner(model) if name.startswith("sub") else model)
            for one in before:
                graph.add_edge(one, name)
        before = names
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        graph.compile(checkpointer=saver).invoke({"messages": []}, on("t"))
    assert _looked(tmp_path / "t.sqlite") == (10 * model.calls, [])


@pytest.mark.parametrize(("nodes", "memory"), [(1, False), (2, False), (1, True), (2, True)])
def test_a_subgraph_that_is_called_again(nodes: int, memory: bool, tmp_path: Path) -> None:
    """In each turn, also where it has a memory of its own, which has the equal messages of the turns before."""
    model = Model()
    graph = StateGraph(MessagesState).add_node("sub", _inner(model, nodes, memory=memory)).add_edge(START, "sub")
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        app = graph.compile(checkpointer=saver)
        for _ in range(4):
            app.invoke({"messages": []}, on("t"))
    tokens, _ = _looked(tmp_path / "t.sqlite")
    assert tokens == 10 * model.calls


def test_a_message_that_a_function_gave_to_a_subgraph_without_ids(tmp_path: Path) -> None:
    """The subgraph's state has it, but it is the function's."""
    model = Model()
    inner = StateGraph(Log).add_node("quiet", lambda _: {}).add_edge(START, "quiet").compile()

    def outside(state: Any) -> Any:
        return {"messages": inner.invoke({"messages": model(state)["messages"]})["messages"]}

    graph = StateGraph(MessagesState).add_node("outside", outside).add_edge(START, "outside")
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        graph.compile(checkpointer=saver).invoke({"messages": []}, on("t"))
    assert _looked(tmp_path / "t.sqlite") == (10, [])


@pytest.mark.parametrize("kind", ["node", "entrypoint", "nested"])
def test_results_of_tasks_that_their_callers_return(kind: str, tmp_path: Path) -> None:
    """A message of a ``@task`` function is the function's. Ids show that two equal ones are two calls, else a note."""
    model = Model()

    @task
    def say(number: int) -> Any:
        return model(number)["messages"][0]

    @task
    def say_twice() -> list[Any]:
        return [one.result() for one in (say(1), say(2))]

    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        if kind == "node":
            graph = StateGraph(MessagesState).add_edge(START, "node")
            graph.add_node("node", lambda _: {"messages": [one.result() for one in (say(1), say(2))]})
            graph.compile(checkpointer=saver).invoke({"messages": []}, on("t"))
        else:

            @entrypoint(checkpointer=saver)
            def talk(_: str) -> list[Any]:
                return say_twice().result() if kind == "nested" else [one.result() for one in (say(1), say(2))]

            talk.invoke("hello", on("t"))
    told = (20, []) if kind == "node" else (10, [f"the tokens of 1 message without an id {DOUBTFUL}"])
    assert (model.calls, _looked(tmp_path / "t.sqlite")) == (2, told)


def _traced(tmp_path: Path, nodes: Sequence[Any]) -> tuple[int, list[str]]:
    graph, before = StateGraph(Log), START
    for number, node in enumerate(nodes):
        graph.add_node(f"node{number}", node).add_edge(before, f"node{number}")
        before = f"node{number}"
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        graph.compile(checkpointer=saver).invoke({"messages": []}, on("t"))
    return _looked(tmp_path / "t.sqlite")


def test_what_nothing_shows_is_said(tmp_path: Path) -> None:
    """Where no message has an id, another call and the same message written again are stored alike."""
    again = [Model(), lambda state: {"messages": state["messages"][-1:]}]
    note = f"the tokens of 1 message without an id {DOUBTFUL}"
    (tmp_path / "a").mkdir(), (tmp_path / "b").mkdir()
    assert _traced(tmp_path / "a", again) == _traced(tmp_path / "b", [Model(), Model()]) == (10, [note])


def test_a_list_that_a_node_writes_whole(tmp_path: Path) -> None:
    """The state has no more of the equal messages than before: nothing is doubtful."""

    class Plain(TypedDict):
        messages: list[AnyMessage]

    graph = StateGraph(Plain).add_node("model", Model()).add_node("same", lambda state: {"messages": state["messages"]})
    graph.add_edge(START, "model").add_edge("model", "same")
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        graph.compile(checkpointer=saver).invoke({"messages": []}, on("t"))
    assert _looked(tmp_path / "t.sqlite") == (10, [])
