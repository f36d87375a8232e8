"""Agents that ask a person: LangChain's middleware with a scripted model, older HumanInterrupts, plain questions.

``python -m tests.graphs.human_in_the_loop FILE`` makes the database of which ``tests/data/hitl.sqlite.gz`` is a copy.
"""

import operator
import sqlite3
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, TypedDict
from unittest.mock import patch

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt.interrupt import ActionRequest, HumanInterrupt, HumanInterruptConfig
from langgraph.types import Send, interrupt

from tests.graphs.waiting import until_stored

Saver = BaseCheckpointSaver[str]
Call = tuple[str, dict[str, Any]]

RAN: list[tuple[str, dict[str, Any]]] = []
"""The tools that ran in this process, with their arguments."""

DELETE: Call = ("delete_user", {"name": "bob"})
BODY = "Dear Bob,\n\n" + "we looked everywhere, and your order is lost. " * 9 + "\n\nYours, support"
MAIL: Call = ("send_email", {"to": "bob@example.org", "body": BODY})
CAREFUL = {"allowed_decisions": ["approve", "reject"]}
ASK = {"allowed_decisions": ["respond"]}


class Scripted(GenericFakeChatModel):
    """A model that says what its script says, whatever tools it has."""

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self


@tool
def delete_user(name: str) -> str:
    """Delete a user."""
    RAN.append(("delete_user", {"name": name}))
    return f"deleted {name}"


@tool
def send_email(to: str, body: str, copies: int = 0) -> str:
    """Send an e-mail."""
    RAN.append(("send_email", {"to": to, "body": body, **({"copies": copies} if copies else {})}))
    return f"sent to {to}"


def agent(saver: Saver | None, mode: str, interrupt_on: dict[str, Any], calls: Sequence[Call]) -> Any:
    """An agent whose model makes these calls at once, and then ends; tools in `interrupt_on` need an answer."""
    tool_calls = [{"name": name, "args": args, "id": f"call_{at}"} for at, (name, args) in enumerate(calls)]
    script = iter([AIMessage("", tool_calls=tool_calls, id="run-1"), AIMessage("all done", id="run-2")])
    middleware = HumanInTheLoopMiddleware(interrupt_on, interrupt_mode=mode)  # type: ignore[arg-type]
    return create_agent(
        Scripted(messages=script), [delete_user, send_email], middleware=[middleware], checkpointer=saver
    )


def nested(saver: Saver) -> Any:
    """A graph with such an agent as a subgraph."""
    inner = agent(None, "per_call", {"delete_user": True}, [DELETE])
    graph = StateGraph(Messages)
    graph.add_node("helper", inner)
    graph.add_edge(START, "helper")
    graph.add_edge("helper", END)
    return graph.compile(checkpointer=saver)


class Messages(TypedDict, total=False):
    messages: Annotated[list[Any], operator.add]


class State(TypedDict, total=False):
    answers: Annotated[list[Any], operator.add]
    ask: Any


def asking(saver: Saver, *values: Any, schema: Any = None) -> Any:
    """A graph that asks each of `values` in a task of its own, and then keeps the answers in `answers`."""

    def ask(state: State) -> State:
        return {"answers": [interrupt(state["ask"], response_schema=schema)]}

    graph = StateGraph(State)
    graph.add_node("ask", ask)
    graph.add_conditional_edges(START, lambda _: [Send("ask", {"ask": value}) for value in values])
    graph.add_edge("ask", END)
    return graph.compile(checkpointer=saver)


def older(*allowed: str, tool: str = "run_command", args: dict[str, Any] | None = None) -> HumanInterrupt:
    """A request in the form of langgraph's prebuilt ``HumanInterrupt``."""
    with warnings.catch_warnings():  # the classes are deprecated; databases have what they made
        warnings.simplefilter("ignore")
        return HumanInterrupt(
            action_request=ActionRequest(action=tool, args={"command": "ls"} if args is None else args),
            config=HumanInterruptConfig(
                allow_ignore="ignore" in allowed,
                allow_respond="response" in allowed,
                allow_edit="edit" in allowed,
                allow_accept="accept" in allowed,
            ),
            description="Please look at this command first",
        )


def on(thread_id: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread_id}}


def failing(saver: Saver) -> Any:
    """A graph whose one task fails beside one that finishes."""

    def broken(_: State) -> State:
        until_stored(saver)
        raise TimeoutError("crm")

    graph = StateGraph(State)
    graph.add_node("broken", broken)
    graph.add_node("fine", lambda _: {"answers": ["fine"]})
    for node in ("broken", "fine"):
        graph.add_edge(START, node)
    return graph.compile(checkpointer=saver)


BOTH = [DELETE, MAIL]
HOSTILE = "\x1b]0;owned\x07\x1b[2J"
THREADS: dict[str, tuple[Callable[[Saver], Any], dict[str, Any]]] = {
    "one": (lambda s: agent(s, "batched", {"delete_user": True}, [DELETE]), {"messages": [HumanMessage("go", id="h")]}),
    "two": (
        lambda s: agent(s, "batched", {"delete_user": CAREFUL, "send_email": True}, BOTH),
        {"messages": [HumanMessage("remove bob and tell him", id="h")]},
    ),
    "each": (
        lambda s: agent(s, "per_call", {"delete_user": CAREFUL, "send_email": True}, BOTH),
        {"messages": [HumanMessage("remove bob and tell him", id="h")]},
    ),
    "ask-user": (
        lambda s: agent(s, "per_call", {"delete_user": ASK}, [DELETE]),
        {"messages": [HumanMessage("whom?", id="h")]},
    ),
    "older": (lambda s: asking(s, [older("accept", "edit", "response", "ignore")]), {"answers": []}),
    "older-bare": (lambda s: asking(s, older("accept", "ignore")), {"answers": []}),
    "plain": (lambda s: asking(s, {"question": "Ship it?", "draft": BODY}), {"answers": []}),
    "hostile": (
        lambda s: asking(s, [older("accept", tool=f"rm {HOSTILE}", args={HOSTILE: HOSTILE})]),
        {"answers": []},
    ),
    "failed": (failing, {"answers": []}),
}


def play(saver: Saver) -> None:
    """Every thread up to its question."""
    for thread_id, (build, given) in THREADS.items():
        try:
            build(saver).invoke(given, on(thread_id))
        except TimeoutError:
            assert thread_id == "failed"


if __name__ == "__main__":
    late = time.time_ns() - 1_795_252_000 * 10**9  # so that the ids are a little older than `tests.golden.NOW`
    now = time.time_ns
    with (
        closing(sqlite3.connect(Path(sys.argv[1]), check_same_thread=False)) as connection,
        patch.object(time, "time_ns", lambda: now() - late),
    ):
        play(SqliteSaver(connection))
        connection.execute("PRAGMA journal_mode=DELETE")
