"""Graphs with errors, Sends and commands, and unusual kinds of graphs."""

import contextlib
import operator
from typing import Annotated, Any

from langgraph import types
from langgraph.channels import EphemeralValue, LastValue
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.pregel import NodeBuilder, Pregel
from langgraph.types import Command, Send, interrupt

from tests.graphs.building import Bag, Graph, Threads, line, on, says, scenario
from tests.graphs.waiting import until_stored

_overwrite = getattr(types, "Overwrite", list)  # langgraph 0.6 has none: there the write is appended


def failing(saver: Any) -> Graph:
    """Two siblings and a join of both; one fails as long as it should, once the other has finished."""

    def bad(state: Bag) -> dict[str, Any]:
        if state.get("fail", True):
            until_stored(saver)
            raise ValueError("boom: 数据库 down")
        return {"log": ["bad"]}

    builder = StateGraph(Bag)
    for name, run in {"plan": says("plan"), "good": says("good"), "bad": bad, "join": says("join")}.items():
        builder.add_node(name, run)
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "good")
    builder.add_edge("plan", "bad")
    builder.add_edge(["good", "bad"], "join")
    return builder.compile(checkpointer=saver)


@scenario
def errors(saver: BaseCheckpointSaver[Any]) -> Threads:
    """A failed node with a finished sibling; the same repaired by an update, and run again."""
    graph = failing(saver)
    for thread_id in ("error", "error-mended", "error-retried"):
        with contextlib.suppress(ValueError):
            graph.invoke({"log": []}, on(thread_id))
        if thread_id == "error-mended":
            graph.update_state(on(thread_id), {"fail": False}, as_node="plan")
            graph.invoke(None, on(thread_id))
        if thread_id == "error-retried":
            with contextlib.suppress(ValueError):
                graph.invoke(None, on(thread_id))
        yield thread_id, graph


@scenario
def sends(saver: BaseCheckpointSaver[Any]) -> Threads:
    """A fan-out of more than ten, one with a question in it, one stopped before it began."""

    def graph(ask: bool = False, **options: Any) -> Graph:
        builder = StateGraph(Bag)
        builder.add_node("split", says("split"))
        builder.add_node("work", lambda s: {"log": [interrupt(s["i"]) if ask and s["i"] == 2 else s["i"]]})
        builder.add_node("reduce", says("reduce"))
        builder.add_edge(START, "split")
        builder.add_conditional_edges("split", lambda s: [Send("work", {"i": i}) for i in range(s["n"])], ["work"])
        builder.add_edge("work", "reduce")
        return builder.compile(checkpointer=saver, **options)

    for thread_id, made in (
        ("map", graph()),
        ("map-asks", graph(True)),
        ("map-before", graph(interrupt_before=["work"])),
    ):
        made.invoke({"log": [], "n": 12}, on(thread_id))
        yield thread_id, made


@scenario
def commands(saver: BaseCheckpointSaver[Any]) -> Threads:
    """Command: goto of a node, of Sends, of the end, out of a subgraph; Overwrite."""

    def router(state: Bag) -> Command[Any]:
        if state.get("n", 0) >= 2:
            return Command(goto=END, update={"log": ["stop"]})
        goto = ["left", Send("right", {"n": 1})]
        return Command(goto=goto, update={"log": ["router"], "n": state.get("n", 0) + 1})

    builder = StateGraph(Bag)
    builder.add_node("router", router, destinations=("left", "right", END))
    builder.add_node("left", lambda s: Command(goto="router", update={"log": ["left"]}), destinations=("router",))
    builder.add_node("right", says("right"))
    builder.add_node("reset", lambda s: {"log": _overwrite(["fresh"])})
    builder.add_edge(START, "router")
    builder.add_edge("right", "reset")
    graph = builder.compile(checkpointer=saver)
    graph.invoke({"log": []}, on("commands"))
    yield "commands", graph
    leave = line(
        None, "leave", nodes={"leave": lambda s: Command(graph=Command.PARENT, goto="b", update={"log": ["up"]})}
    )
    builder = StateGraph(Bag)
    builder.add_node("a", leave)
    builder.add_node("b", says("b"))
    builder.add_edge(START, "a")
    graph = builder.compile(checkpointer=saver)
    graph.invoke({"log": []}, on("commands-up"))
    yield "commands-up", graph


@scenario
def routes(saver: BaseCheckpointSaver[Any]) -> Threads:
    """A router that routes to both nodes at once; and one that routes to both, to one and to none."""
    builder = StateGraph(Bag)
    for name in ("ask", "left", "right"):
        builder.add_node(name, says(name))
    ways = {1: "left", 2: END}
    builder.add_edge(START, "ask")
    builder.add_conditional_edges("ask", lambda s: ways.get(s["n"], ["left", "right"]), ["left", "right", END])
    graph = builder.compile(checkpointer=saver)
    for thread_id, turns in (("routes-both", (0, 0)), ("routes-all", (0, 1, 2))):
        for turn in turns:
            graph.invoke({"log": [], "n": turn}, on(thread_id))
        yield thread_id, graph


@scenario
def functional(saver: BaseCheckpointSaver[Any]) -> Threads:
    """The functional API: tasks, a question, an answer, what is kept for the next call, a failure."""

    @task
    def double(number: int) -> int:
        return number * 2

    @entrypoint(checkpointer=saver)
    def flow(numbers: list[int], *, previous: Any = None) -> Any:
        total = sum(future.result() for future in [double(n) for n in numbers])
        if total < 0:
            raise ValueError("negative")
        answer = interrupt({"sum": total}) if total > 10 else "small"
        return entrypoint.final(value={"sum": total, "answer": answer}, save=(previous or 0) + total)

    flow.invoke([1, 2], on("flow"))
    flow.invoke([10], on("flow"))
    flow.invoke(Command(resume="fine"), on("flow"))
    flow.invoke([20], on("flow"))
    yield "flow", flow
    flow.invoke([6], on("flow-waiting"))
    yield "flow-waiting", flow
    with contextlib.suppress(ValueError):
        flow.invoke([-1], on("flow-failed"))
    yield "flow-failed", flow


@scenario
def deferred(saver: BaseCheckpointSaver[Any]) -> Threads:
    """A deferred node waits until nothing else runs; a join of a short and a long way.

    Saved at once: in the background the library saves a join as it is when the next step has changed it already.
    """
    builder = StateGraph(Bag)
    for name in ("a", "b", "b2", "c", "both"):
        builder.add_node(name, says(name))
    builder.add_node("last", says("last"), defer=True)
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    builder.add_edge("b", "b2")
    builder.add_edge("a", "c")
    builder.add_edge("c", "last")
    builder.add_edge("b2", "last")
    builder.add_edge(["b2", "c"], "both")
    builder.add_edge("both", "last")
    graph = builder.compile(checkpointer=saver)
    graph.invoke({"log": []}, on("deferred"), durability="sync")
    graph.invoke({"log": []}, on("deferred"), durability="sync")
    yield "deferred", graph
    stopped = builder.compile(checkpointer=saver, interrupt_before=["last"])
    stopped.invoke({"log": []}, on("deferred-stopped"), durability="sync")
    yield "deferred-stopped", stopped


@scenario
def root_state(saver: BaseCheckpointSaver[Any]) -> Threads:
    """A state that is no dict: one channel called ``__root__``."""
    builder = StateGraph(Annotated[list, operator.add])
    builder.add_node("a", lambda s: ["a"])
    builder.add_edge(START, "a")
    graph = builder.compile(checkpointer=saver)
    graph.invoke(["in"], on("root"))
    yield "root", graph


@scenario
def bare_pregel(saver: BaseCheckpointSaver[Any]) -> Threads:
    """Nodes that subscribe to channels of any name, without a StateGraph."""
    one = NodeBuilder().subscribe_only("a").do(lambda x: x + "!").write_to("b")
    two = NodeBuilder().subscribe_only("b").do(lambda x: x + "?").write_to("c")
    channels = {"a": EphemeralValue(str), "b": LastValue(str), "c": LastValue(str)}
    graph = Pregel(
        nodes={"one": one, "two": two},
        channels=channels,
        input_channels=["a"],
        output_channels=["c"],
        checkpointer=saver,
    )
    graph.invoke({"a": "x"}, on("bare"))
    graph.invoke({"a": "y"}, on("bare"))
    yield "bare", graph
