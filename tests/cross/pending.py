"""Graphs whose step is half done: some tasks have finished, others ask or failed; each notes which nodes it runs."""

from collections.abc import Callable
from typing import Any, NamedTuple

from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Send, interrupt

from tests.graphs import Graph
from tests.graphs.building import Bag, Log, line
from tests.graphs.waiting import until_stored


class HalfDone(NamedTuple):
    """A graph, its input, and words of ckpt that change the thread before it is copied."""

    build: Callable[[Any, list[str]], Graph]
    given: Any
    words: tuple[str, ...] = ()


def siblings(saver: Any, ran: list[str]) -> Graph:
    """One task asks, its sibling has finished."""

    def good(_: Bag) -> dict[str, Any]:
        ran.append("good")
        return {"log": ["good"]}

    def asks(_: Bag) -> dict[str, Any]:
        ran.append("asks")
        return {"log": [interrupt("sure?")]}

    nodes = {"good": good, "asks": asks}
    builder = StateGraph(Bag)
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(START, name)
    builder.add_node("join", lambda s: {"log": [len(s["log"])]})
    builder.add_edge([*nodes], "join")
    return builder.compile(checkpointer=saver)


def fails(saver: Any, ran: list[str]) -> Graph:
    """Of two tasks in one step, one has finished and the other fails at its first run."""

    def good(_: Bag) -> dict[str, Any]:
        ran.append("good")
        return {"log": ["good"]}

    def shaky(_: Bag) -> dict[str, Any]:
        until_stored(saver)
        ran.append("shaky")
        if "good" in ran:
            raise ValueError("down")
        return {"log": ["shaky"]}

    builder = StateGraph(Bag)
    for name, node in {"good": good, "shaky": shaky}.items():
        builder.add_node(name, node)
        builder.add_edge(START, name)
    return builder.compile(checkpointer=saver)


def two_levels(saver: Any, ran: list[str]) -> Graph:
    """A question two levels down, behind a node that has finished there."""

    def pre(_: Bag) -> dict[str, Any]:
        ran.append("pre")
        return {"log": ["pre"]}

    def leaf(_: Bag) -> dict[str, Any]:
        ran.append("leaf")
        return {"log": [interrupt("leaf?")]}

    grand = line(None, "pre", "leaf", nodes={"pre": pre, "leaf": leaf})
    child = line(None, "pre", "grand", nodes={"pre": pre, "grand": grand})
    return line(saver, "root", "child", "tail", nodes={"child": child})


def with_memory(saver: Any, ran: list[str]) -> Graph:
    """A subgraph with a memory of its own asks, after a turn in which it has remembered something."""

    def ask(state: Bag) -> dict[str, Any]:
        ran.append("ask")
        return {"log": [interrupt("more?") if len(state["log"]) > 1 else "first"]}

    memory = line(True, "pre", "ask", nodes={"ask": ask})
    return line(saver, "memory", "tail", nodes={"memory": memory})


def calls(saver: Any, ran: list[str]) -> Graph:
    """The same subgraph called four times in one step; one call asks."""

    def work(state: Bag) -> dict[str, Any]:
        ran.append(f"work {state['n']}")
        return {"log": [interrupt("two?") if state["n"] == 2 else state["n"]]}

    inner = StateGraph(Bag, output_schema=Log)
    inner.add_node("work", work)
    inner.add_edge(START, "work")
    builder = StateGraph(Bag)
    builder.add_node("split", lambda s: {"log": ["split"]})
    builder.add_node("child", inner.compile())
    builder.add_edge(START, "split")
    builder.add_conditional_edges("split", lambda s: [Send("child", {"n": n}) for n in range(4)], ["child"])
    return builder.compile(checkpointer=saver)


def flow(saver: Any, ran: list[str]) -> Graph:
    """An entrypoint that asks after two tasks whose results are kept."""

    @task
    def double(n: int) -> int:
        ran.append(f"double {n}")
        return n * 2

    @entrypoint(checkpointer=saver)
    def main(n: int) -> Any:
        ran.append("main")
        return [double(n).result(), double(n + 1).result(), interrupt("go on?")]

    return main


HALF_DONE = {
    "siblings": HalfDone(siblings, {"log": []}),
    "an answer that was recorded": HalfDone(siblings, {"log": []}, ("resume", "--value", '"yes"')),
    "a failure": HalfDone(fails, {"log": []}),
    "a question two levels down": HalfDone(two_levels, {"log": []}),
    "a subgraph with memory": HalfDone(with_memory, {"log": ["turn"]}),
    "calls of a subgraph": HalfDone(calls, {"log": [], "n": 0}),
    "a functional workflow": HalfDone(flow, 3),
}
