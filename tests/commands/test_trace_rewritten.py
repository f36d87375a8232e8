"""``ckpt trace`` counts a model's message once that another node writes again under its id, with other contents."""

import copy
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from ckpt_cli.commands.trace import trace
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
