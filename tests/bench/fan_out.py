"""Databases of real graphs whose widest step has many tasks."""

import operator
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Send, interrupt


class _State(TypedDict):
    n: int
    out: Annotated[list[int], operator.add]


def _finish(state: _State) -> dict[str, Any]:
    return {"out": [state["n"]]}


def _ask(state: _State) -> dict[str, Any]:
    return {"out": [interrupt(state["n"])]}


def _graph(node: Callable[[_State], Any], size: int, *, nested: bool) -> Any:
    graph = StateGraph(_State)
    graph.add_node("plan", lambda _: {"n": 0})
    if nested:
        graph.add_node("work", StateGraph(_State).add_node("inner", node).add_edge(START, "inner").compile())
    else:
        graph.add_node("work", node)
    graph.add_edge(START, "plan")
    graph.add_conditional_edges("plan", lambda _: [Send("work", {"n": n, "out": []}) for n in range(size)], ["work"])
    return graph


def make(path: Path, size: int, kind: str) -> None:
    """A database with one thread ``t``: a step of so many tasks that finished or wait, some of them in subgraphs."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        node = _finish if kind == "finished" else _ask
        graph = _graph(node, size, nested=kind == "subgraphs").compile(checkpointer=SqliteSaver(connection))
        graph.invoke({"n": 0, "out": []}, {"configurable": {"thread_id": "t"}, "max_concurrency": 1})
        if kind == "without paths":
            connection.execute("UPDATE writes SET task_path = ''")
        connection.commit()
