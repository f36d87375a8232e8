"""Messages typed as JSON: ``ckpt update`` stores what ``update_state`` makes of them, or refuses them as it does."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run
from tests.graphs.building import Chat, Graph, on

CALL = {"name": "f", "args": {"a": 1}, "id": "c"}
OPENAI = {"type": "function", "id": "c", "index": 0, "function": {"name": "f", "arguments": '{"a":\n1}'}}
AI = {"role": "assistant", "content": None, "id": "k"}
USER = {"role": "user", "content": "hi", "id": "k"}
TOOL = {"role": "tool", "content": "r", "id": "k"}
TAKEN: dict[str, Any] = {
    "call": [{**AI, "tool_calls": [CALL]}],
    "openai-call": [{**AI, "tool_calls": [OPENAI]}],
    "openai-call-with-object": [{**AI, "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": {"a": 1}}}]}],
    "no-calls": [{**AI, "tool_calls": None}],
    "calls-beside": [{**AI, "additional_kwargs": {"tool_calls": [OPENAI]}}],
    "dumped": [{**AI, "type": "ai", "usage_metadata": None, "invalid_tool_calls": [], "response_metadata": {"m": 1}}],
    "example": [{"type": "human", "content": "x", "id": "k", "example": True}],
    "no-example": {"type": "human", "content": "x", "id": "k", "example": False},
    "result": [{**TOOL, "tool_call_id": "c", "status": "error", "artifact": {"a": [1]}, "name": "f"}],
    "result-of-a-number": [{**TOOL, "tool_call_id": 5}],
    "developer": [{"role": "developer", "content": "s", "id": "k"}],
    "pairs": [["developer", "s"], ["user", "hey"]],
    "two-texts": ["user", "hey"],
    "text": "hey",
    "no-content": [{**USER, "content": None}],
    "parts": [{**USER, "content": ["a", {"type": "text", "text": "b"}]}],
    "pair-of-parts": [["user", [{"type": "text", "text": "b"}]]],
    "unknown-keys": [{**USER, "extra": 5, "additional_kwargs": {"a": 1}, "tool_call_id": "c"}],
    "id-of-a-number": [{**USER, "id": 5}],
    "function": [{"role": "function", "name": "f", "content": "c", "id": "k"}],
    "removal": [{"role": "remove", "content": "", "id": "h"}],
}
REFUSED: dict[str, Any] = {
    "result-of-nothing": [TOOL],
    "result-as-pair": [["tool", "r"]],
    "status": [{**TOOL, "tool_call_id": "c", "status": "odd"}],
    "no-json": [{**AI, "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{"}}]}],
    "no-object": [{**AI, "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "[1]"}}]}],
    "call-without-id": [{**AI, "tool_calls": [{"name": "f", "args": {}}]}],
    "openai-call-without-id": [{**AI, "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}],
    "call-with-text": [{**AI, "tool_calls": [{**CALL, "args": "{}"}]}],
    "calls-as-object": [{**AI, "tool_calls": CALL}],
    "role": [{**USER, "role": "weird"}],
    "name": [{**USER, "name": 5}],
    "number": [{**USER, "content": 5}],
    "function-without-name": [{"role": "function", "content": "c"}],
    "removal-of-nothing": [{"role": "remove", "content": ""}],
    "null-beside": [{**USER, "additional_kwargs": None}],
}


def build(saver: Any) -> Graph:
    """A model and a tool."""
    builder = StateGraph(Chat)
    builder.add_node("model", lambda state: {"messages": [AIMessage("", tool_calls=[CALL], id="a")]})
    builder.add_node("tool", lambda state: {"messages": [ToolMessage("r", tool_call_id="c", id="t")]})
    builder.add_edge(START, "model")
    builder.add_edge("model", "tool")
    return builder.compile(checkpointer=saver)


@contextmanager
def opened(path: Path) -> Iterator[Graph]:
    """The graph on a file."""
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        yield build(SqliteSaver(connection))


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Two equal databases."""
    with opened(mine := tmp_path / "mine.sqlite") as graph:
        graph.invoke({"messages": [HumanMessage("go", id="h")]}, on("t"))
    return mine, Path(shutil.copy(mine, tmp_path / "theirs.sqlite"))


def state_of(graph: Graph) -> list[dict[str, Any]]:
    """The thread's messages, without the ids that were made up."""
    found = [message.model_dump() for message in graph.get_state(on("t")).values["messages"]]
    return [{**fields, "id": fields["id"] if len(fields["id"]) < 9 else "made"} for fields in found]


def ckpt(path: Path, messages: Any, *options: str) -> int:
    """The exit code of an update."""
    words = ["update", "t", "--values", json.dumps({"messages": messages}), *options, "-d", str(path), "--yes"]
    return run([*words, "--reducer", "messages=message merge"])


@pytest.mark.parametrize("node", ["model", "__input__"])
@pytest.mark.parametrize("name", TAKEN)
def test_typed_messages_become_those_of_langchain(name: str, node: str, pair: tuple[Path, Path]) -> None:
    """The messages in the state are equal, in all their fields, written as a node or as the input."""
    mine, theirs = pair
    assert ckpt(mine, TAKEN[name], *(["--as-node", node] if node == "model" else ["--as-input"])) == 0
    with opened(theirs) as graph:
        graph.update_state(on("t"), {"messages": TAKEN[name]}, as_node=node)
    states = []
    for path in (mine, theirs):
        with opened(path) as graph:
            states.append([state_of(graph), graph.invoke(None, on("t")) and state_of(graph)])
    assert states[0] == states[1]


@pytest.mark.parametrize("name", REFUSED)
def test_messages_that_langchain_refuses_are_refused(
    name: str, pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """LangGraph raises an error for them; ckpt writes nothing, and says in one line what is wrong."""
    mine, theirs = pair
    before = mine.read_bytes()
    assert ckpt(mine, REFUSED[name], "--as-node", "model") == 2
    assert mine.read_bytes() == before
    assert "message" in capsys.readouterr().err
    with opened(theirs) as graph, pytest.raises(Exception, match=r"."):
        graph.update_state(on("t"), {"messages": REFUSED[name]}, as_node="model")
