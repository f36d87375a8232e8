"""Random graphs with reducers that ckpt doesn't know, subgraphs, Sends, overwrites and questions."""

import operator
from collections.abc import Callable
from random import Random
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, RemoveMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Overwrite, Send, interrupt


def new_only(old: list[Any], new: list[Any]) -> list[Any]:
    """Append what isn't there yet."""
    return old + [item for item in new if item not in old]


def last_three(old: list[Any], new: list[Any]) -> list[Any]:
    """Keep the three newest items."""
    return (old + new)[-3:]


def longest(old: str, new: str) -> str:
    """Keep the longer text."""
    return max(old, new, key=len)


def capped(old: int, new: int) -> int:
    """Add, but never beyond ten."""
    return min(10, old + new)


def newest_first(old: list[Any], new: list[Any]) -> list[Any]:
    """Put new items before the old ones."""
    return new + old


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Merge, without what is None."""
    return {key: value for key, value in {**old, **new}.items() if value is not None}


class Everything(TypedDict, total=False):
    """Channels with reducers that ckpt knows, and with some that it doesn't."""

    n: int
    name: str
    best: Annotated[float, lambda old, new: max(old, new)]
    docs: Annotated[list[Any], new_only]
    recent: Annotated[list[Any], last_three]
    front: Annotated[list[Any], newest_first]
    text: Annotated[str, longest]
    score: Annotated[int, capped]
    total: Annotated[int, operator.add]
    log: Annotated[list[Any], operator.add]
    facts: Annotated[dict[str, Any], merged]
    messages: Annotated[list[AnyMessage], add_messages]


WRITES: dict[str, Callable[[Random], Any]] = {
    "name": lambda random: random.choice(["a", "b", "c"]),
    "best": lambda random: random.choice([0.2, 0.3, 0.9, 0.95]),
    "docs": lambda random: random.choices("xyz", k=random.randint(0, 2)),
    "recent": lambda random: random.choices(range(5), k=random.randint(0, 3)),
    "front": lambda random: random.choices(range(5), k=random.randint(0, 2)),
    "text": lambda random: random.choice("ab") * random.randint(0, 4),
    "score": lambda random: random.randint(-2, 7),
    "total": lambda random: random.randint(-2, 3),
    "log": lambda random: [random.choice("pq")] * random.randint(0, 2),
    "facts": lambda random: {random.choice("kl"): random.choice([1, 2, None])},
    "messages": lambda random: [AIMessage(f"reply {random.randint(0, 3)}", id=random.choice(["m1", "m2", "m3"]))],
}
REDUCED = ("docs", "recent", "front", "log")


def write(random: Random, *, whole: bool = False) -> dict[str, Any]:
    """What a node gives to some channels; with `whole`, also values that replace the old ones."""
    written = {channel: make(random) for channel, make in WRITES.items() if random.random() < 0.4}
    if whole and random.random() < 0.3:
        channel = random.choice(REDUCED)
        written[channel] = Overwrite(WRITES[channel](random))
    if random.random() < 0.1:
        written["messages"] = [RemoveMessage("__remove_all__")]
    return written


def graph(random: Random, saver: SqliteSaver) -> Any:
    """A graph of a few nodes in a loop; one may be a subgraph, one may send tasks."""

    def node(state: Everything) -> dict[str, Any]:
        return {**write(random, whole=True), "n": state.get("n", 0) + 1}

    def asking(state: Everything) -> dict[str, Any]:
        if random.random() < 0.2:
            interrupt("go on?")
        return node(state)

    inner = StateGraph(Everything)
    inner.add_node("in1", lambda _: write(random))
    inner.add_node("in2", lambda _: write(random, whole=True))
    inner.add_edge(START, "in1")
    inner.add_edge("in1", "in2")
    outer = StateGraph(Everything)
    outer.add_node("a", node)
    outer.add_node("b", inner.compile() if random.random() < 0.5 else node)
    outer.add_node("c", asking)
    outer.add_node("worker", lambda _: {"log": ["w"], "total": 1})
    outer.add_edge(START, "a")
    outer.add_conditional_edges(
        "a", lambda _: ["b"] if random.random() < 0.7 else [Send("worker", {}), Send("worker", {})], ["b", "worker"]
    )
    outer.add_edge("worker", "c")
    outer.add_edge("b", "c")
    limit = random.randint(2, 7)
    outer.add_conditional_edges("c", lambda state: END if state.get("n", 0) >= limit else "a", ["a", END])
    return outer.compile(checkpointer=saver)
