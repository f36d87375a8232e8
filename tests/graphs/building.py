"""What scenarios are made of: their register, configs, states, nodes, and a graph of nodes in a row."""

import operator
from collections.abc import Callable, Iterator
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AnyMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages

Graph = Any
Threads = Iterator[tuple[str, Graph]]
Scenario = Callable[[BaseCheckpointSaver[Any]], Threads]

SCENARIOS: dict[str, Scenario] = {}


def scenario(run: Scenario) -> Scenario:
    """Register a scenario under its name."""
    SCENARIOS[run.__name__] = run
    return run


def on(thread_id: str, **metadata: Any) -> dict[str, Any]:
    """The config of a thread."""
    return {"configurable": {"thread_id": thread_id}, "metadata": metadata, "recursion_limit": 100}


class Bag(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]
    n: int
    fail: bool


class Log(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]


class Chat(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    topic: str | None


def says(name: str) -> Callable[[Any], dict[str, Any]]:
    """A node that logs its name."""
    return lambda state: {"log": [name]}


def line(saver: Any, *names: str, schema: type = Bag, nodes: dict[str, Any] | None = None, **options: Any) -> Graph:
    """A graph of nodes in a row; `nodes` gives those that do more than log their name."""
    builder = StateGraph(schema)
    for before, name in zip((START, *names), names, strict=False):
        builder.add_node(name, (nodes or {}).get(name) or says(name))
        builder.add_edge(before, name)
    return builder.compile(checkpointer=saver, **options)
