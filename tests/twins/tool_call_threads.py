"""Threads with every shape of tool calls, made and carried on by any release: ``python -m … make|go-on DATABASE``.

Neither ckpt nor pytest is imported here, because older releases run in virtual environments of their own.
"""

import json
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

from tests.history.strict_models import RefusedError, chat_completions
from tests.history.tool_call_shapes import OBJECTS, SHAPES

Graph = Any
ANSWER = "the run was cancelled"
DUE, WAITING, ANSWERED = LEFT_ALONE = "tools are due", "a question is open", "an answer is recorded"


class Talk(TypedDict, total=False):
    messages: Annotated[list[Any], add_messages]
    items: list[Any]


class CancelledRunError(BaseException):
    """Ends a run as a cancellation does."""


def on(thread_id: str) -> Any:
    """The config of a thread."""
    return {"configurable": {"thread_id": thread_id}}


def shaped(saver: Any, name: str, *, makes: bool = False) -> Graph:
    """An agent whose model is the judge of a shape, or that writes the shape."""
    judge = SHAPES[name].judge if name in SHAPES else chat_completions

    def agent(state: Talk) -> Any:
        if makes:
            return {"messages" if name in OBJECTS else "items": SHAPES[name].messages}
        judge(state["items"] if name in SHAPES and name not in OBJECTS else state["messages"])
        return {"messages": [AIMessage("ok")]}

    builder = StateGraph(Talk)
    builder.add_node("agent", agent)
    builder.add_edge(START, "agent")
    builder.add_edge("agent", END)
    return builder.compile(checkpointer=saver)


def tooled(saver: Any, *, cancelled: bool = False, asks: bool = False) -> Graph:
    """An agent that calls a tool once."""

    def agent(state: Talk) -> Any:
        chat_completions(state["messages"])
        if isinstance(state["messages"][-1], ToolMessage):
            return {"messages": [AIMessage("ok")]}
        return {"messages": [AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "c1"}])]}

    def tools(_: Talk) -> Any:
        if cancelled:
            raise CancelledRunError
        if asks:
            interrupt("may it run?")
        return {"messages": [ToolMessage("done", tool_call_id="c1")]}

    builder = StateGraph(Talk)
    builder.add_node("agent", agent)
    builder.add_node("tools", tools)
    builder.add_edge(START, "agent")
    ends: Callable[[Talk], str] = lambda state: "tools" if state["messages"][-1].tool_calls else END  # noqa: E731
    builder.add_conditional_edges("agent", ends, ["tools", END])
    builder.add_edge("tools", "agent")
    return builder.compile(checkpointer=saver)


def make(saver: Any) -> None:
    """A thread for each shape, and one for each reason to leave a thread alone."""
    for name in SHAPES:
        for makes in (False, True):
            shaped(saver, name, makes=makes).invoke({"messages": [HumanMessage("hi")], "items": []}, on(name))
    for name in LEFT_ALONE:
        graph = tooled(saver, cancelled=name == DUE, asks=name != DUE)
        with suppress(CancelledRunError):
            graph.invoke({"messages": [HumanMessage("f?")]}, on(name))


def go_on(saver: Any) -> dict[str, str]:
    """How each thread's next run ends: the last message, or "refused"."""
    ends = {}
    for name in SHAPES:
        try:
            state = shaped(saver, name).invoke({"messages": [HumanMessage("and now?")]}, on(name))
            ends[name] = state["messages"][-1].content
        except RefusedError:
            ends[name] = "refused"
    for name in LEFT_ALONE:
        state = tooled(saver, asks=name != DUE).invoke(Command(resume=True) if name == WAITING else None, on(name))
        ends[name] = state["messages"][-1].content
    return ends


def lists(saver: Any) -> dict[str, Any]:
    """What each thread's messages say and call, or its items."""
    found: dict[str, Any] = {}
    for name in SHAPES:
        values = shaped(saver, name).get_state(on(name)).values
        messages = [(one.type, one.content, getattr(one, "tool_calls", None)) for one in values["messages"]]
        found[name] = messages if name in OBJECTS else values["items"]
    return found


if __name__ == "__main__":
    _, what, path = sys.argv
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        connection.execute("PRAGMA synchronous=off")
        answer = {"make": make, "go-on": go_on, "lists": lists}[what](SqliteSaver(connection))
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    sys.stdout.write(json.dumps(answer))
