"""Graphs of many kinds that run under a tracer; each gives its tracers, the outer graph's first."""

import contextlib
import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

from langgraph.func import task
from langgraph.graph import END, START
from langgraph.types import Command, Send, interrupt

from tests.graphs.building import on
from tests.graphs.traced import Traced
from tests.graphs.waiting import until_stored

Saver = Any


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    n: int
    ok: bool


def says(name: str, **more: Any) -> Callable[[Any], dict[str, Any]]:
    return lambda _: {"log": [name], **more}


def loop(saver: Saver) -> list[Traced]:
    """A loop with a conditional edge, in two turns of one thread, and a second thread."""
    one = Traced(State)
    one.node("model", lambda s: {"log": ["model"], "n": s["n"] - 1})
    one.node("tools", says("tools"))
    one.edge(START, "model")
    one.route("model", lambda s: "tools" if s["n"] > 0 else END, ["tools", END])
    one.edge("tools", "model")
    made = one.builder.compile(checkpointer=saver)
    for thread_id, n in (("a", 4), ("a", 1), ("b", 2)):
        one.start()
        made.invoke({"n": n}, on(thread_id))
    return [one]


def sends(saver: Saver) -> list[Traced]:
    """Sends to two nodes, from a conditional edge and from a Command; long arguments."""
    one = Traced(State)
    one.node("split", lambda _: Command(goto=[Send("work", {"n": i}) for i in range(12)]))
    one.node("work", lambda s: {"log": [f"{s['n']}"]})
    one.node("check", says("check"))
    one.node("audit", says("audit"))
    one.edge(START, "split")
    one.edge("work", "check")
    one.route("check", lambda s: [Send("audit", {"text": "x" * 9000}), Send("audit", {})], ["audit"])
    one.start()
    one.builder.compile(checkpointer=saver).invoke({}, on("a"))
    return [one]


def joins(saver: Saver) -> list[Traced]:
    """An edge that waits for a short way and a long one; two nodes in one step that lead to different nodes."""
    one = Traced(State)
    for name in ("plan", "left", "right", "far", "both", "last"):
        one.node(name, says(name))
    one.edge(START, "plan")
    one.edge("plan", "left")
    one.edge("plan", "right")
    one.edge("right", "far")
    one.edge(["left", "far"], "both")
    one.edge("left", "last")
    one.start()
    one.builder.compile(checkpointer=saver).invoke({}, on("a"), durability="sync")
    return [one]


def gotos(saver: Saver) -> list[Traced]:
    """Command(goto=…) to a node, to several, to a Send and to the end."""
    one = Traced(State)

    def router(state: Any) -> Command[Any]:
        turn = state.get("n", 0)
        goto: Any = ["left", Send("right", {})] if turn == 0 else "left" if turn == 1 else END
        return Command(goto=goto, update={"n": turn + 1})

    one.node("router", router, destinations=("left", "right", END))
    one.node("left", lambda _: Command(goto="router"), destinations=("router",))
    one.node("right", says("right"))
    one.edge(START, "router")
    one.start()
    one.builder.compile(checkpointer=saver).invoke({}, on("a"))
    return [one]


def subgraphs(saver: Saver) -> list[Traced]:
    """A subgraph that is called twice, with a subgraph inside."""
    deepest, inner, outer = Traced(State, "sub|deep"), Traced(State, "sub"), Traced(State)
    deepest.node("leaf", says("leaf"))
    deepest.edge(START, "leaf")
    leaf = deepest.builder.compile()

    def deep(state: Any) -> Any:
        deepest.start()
        return {"n": leaf.invoke(state).get("n", 0)}

    inner.node("deep", deep)
    inner.node("after", says("after"))
    inner.edge(START, "deep")
    inner.edge("deep", "after")
    nested = inner.builder.compile()

    def sub(state: Any) -> Any:
        inner.start()
        return {"n": nested.invoke(state).get("n", 0) + 1}

    outer.node("sub", sub)
    outer.edge(START, "sub")
    outer.route("sub", lambda s: "sub" if s["n"] < 2 else END, ["sub", END])
    outer.start()
    outer.builder.compile(checkpointer=saver).invoke({"n": 0}, on("a"))
    return [outer, inner, deepest]


def questions(saver: Saver) -> list[Traced]:
    """A question with a finished sibling, answered in one thread and open in the other; a stop before a node."""
    one = Traced(State)
    one.node("draft", says("draft"))
    one.node("ask", lambda _: {"log": [interrupt("fine?")]})
    one.node("side", says("side"))
    one.node("send", says("send"))
    one.edge(START, "draft")
    one.edge("draft", "ask")
    one.edge("draft", "side")
    one.edge(["ask", "side"], "send")
    made = one.builder.compile(checkpointer=saver, interrupt_before=["send"])
    for thread_id in ("open", "answered"):
        one.start()
        made.invoke({}, on(thread_id))
    made.invoke(Command(resume="yes"), on("answered"))
    made.invoke(None, on("answered"))
    return [one]


def errors(saver: Saver) -> list[Traced]:
    """A node fails beside one that finished, and runs again."""
    one = Traced(State)

    def bad(state: Any) -> Any:
        if not state.get("ok"):
            until_stored(saver)
            raise ValueError("no")
        return {}

    one.node("plan", says("plan"))
    one.node("bad", bad)
    one.node("good", says("good"))
    one.node("end", says("end"))
    one.edge(START, "plan")
    one.edge("plan", "bad")
    one.edge("plan", "good")
    one.edge(["bad", "good"], "end")
    made = one.builder.compile(checkpointer=saver)
    one.start()
    with contextlib.suppress(ValueError):
        made.invoke({}, on("a"), durability="sync")
    with contextlib.suppress(ValueError):
        made.invoke(None, on("a"), durability="sync")
    one.failed["bad"] = 1  # the second failure replaces the first one in the database
    return [one]


def forks(saver: Saver) -> list[Traced]:
    """Updates as a node, on the head and on an older checkpoint, each with a run after it; runs from a copy."""
    one = Traced(State)
    one.node("triage", lambda s: {"log": ["triage"]})
    one.node("answer", says("answer"))
    one.node("refund", says("refund"))
    one.edge(START, "triage")
    one.route("triage", lambda s: "refund" if s.get("n") else "answer", ["answer", "refund"])
    one.edge("answer", END)
    made = one.builder.compile(checkpointer=saver)
    one.start()
    made.invoke({}, on("a"))
    older = [state for state in made.get_state_history(on("a")) if state.next == ("answer",)]
    with one.updating():
        fork = made.update_state(older[0].config, {"n": 1}, as_node="triage")
    made.invoke(None, fork)
    with one.updating():
        made.update_state(on("a"), {"n": 0}, as_node="triage")
    made.invoke(None, on("a"))
    return [one]


def conditional_start(saver: Saver) -> list[Traced]:
    """A conditional entry, and a node without a way and without a write."""
    one = Traced(State)
    one.node("short", lambda _: None)
    one.node("long", says("long"))
    one.route(START, lambda s: "long" if s["n"] else "short", ["long", "short"])
    one.edge("long", "short")
    made = one.builder.compile(checkpointer=saver)
    for n in (0, 1, 1):
        made.invoke({"n": n}, on("a"))
    return [one]


@task
def shout(word: str) -> str:
    """A ``@task`` function, which a node of a StateGraph may call too."""
    return word.upper()


def calls(saver: Saver) -> list[Traced]:
    """A node that calls a ``@task``, beside one that calls none and one after both."""
    one = Traced(State)
    one.node("caller", lambda _: {"log": [shout("a").result(), shout("b").result()]})
    one.node("beside", says("beside"))
    one.node("last", says("last"))
    one.edge(START, "caller")
    one.edge(START, "beside")
    one.edge(["caller", "beside"], "last")
    made = one.builder.compile(checkpointer=saver)
    for _ in range(2):
        one.start()
        made.invoke({}, on("a"))
    return [one]


KINDS = [loop, sends, joins, gotos, subgraphs, questions, errors, forks, conditional_start, calls]
