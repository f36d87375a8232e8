"""What a RemoveMessage removes is shown wherever what a task wrote is shown."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, RemoveMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import interrupt

from ckpt_cli.app import run

ON: Any = {"configurable": {"thread_id": "t"}}


@pytest.mark.parametrize(("removed", "words"), [("m1", "remove m1"), (REMOVE_ALL_MESSAGES, "remove all messages")])
def test_a_removal_names_what_it_removes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], removed: str, words: str
) -> None:
    """`tree`, `writes` and `replay` name the message that a finished task removes."""
    graph = StateGraph(MessagesState)
    graph.add_node("clean", lambda _: {"messages": [RemoveMessage(id=removed)]})
    graph.add_node("ask", lambda _: {"messages": interrupt("?")})
    graph.add_edge(START, "clean")
    graph.add_edge(START, "ask")
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        graph.compile(checkpointer=saver).invoke({"messages": [HumanMessage("hello", id="m1")]}, ON)
    for verb in ("tree", "writes", "replay"):
        assert run([verb, "t", "-d", str(tmp_path / "t.sqlite")]) == 0
        said = capsys.readouterr().out
        assert words in said, said
        assert "“”" not in said
