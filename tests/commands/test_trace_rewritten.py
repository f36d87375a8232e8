"""``ckpt trace`` counts a model's message once that another node writes again under its id, with other contents."""

import copy
import operator
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from ckpt_cli.commands.trace import trace
from ckpt_cli.queries.thread_trace import ThreadTrace
from tests.commands.asking import at
from tests.graphs.building import on

_USAGE = {"input_tokens": 5, "output_tokens": 1, "total_tokens": 6}


def _merged(old: list[AnyMessage], new: list[AnyMessage]) -> Any:
    return add_messages(old, copy.deepcopy(new))  # so that the write is stored before its message has an id


class _Chat(TypedDict):
    messages: Annotated[list[AnyMessage], _merged]


@pytest.mark.parametrize("edit", [{}, {"content": "edited"}, {"name": "x"}])
def test_a_message_that_got_its_id_in_the_state_counts_once(edit: dict[str, str], tmp_path: Path) -> None:
    """The model's write has no id, the state has one, and the other node writes the message under that id."""
    with SqliteSaver.from_conn_string(str(path := tmp_path / "t.sqlite")) as saver:
        builder = StateGraph(_Chat).add_node("chat", lambda _: {"messages": [AIMessage("yes", usage_metadata=_USAGE)]})
        builder.add_node("trim", lambda state: {"messages": [state["messages"][-1].model_copy(update=edit)]})
        app = builder.add_edge(START, "chat").add_edge("chat", "trim").compile(checkpointer=saver)
        for question in ("a?", "b?"):
            app.invoke({"messages": [("user", question)]}, on("t"))
    sums = at(path, trace, "t")
    assert {node.node: node.input_tokens for node in sums.nodes if node.node != START} == {"chat": 10, "trim": 0}


class _Log(TypedDict):
    messages: Annotated[list[AnyMessage], operator.add]


@pytest.mark.parametrize("origin", ["subgraph", "input", "command"])
@pytest.mark.parametrize("steps", [0, 1, 2])
def test_a_message_of_others_that_got_its_id_in_the_state(origin: str, steps: int, tmp_path: Path) -> None:
    """A subgraph's, an input's or a Command's, which is written under its id some steps later, with other contents."""
    draft = AIMessage("yes", usage_metadata=_USAGE)
    inner = StateGraph(_Log).add_node("model", lambda _: {"messages": [draft]} if origin == "subgraph" else {})
    builder = StateGraph(_Chat).add_node("sub", inner.add_edge(START, "model").compile()).add_edge(START, "ask")
    builder.add_node("ask", lambda _: {"messages": []} if interrupt("?") else {}).add_edge("ask", "sub")
    before = "sub"
    for number in range(steps):
        other = AIMessage("other", id=f"run-{number}", usage_metadata={**_USAGE, "input_tokens": 1})
        builder.add_node(f"n{number}", lambda _, other=other: {"messages": [other]}).add_edge(before, f"n{number}")
        before = f"n{number}"
    first = {"messages": [draft] if origin == "input" else []}
    with SqliteSaver.from_conn_string(str(path := tmp_path / "t.sqlite")) as saver:
        builder.add_node(
            "trim", lambda state: {"messages": [state["messages"][0].model_copy(update={"content": "edited"})]}
        )
        app = builder.add_edge(before, "trim").compile(checkpointer=saver)
        app.invoke(first, on("t"))
        app.invoke(Command(resume="yes", update={"messages": [draft] if origin == "command" else []}), on("t"))
    sums = at(path, trace, "t").sums
    assert (sums.input_tokens, sums.unplaced_tokens[0]) == (
        (5 if origin == "subgraph" else 0) + steps,
        0 if origin == "subgraph" else 5,
    )


def test_few_states_are_read_for_messages_with_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One message without an id, which never gets one, doesn't make each later step read the state before it."""

    class Plan(_Log):
        plan: Any

    builder, before = StateGraph(Plan), "plan"
    builder.add_node("plan", lambda _: {"plan": AIMessage("plan", usage_metadata=_USAGE)}).add_edge(START, "plan")
    for number in range(20):
        said = AIMessage(f"m{number}", id=f"run-{number}", usage_metadata=_USAGE)
        builder.add_node(f"n{number}", lambda _, said=said: {"messages": [said]}).add_edge(before, f"n{number}")
        before = f"n{number}"
    with SqliteSaver.from_conn_string(str(path := tmp_path / "t.sqlite")) as saver:
        builder.compile(checkpointer=saver).invoke({"messages": []}, on("t"))
    held, read = ThreadTrace._held, list[Any]()
    monkeypatch.setattr(ThreadTrace, "_held", lambda self, ref: read.append(ref) or held(self, ref))
    assert at(path, trace, "t").sums.input_tokens == 5 * 21
    assert len(read) < 5
