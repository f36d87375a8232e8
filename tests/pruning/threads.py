"""Threads of random graphs: delta channels, subgraphs at two levels, Sends, questions, failures, forks, copies."""

from collections.abc import Callable
from contextlib import suppress
from operator import add
from random import Random
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.channels import DeltaChannel
from langgraph.errors import EmptyInputError
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send, interrupt

from tests.graphs import Graph
from tests.graphs.building import on

LONG = 1_000
"""Items of a list after which a thread gets no further turn: subgraphs with their own memory multiply what they get."""


class Down(Exception):
    """A node fails with it."""


def _joined(old: list[str], writes: list[list[str]]) -> list[str]:
    return [*old, *(item for write in writes for item in write)]


class State(TypedDict, total=False):
    """A channel of each kind that a graph reads back: folded, replaced, messages, and one that is rebuilt."""

    log: Annotated[list[str], add]
    last: str
    said: Annotated[list[AnyMessage], add_messages]
    seq: Annotated[list[str], DeltaChannel(_joined, snapshot_frequency=4)]


Node = Callable[[Any], dict[str, Any]]


def _node(dice: Random, name: str, *, alone: bool, deltas: bool) -> Node:
    asks, fails = dice.random() < 0.2, dice.random() < 0.1
    dice = Random(dice.random())  # its own, for nodes run side by side

    def run(_: Any) -> dict[str, Any]:
        written: dict[str, Any] = {"log": [name]}
        if deltas and dice.random() < 0.6:
            written["seq"] = [f"{name} {dice.randrange(100)}"]
        if dice.random() < 0.3:
            written["said"] = [AIMessage(name, id=f"{name} {dice.random()}")]
        if alone:
            written["last"] = name
        if asks:
            written["log"] = [f"{name} {interrupt(f'{name}?')}"]
        if fails and dice.random() < 0.4:
            raise Down(name)
        return written

    return run


def _inner(dice: Random, depth: int, *, deltas: bool) -> Graph:
    """A subgraph; every other one remembers its own state from call to call."""
    builder, before = StateGraph(State), START
    for place in range(dice.randint(1, 3)):
        name = f"in{depth}{place}"
        is_graph = depth < 2 and dice.random() < 0.4
        node = _node(dice, name, alone=True, deltas=deltas)
        builder.add_node(name, _inner(dice, depth + 1, deltas=deltas) if is_graph else node)
        builder.add_edge(before, name)
        before = name
    return builder.compile(checkpointer=True if depth == 1 and dice.random() < 0.5 else None)


def random_graph(dice: Random, saver: Any) -> Graph:
    """A line of nodes, pairs of them and a subgraph, with a fan-out at the end; every other one has a delta channel."""
    builder, deltas = StateGraph(State), dice.random() < 0.5
    before, inner_at = [START], dice.randrange(4)
    for place in range(dice.randint(2, 4)):
        names = [f"side{place}{half}" for half in "ab"] if dice.random() < 0.5 else [f"node{place}"]
        for name in names:
            if place == inner_at and len(names) == 1:
                builder.add_node(name, _inner(dice, 1, deltas=deltas))
            else:
                builder.add_node(name, _node(dice, name, alone=len(names) == 1, deltas=deltas))
            for one in before:
                builder.add_edge(one, name)
        before = names
    builder.add_node("work", lambda sent: {"log": [f"work {sent['i']}"]})
    sends = [Send("work", {"i": i}) for i in range(dice.randint(0, 3))]
    builder.add_conditional_edges(before[0], lambda _: sends, ["work"])
    return builder.compile(checkpointer=saver)


def play(dice: Random, graph: Graph, thread_id: str) -> None:
    """Turns, answers to some or all questions, updates, forks, copies and replays, with every durability."""
    for turn in range(dice.randint(3, 9)):
        state = graph.get_state(on(thread_id))
        if len(state.values.get("log", ())) > LONG:
            break
        given: Any = {"log": [f"in {turn}"]}
        if state.interrupts:
            answered = dice.sample(state.interrupts, dice.randint(1, len(state.interrupts)))
            given = Command(resume={one.id: "yes" for one in answered})
        elif state.next and dice.random() < 0.7:
            given = None
        _run(graph, given, on(thread_id), dice.choice(["sync", "async", "exit", "sync", "sync"]))
        if dice.random() < 0.25:
            _branch_off(dice, graph, thread_id)


def _run(graph: Graph, given: Any, config: Any, durability: str) -> None:
    with suppress(Down, EmptyInputError):  # a copy of the checkpoint before an input has none
        graph.invoke(given, config, durability=durability)


def _branch_off(dice: Random, graph: Graph, thread_id: str) -> None:
    own = [one for one in graph.get_state_history(on(thread_id)) if not one.config["configurable"]["checkpoint_ns"]]
    at = dice.choice(own).config
    way = dice.randrange(3)
    if way == 0:
        graph.update_state(at, {"log": ["by hand"]}, as_node="work")
    elif way == 1:
        graph.update_state(at, None, as_node="__copy__")
    else:
        _run(graph, None, at, "sync")
