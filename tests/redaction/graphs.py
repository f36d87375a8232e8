"""Real graphs that store a secret at every place of `places`."""

import operator
from typing import Annotated, Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt

from tests.redaction.places import VALUES, secret

Saver = BaseCheckpointSaver[Any]

FAILS, FLOW = "fails", "flow"


def run_all(saver: Saver) -> list[str]:
    """Run the graphs, and return the ids of their threads."""
    return [_run_main(saver), _run_failing(saver), _run_functional(saver)]


def _config(thread_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id, "user_id": secret("an entry of the metadata")}}


def _run_main(saver: Saver) -> str:
    thread_id = "thread of " + secret("the thread's id")
    config: RunnableConfig = {
        "configurable": {"thread_id": thread_id, secret("a key of the metadata"): "x"},
        "metadata": {
            "user": secret("an entry of the metadata"),
            "session": secret("the metadata's thread") + " 1",
            "labels": secret("the run's label"),
        },
    }
    graph = _main_graph(saver)
    graph.invoke({"given": secret("the input")}, config)
    graph.update_state(config, {"given": secret("an update")}, as_node="fill")
    graph.invoke(None, config)
    graph.invoke(Command(resume={secret("an answer's key"): secret("an answer")}), config)
    return thread_id


def _main_graph(saver: Saver) -> Any:
    fields = {
        "given": str,
        "box": Annotated[dict[str, Any], operator.or_],
        "single": Any,
        "short": str,
        "log": Annotated[list[Any], operator.add],
        secret("a channel"): str,
        secret("a number's channel"): int,
        "shared": str,
    }
    state = TypedDict("state", fields)  # type: ignore[misc]
    named, called, joined, sub = map(secret, ("a node", "a node that a Send calls", "a join's node", "a subgraph"))

    def fill(_: Any) -> dict[str, Any]:
        made = {place: one.make(secret(place)) for place, one in VALUES.items()}
        return {"box": made, "short": secret("a short text"), secret("a channel"): "x", secret("a number's channel"): 1}

    def fan(_: Any) -> list[Send]:
        return [Send(called, {"who": secret("a Send's argument")}), Send(called, {"who": 2})]

    def work(given: Any) -> dict[str, Any]:
        return {"log": [given["who"]]}

    def ask(_: Any) -> dict[str, Any]:
        return {"log": [interrupt({secret("a question's key"): secret("a question")})]}

    builder: Any = StateGraph(state)
    builder.add_node("fill", fill)
    builder.add_node(named, lambda _: {"log": [1]})
    builder.add_node(called, work)
    builder.add_node(joined, lambda _: {"log": [2]})
    builder.add_node(sub, _subgraph())
    builder.add_node("ask", ask)
    builder.add_node("last", lambda _: Command(goto=Send("stop", {"who": secret("a pending Send's argument")})))
    builder.add_node("stop", lambda given: {"log": [interrupt(1)]})
    builder.add_edge(START, "fill")
    builder.add_edge("fill", named)
    builder.add_edge("fill", joined)
    builder.add_conditional_edges(named, fan, [called])
    builder.add_edge([named, joined], sub)
    builder.add_edge(sub, "ask")
    builder.add_edge("ask", "last")
    return builder.compile(saver)


def _subgraph() -> Any:
    inside = TypedDict("inside", {"shared": str, secret("a channel inside"): str, "box": dict[str, Any]})  # type: ignore[misc]
    builder: Any = StateGraph(inside)
    builder.add_node("inner", lambda _: {"shared": secret("a subgraph's state"), secret("a channel inside"): "x"})
    builder.add_node("second", lambda _: {"shared": secret("a subgraph's state")})
    builder.add_edge(START, "inner")
    builder.add_edge("inner", "second")
    return builder.compile()


def _run_failing(saver: Saver) -> str:
    failure = type("F" + secret("an error's class"), (Exception,), {})

    def fail(_: Any) -> Any:
        raise failure("no user " + secret("an error"))

    builder: Any = StateGraph(dict)
    builder.add_node("fail", fail)
    builder.add_edge(START, "fail")
    try:
        builder.compile(saver).invoke({"a": 1}, _config(FAILS))
    except failure:
        return FAILS
    raise AssertionError("it didn't fail")


def _run_functional(saver: Saver) -> str:
    @task(name=secret("a task's name"))
    def work(given: str) -> str:
        return secret("a task's result")

    @entrypoint(saver)
    def flow(given: str, *, previous: Any = None) -> Any:
        done = work(given).result()
        if given == "again":
            interrupt(secret("a functional question"))
        return entrypoint.final(value=done, save=[secret("the saved result")])

    flow.invoke(secret("a functional input"), _config(FLOW))
    flow.invoke("again", _config(FLOW))
    return FLOW
