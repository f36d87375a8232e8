"""Threads on which a Command's goto is pending, made and run on by any release: ``python -m … make|run DATABASE``.

Neither ckpt nor pytest is imported here, because older releases run in virtual environments of their own.
"""

import json
import operator
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, interrupt

Graph = Any
ROUTES = {3: "b", 4: "late", 7: "c"}
"""The node that runs after `a`, by the number that a thread begins with."""


class Bag(TypedDict, total=False):
    n: Annotated[int, operator.add]
    log: Annotated[list[str], operator.add]


class CancelledRunError(BaseException):
    """Ends a run as a cancellation does."""


class Mood:
    """What nodes do in this process: which ask or fail, and which have run."""

    def __init__(self) -> None:
        self.asks, self.fails, self.ran = set[str](), set[str](), list[str]()
        self.kill = False

    def node(self, name: str) -> Callable[[Any], dict[str, Any]]:
        """A node that fails or asks if its name is among those that do."""

        def run(state: Any) -> dict[str, Any]:
            full = f"{name}{state['worker']}" if "worker" in state else name
            self.ran.append(full)
            if self.kill and name == "b":
                raise CancelledRunError
            if full in self.fails:
                raise ValueError(full)
            return {"log": [interrupt(f"{full}?")] if full in self.asks else [full]}

        return run


def on(thread_id: str) -> Any:
    """The config of a thread."""
    return {"configurable": {"thread_id": thread_id}}


def build(saver: Any, mood: Mood, **options: Any) -> Graph:
    """A graph whose nodes b, d, late and work end it; `late` is deferred in releases that can do so."""
    builder = StateGraph(Bag)
    for name in ("a", "b", "c", "d", "w"):
        builder.add_node(name, mood.node(name))
    defer = {"defer": True} if "defer" in StateGraph.add_node.__code__.co_varnames else {}
    builder.add_node("late", mood.node("late"), **defer)
    builder.add_edge(START, "a")
    builder.add_conditional_edges("a", route, ["b", "c", "late", "w", END])
    return builder.compile(checkpointer=saver, **options)


def route(state: Any) -> Any:
    """The nodes after `a`, by what the state began with; 9 starts workers."""
    if state["n"] == 9:
        return [Send("w", {"worker": number}) for number in (1, 2)]
    return ROUTES.get(state["n"], END)


GOTOS: dict[str, tuple[int, Any, set[str], set[str]]] = {
    "asks": (1, Command(goto="b"), {"b"}, set()),
    "fails": (1, Command(goto="b"), set(), {"b"}),
    "fails with values": (1, Command(goto="b", update={"n": 100}), set(), {"b"}),
    "fails beside a question": (7, Command(goto="b", update={"n": 50}), {"c"}, {"b"}),
    "finished beside a question": (7, Command(goto="d"), {"c"}, set()),
    "two nodes": (1, Command(goto=["b", "d"]), {"b", "d"}, set()),
    "a Send asks": (1, Command(goto=[Send("w", {"worker": 1}), Send("w", {"worker": 2})]), {"w2"}, set()),
    "Sends are replaced": (9, Command(goto=[Send("w", {"worker": 3})]), {"w2", "w3"}, set()),
    "another node instead of Sends": (9, Command(goto=[Send("b", {"n": 3})]), {"w1", "w2", "b"}, set()),
    "a node beside Sends": (9, Command(goto="b"), {"w2"}, {"b"}),
    "the end": (1, Command(goto=END, update={"log": ["x"]}), set(), set()),
    "it ran before": (3, Command(goto="b"), {"b"}, set()),
}
"""Thread to the number that it begins with, its Command, and the nodes that ask and fail in the Command's run."""

KILLED = {"killed in a known node": 3, "killed in a node's first run": 1}
"""Threads whose run ended in b, to which a goto leads, so that b left nothing; b has run before, or never."""

DEFERRED = {"a deferred node": 4, "a deferred node that never ran": 1}
"""Threads with a goto of a deferred node, which starts nothing."""


def make(saver: Any) -> None:
    """Make every thread."""
    mood = Mood()
    for thread_id, (number, command, asks, fails) in GOTOS.items():
        mood.asks, mood.fails = asks - {"b", "d"}, set()
        graph = build(saver, mood)
        graph.invoke({"n": number}, on(thread_id))
        mood.asks, mood.fails = asks, fails
        with suppress(ValueError):
            graph.invoke(command, on(thread_id))
    mood.asks, mood.fails = set(), set()
    for thread_id, number in KILLED.items():
        mood.kill = False
        build(saver, mood).invoke({"n": number}, on(thread_id))
        mood.kill = True
        with suppress(CancelledRunError):
            build(saver, mood).invoke(Command(goto="b"), on(thread_id))
    for thread_id, number in DEFERRED.items():
        build(saver, mood).invoke({"n": number}, on(thread_id))
        build(saver, mood).invoke(Command(goto="late"), on(thread_id))


def run_on(saver: Any) -> dict[str, list[str]]:
    """Thread to the nodes that its next run without an input starts."""
    mood = Mood()
    started = {}
    for thread_id in [*GOTOS, *KILLED, *DEFERRED]:
        mood.ran = []
        build(saver, mood).invoke(None, on(thread_id))
        started[thread_id] = sorted(mood.ran)
    return started


def end(saver: Any) -> dict[str, Any]:
    """Thread to what is next after the library's own update as END, and the nodes that a run then starts."""
    mood = Mood()
    ended = {}
    for thread_id in [*GOTOS, *KILLED, *DEFERRED]:
        mood.ran, graph = [], build(saver, mood)
        graph.update_state(on(thread_id), None, as_node=END)
        state = graph.get_state(on(thread_id))
        graph.invoke(None, on(thread_id))
        ended[thread_id] = {"next": sorted(state.next), "values": state.values, "ran": sorted(mood.ran)}
    return ended


if __name__ == "__main__":
    with closing(sqlite3.connect(sys.argv[2], check_same_thread=False)) as database:
        json.dump({"make": make, "run": run_on, "end": end}[sys.argv[1]](SqliteSaver(database)), sys.stdout)
