"""Updates as a node whose task has finished while its sibling asks: LangGraph's savers keep the task's own writes."""

import operator
from typing import Annotated, Any, TypedDict

from langgraph.channels import DeltaChannel
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from tests.graphs import Graph

TURNS = 10
"""So many turns end; in the next one `asks` asks."""


def extend(current: list[Any], writes: list[list[Any]]) -> list[Any]:
    """A list that grows."""
    return [*current, *(item for write in writes for item in write)]


class Beside(TypedDict, total=False):
    """A list of each kind."""

    n: int
    log: Annotated[list[Any], operator.add]
    seen: Annotated[list[Any], DeltaChannel(extend, snapshot_frequency=100)]


def beside(saver: Any) -> Graph:
    """Two nodes side by side; `good` writes one channel."""

    def asks(state: Beside) -> dict[str, Any]:
        answer = interrupt("sure?") if state["n"] == TURNS else state["n"]
        return {"log": [answer], "seen": [answer]}

    builder = StateGraph(Beside)
    builder.add_node("good", lambda state: {"n": state["n"]})
    builder.add_node("asks", asks)
    builder.add_edge(START, "good")
    builder.add_edge(START, "asks")
    return builder.compile(checkpointer=saver)
