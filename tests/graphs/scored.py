"""Graphs with the same channels and other reducers, for evidence from other threads."""

import operator
from typing import Annotated, Any, TypedDict

from langgraph.graph import START, StateGraph

from tests.graphs.building import on


class Scored(TypedDict, total=False):
    """A score that is simply the last one."""

    given: float
    score: float


class Best(TypedDict, total=False):
    """The same channels, with a reducer that ckpt doesn't know."""

    given: float
    score: Annotated[float, lambda a, b: b if b > a else (a + b) / 2]


class Added(TypedDict, total=False):
    """The same channels, with another known reducer."""

    given: float
    score: Annotated[float, operator.add]


def scored(saver: Any, thread_id: str, *given: float, schema: Any = Scored, nodes: str = "judge") -> Any:
    """Run a turn of a graph for each of these numbers; its first node writes the number as the score."""
    builder = StateGraph(schema)
    for before, node in zip((START, *nodes.split()), nodes.split(), strict=False):
        builder.add_node(node, (lambda s: {"score": s["given"]}) if before == START else (lambda s: {}))
        builder.add_edge(before, node)
    graph = builder.compile(checkpointer=saver)
    for number in given:
        graph.invoke({"given": number}, on(thread_id))
    return graph
