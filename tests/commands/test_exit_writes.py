"""``durability="exit"`` stores all writes to delta channels on the checkpoint from which the run began."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages

from ckpt_cli.app import run
from ckpt_cli.commands.trace import trace
from tests.commands.asking import at
from tests.graphs.building import on
from tests.work import LINEAR, growth


def _appended(old: list[str], writes: list[list[str]]) -> list[str]:
    return [*old, *(item for write in writes for item in write)]


class _State(TypedDict, total=False):
    log: Annotated[list[str], DeltaChannel(_appended)]


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A database with two runs of two nodes."""
    file = str(tmp_path / "exit.sqlite")
    builder = StateGraph(_State)
    for name in ("open", "close"):
        builder.add_node(name, lambda _, name=name: {"log": [f"by {name}"]})
    builder.add_edge(START, "open").add_edge("open", "close")
    with SqliteSaver.from_conn_string(file) as saver:
        for number in "12":
            builder.compile(saver).invoke({"log": [f"in {number}"]}, on("t"), durability="exit")
    return file


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """What a command prints as JSON."""
    assert run([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_blame_names_who_wrote(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Also the input, whose write is stored as those of the nodes are."""
    lines = answer(capsys, "blame", "t", "log", "--reducer", "log=append", "-d", path)["lines"]
    made = [(one["value"], one["since"]["by"], one["since"]["node"]) for one in lines]
    nodes = [("by open", "node", "open"), ("by close", "node", "close")]
    assert made == [("in 1", "input", None), *nodes, ("in 2", "input", None), *nodes]


def test_writes_name_the_nodes(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A single task made each of them."""
    tasks = answer(capsys, "writes", "t", "@~1", "-d", path)["tasks"]
    assert [(one["node"], one["by"]) for one in tasks] == [("__start__", "task"), ("open", "run"), ("close", "run")]


class _Chat(TypedDict):
    messages: Annotated[list[Any], add_messages]


def _long_chat(path: Path, turns: int) -> Callable[[], object]:
    """`trace` of a chat of so many runs."""
    number = iter(range(turns))
    usage = {"input_tokens": 1, "output_tokens": 0, "total_tokens": 1}
    builder = StateGraph(_Chat).add_node(
        "model", lambda _: {"messages": [AIMessage("yes", id=f"a{next(number)}", usage_metadata=usage)]}
    )
    with SqliteSaver.from_conn_string(str(path / f"{turns}.sqlite")) as saver:
        chat = builder.add_edge(START, "model").compile(saver)
        for turn in range(turns):
            chat.invoke({"messages": [HumanMessage("?", id=f"h{turn}")]}, on("t"), durability="exit")

    def traced() -> None:
        assert at(path / f"{turns}.sqlite", trace, "t").sums.unplaced_tokens == (turns, 0)

    return traced


def test_trace_goes_through_each_message_once(tmp_path: Path) -> None:
    """Each state has all messages before; twice the turns are twice the work."""
    assert growth(60, partial(_long_chat, tmp_path)) < LINEAR
