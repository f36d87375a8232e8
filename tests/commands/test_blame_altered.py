"""``ckpt blame`` names a node only of a value that its writes make; else it has candidates."""

import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Overwrite

from ckpt_cli.commands.blame import blame
from ckpt_cli.history.tasks.written_parts import give
from tests.commands.asking import at
from tests.commands.planted import ON, Tables


def _merged(current: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """A dict in which numbers are summed and dicts merged."""
    new = dict(current)
    for key, value in given.items():
        old = new.get(key)
        if isinstance(value, dict):
            new[key] = _merged(old or {}, value)
        else:
            new[key] = old + value if isinstance(old, int) else value
    return new


class State(TypedDict, total=False):
    """One channel for each way to make a value of what was there and of writes."""

    messages: Annotated[list[AnyMessage], add_messages]
    verdict: str
    total: Annotated[int, operator.add]
    text: Annotated[str, lambda old, new: f"{old}\n{new}"]
    book: Annotated[dict[str, Any], _merged]
    files: dict[str, str]
    best: Annotated[int, lambda old, new: max(old, new)]
    squared: Annotated[int, lambda old, new: (old + new) ** 2]


def _work(state: State) -> State:
    turn = len(state["messages"])
    return {
        "messages": [AIMessage(f"answer {turn}", id=f"a{turn}")],
        "verdict": f"published {turn}",
        "total": turn,
        "text": f"line {turn}",
        "book": {"count": 1, "deep": {f"key {turn}": turn, "count": 1}},
        "best": turn,
        "squared": 1,
        "files": dict.fromkeys(("a", "b", "c")[: 4 - turn // 2], "text"),
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Three turns of a graph with one node."""
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        builder = StateGraph(State)
        builder.add_node("work", _work)
        builder.add_edge(START, "work")
        app = builder.compile(checkpointer=saver)
        for turn in range(3):
            app.invoke({"messages": [HumanMessage(f"question {turn}", id=f"h{turn}")]}, ON)
    return tmp_path / "t.sqlite"


def who(path: Path, what: str, **options: Any) -> set[tuple[str, str | None, tuple[str, ...]]]:
    """By, node and candidates of each line."""
    lines = at(path, blame, "t", what, **options).lines
    origins = [one.gone if options.get("reverse") else one.since for one in lines]
    return {(one.by, one.node, tuple(one.candidates)) for one in origins}


@pytest.mark.parametrize("channel", ["verdict", "total", "text", "book", "book.deep", "best", "files"])
def test_what_writes_make_of_what_was_there_is_the_nodes(path: Path, channel: str) -> None:
    """Last values, sums, texts that grow, merged dicts with sums in them, the greater of two."""
    assert who(path, channel) == {("node", "work", ())}


def test_messages_are_the_inputs_and_the_nodes(path: Path) -> None:
    """Each message was written by whom the row names."""
    assert who(path, "messages") == {("input", None, ()), ("node", "work", ())}


def test_what_only_the_graph_can_explain_has_a_candidate(path: Path) -> None:
    """A reducer that nobody knows may have made it of the write."""
    assert who(path, "squared") == {("", None, ("work",))}
    [line] = at(path, blame, "t", "squared").lines
    assert "what it wrote isn't this" in line.since.why


def test_what_somebody_put_into_the_database_isnt_the_nodes(path: Path) -> None:
    """A last value, a message at the node's step, one at an input's: altered, they have candidates alone."""
    tables = Tables(path)
    for number, one in enumerate(tables.steps()):
        values = one.body["channel_values"]
        if number >= 5:  # the node's step of the second turn
            values["verdict"] = "REJECTED"
            values["messages"][3] = AIMessage("ALTERED", id="a3")
        if number >= 6:  # the third input's checkpoint
            values["messages"][1] = AIMessage("ALTERED TOO", id="a1")
        tables.put(one)
    tables.close()
    assert who(path, "verdict") == {("", None, ("work",))}
    assert who(path, "messages[3]") == {("", None, ("work",))}
    assert who(path, "messages[1]") == {("", None, ())}
    assert "no new version" in at(path, blame, "t", "messages[1]").lines[0].since.why
    assert who(path, "messages[0]") == {("input", None, ())}


def test_a_value_that_replaced_another_removed_its_parts(path: Path) -> None:
    """A dict without a key may be the whole value; messages don't go because others came."""
    assert who(path, "files", reverse=True) == {("node", "work", ())}
    tables = Tables(path)
    for number, one in enumerate(tables.steps()):
        if number >= 5:
            del one.body["channel_values"]["messages"][0]
            tables.put(one)
    tables.close()
    assert who(path, "messages", reverse=True) == {("", None, ("work",))}


def test_an_overwrite_is_the_nodes(tmp_path: Path) -> None:
    """What it holds stands, what it leaves out went."""
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        builder = StateGraph(State)
        builder.add_node("work", lambda _: {"book": Overwrite({"new": 1})})
        builder.add_edge(START, "work")
        builder.compile(checkpointer=saver).invoke({"book": {"old": 1}}, ON)
    assert who(tmp_path / "t.sqlite", "book") == {("node", "work", ())}
    assert who(tmp_path / "t.sqlite", "book", reverse=True) == {("node", "work", ())}


@pytest.mark.parametrize(
    ("before", "written", "value", "given"),
    [
        (["a", "b"], ["c"], ["a", "b", "c"], True),
        (["a", "b"], ["c"], ["a"], False),
        (["a", "b"], ["c"], ["a", "b", "d"], False),
        ("a", "b", "a, b", True),
        ("a", "b", "b", True),
        ("a", "b", "a", False),
        ({"n": 1}, {"n": 2}, {"n": 3}, True),
        ({"n": 1}, {"n": 2}, {"n": 3, "other": 1}, False),
        ({"n": 1}, {"m": 2}, {"m": 2}, True),
        ({"n": 1, "o": 1}, {"m": 2}, {"m": 2, "o": 1}, False),
        (True, 1, 2, False),
    ],
)
def test_what_a_write_makes_of_what_was_there(before: Any, written: Any, value: Any, given: bool) -> None:
    """Only if nothing else changed."""
    assert give([written], (), value, before) is given
