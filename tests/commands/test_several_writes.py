"""Parallel tasks that wrote to a channel that takes one write: the refusal, and the ways out of it that it names."""

import re
import shlex
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.errors import InvalidUpdateError
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run

ERROR = "channel 'text' can't take several writes in one step: its reducer is last value"


class _State(TypedDict):
    text: str


def _greater(one: str, other: str) -> str:
    return max(one, other)


class _Greatest(TypedDict):
    text: Annotated[str, _greater]


def _graph(connection: sqlite3.Connection, *, nested: bool, schema: Any = _State, quiet: str = "") -> Any:
    """A graph, or a subgraph in one, whose nodes a and b run in parallel and write to `text`, but `quiet`."""

    def add(name: str, builder: Any) -> None:
        builder.add_node(name, lambda _: {} if name == quiet else {"text": name})

    inner = StateGraph(schema)
    for name in ("first", "a", "b", "last"):
        add(name, inner)
    for edge in ((START, "first"), ("first", "a"), ("first", "b"), ("a", "last"), ("b", "last")):
        inner.add_edge(*edge)
    saver = SqliteSaver(connection)
    if not nested:
        return inner.compile(checkpointer=saver)
    return StateGraph(schema).add_node("sub", inner.compile()).add_edge(START, "sub").compile(checkpointer=saver)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty database; it is the one that ckpt opens."""
    monkeypatch.setenv("CKPT_DB", str(tmp_path / "agents.sqlite"))
    return tmp_path / "agents.sqlite"


@pytest.fixture
def connection(path: Path) -> Iterator[sqlite3.Connection]:
    """The connection of the agent's saver."""
    opened = sqlite3.connect(path, check_same_thread=False)
    yield opened
    opened.close()


def _stuck(connection: sqlite3.Connection, *, nested: bool) -> tuple[list[str], dict[str, Any]]:
    """A stuck thread, also for changed nodes: the words that name it and its namespace, and its config."""
    config = {"configurable": {"thread_id": "t"}}
    for graph, values in (
        (_graph(connection, nested=nested), {"text": "hi"}),
        (_graph(connection, nested=nested), None),
        (_graph(connection, nested=nested, quiet="b"), None),
    ):
        with pytest.raises(InvalidUpdateError):
            graph.invoke(values, config)
    [ns] = connection.execute("SELECT max(checkpoint_ns) FROM checkpoints").fetchone()
    return ["t", *(["--ns", ns] if ns else [])], config


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("named", [[], ["--reducer", "text=last"]])
def test_the_named_rollback_goes_on(
    nested: bool, named: list[str], connection: sqlite3.Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    """LangGraph raises its error also once the nodes are changed; after the rollback of the hint it doesn't."""
    words, config = _stuck(connection, nested=nested)
    assert run(["replay", *words, "--commit", "--yes", *named]) == 2
    said = capsys.readouterr().err
    assert ERROR in said or named
    [way] = re.findall("`(ckpt rollback [^`]*)`", said)
    assert run([*shlex.split(way)[1:], "--yes"]) == 0
    assert _graph(connection, nested=nested, quiet="b").invoke(None, config) == {"text": "last"}


def test_the_named_reducer_goes_on(connection: sqlite3.Connection, capsys: pytest.CaptureFixture[str]) -> None:
    """The graph has got a reducer since: LangGraph takes the stored writes, and so does ckpt if it is named."""
    words, config = _stuck(connection, nested=False)
    assert run(["replay", *words, "--commit", "--yes"]) == 2
    assert "hint: --reducer text=NAME names the reducer, if your graph has another one; " in capsys.readouterr().err
    assert run(["replay", *words, "--commit", "--yes", "--reducer", "text=max"]) == 0
    assert _graph(connection, nested=False, schema=_Greatest).invoke(None, config) == {"text": "last"}


def test_another_checkpoint_is_named(connection: sqlite3.Connection, capsys: pytest.CaptureFixture[str]) -> None:
    """A stuck checkpoint that isn't the head any more has its id in the hint."""
    words, config = _stuck(connection, nested=False)
    [stuck] = connection.execute("SELECT max(checkpoint_id) FROM checkpoints").fetchone()
    assert run(["fork", "t", "@^", "--yes"]) == 0
    assert run(["replay", *words, stuck, "--commit", "--yes"]) == 2
    [way] = re.findall("`ckpt rollback t --at ([^`]*)`", capsys.readouterr().err)
    assert way != "@" and run(["rollback", "t", "--at", way, "--yes"]) == 0
    assert _graph(connection, nested=False, quiet="a").invoke(None, config) == {"text": "last"}


def test_two_updates_of_a_step(path: Path, connection: sqlite3.Connection, capsys: pytest.CaptureFixture[str]) -> None:
    """No task is finished, so nothing has to run again."""
    _graph(connection, nested=False, quiet="b").invoke({"text": "hi"}, {"configurable": {"thread_id": "t"}})
    bulk = path.with_suffix(".jsonl")
    bulk.write_text('[{"as_node": "a", "values": {"text": "x"}}, {"as_node": "b", "values": {"text": "y"}}]\n')
    assert run(["update", "t", "--bulk", str(bulk), "--yes"]) == 2
    said = capsys.readouterr().err
    assert ERROR in said and "else only one update of a step may write to it\n" in said and "rollback" not in said
