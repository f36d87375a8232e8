"""What langgraph 0.6 does not have yet: delta channels, and handlers of errors."""

from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import _messages_delta_reducer
from langgraph.types import Overwrite, interrupt

from tests.graphs.building import Bag, Threads, line, on, says, scenario


@scenario
def handled_errors(saver: BaseCheckpointSaver[Any]) -> Threads:
    """A failed node whose handler mends it, and one whose handler asks."""

    def broken(state: Bag) -> dict[str, Any]:
        raise ValueError("handled")

    for thread_id, handler in (("handled", says("mended")), ("handled-asks", lambda s: {"log": [interrupt("mend?")]})):
        builder = StateGraph(Bag)
        builder.add_node("bad", broken, error_handler=handler)
        builder.add_node("next", says("next"))
        builder.add_edge(START, "bad")
        builder.add_edge("bad", "next")
        graph = builder.compile(checkpointer=saver)
        graph.invoke({"log": []}, on(thread_id))
        yield thread_id, graph


def _extend(current: list[Any], writes: list[list[Any]]) -> list[Any]:
    return [*current, *(item for write in writes for item in write)]


class Deltas(TypedDict, total=False):
    log: Annotated[list[Any], DeltaChannel(_extend, snapshot_frequency=4)]
    n: int


class DeltaChat(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer, snapshot_frequency=5)]


@scenario
def deltas(saver: BaseCheckpointSaver[Any]) -> Threads:
    """Delta channels: snapshots, a fork, an Overwrite, parallel writers, one checkpoint a run, messages."""
    reset = {"two": lambda s: {"log": Overwrite(["reset"])} if len(s["log"]) > 12 else {"log": ["two"]}}
    graph = line(saver, "one", "two", schema=Deltas, nodes=reset)
    for turn in range(6):
        graph.invoke({"log": [f"in-{turn}"], "n": turn}, on("delta"))
    history = [state.config for state in graph.get_state_history(on("delta"))]
    graph.invoke(None, graph.update_state(history[7], {"log": ["forked"]}, as_node="one"))
    yield "delta", graph
    builder = StateGraph(Deltas)
    for name in "abc":
        builder.add_node(name, says(name))
        builder.add_edge(START, name)
    wide = builder.compile(checkpointer=saver)
    for turn in range(2):
        wide.invoke({"log": [turn]}, on("delta-wide"))
        wide.invoke({"log": [turn]}, on("delta-exit"), durability="exit")
    yield "delta-wide", wide
    yield "delta-exit", wide
    talk = line(
        saver,
        "bot",
        schema=DeltaChat,
        nodes={"bot": lambda s: {"messages": AIMessage("so", id=f"{len(s['messages'])}")}},
    )
    for turn in range(5):
        talk.invoke({"messages": [HumanMessage(f"q{turn}")]}, on("delta-chat"))
    talk.update_state(
        on("delta-chat"), {"messages": [RemoveMessage(id="1"), AIMessage("better", id="3")]}, as_node="bot"
    )
    yield "delta-chat", talk
