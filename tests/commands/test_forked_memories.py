"""What ``fork --to`` copies and says of a subgraph with its own memory, against the next run of copy and original."""

import json
from operator import add
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run
from tests.graphs.building import Graph, on


class State(TypedDict, total=False):
    """A number, and those that a subgraph has seen."""

    n: int
    memory: Annotated[list[int], add]


class Outer(TypedDict, total=False):
    """The same, where the subgraph inside gives the whole list."""

    n: int
    memory: list[int]


def build(saver: Any, *, is_nested: bool = False) -> Graph:
    """``sub`` remembers each number, in a subgraph of its own if so wanted; ``last`` follows it."""
    inner = StateGraph(State)
    inner.add_node("note", lambda s: {"memory": [s["n"]]})
    inner.add_edge(START, "note")
    remembers = deep = inner.compile(checkpointer=True)
    if is_nested:
        outer = StateGraph(Outer)
        outer.add_node("deep", lambda s: {"memory": deep.invoke({"n": s["n"]})["memory"]})
        outer.add_edge(START, "deep")
        remembers = outer.compile(checkpointer=True)
    builder = StateGraph(Outer)
    builder.add_node("sub", lambda s: {"memory": remembers.invoke({"n": s["n"]})["memory"]})
    builder.add_node("last", lambda s: {})
    builder.add_edge(START, "sub")
    builder.add_edge("sub", "last")
    return builder.compile(checkpointer=saver)


def seen(graph: Graph, thread_id: str) -> list[int]:
    """The numbers that the subgraph has seen, as its next call by a run with an input gives them."""
    memory: list[int] = graph.invoke({"n": 99}, on(thread_id))["memory"]
    return memory


def forked(path: str, capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """The notes of a fork to another thread that mention the memory of a subgraph."""
    capsys.readouterr()
    assert run(["fork", "t", *words, "--to", "copy", "-d", path, "--yes", "--json"]) == 0
    return [note for note in json.loads(capsys.readouterr().out)["notes"] if "has its own memory" in note]


@pytest.mark.parametrize("option", [[], ["--with-pending"]])
@pytest.mark.parametrize("is_nested", [False, True])
@pytest.mark.parametrize("durability", ["exit", "sync"])
def test_the_copy_has_the_memory_however_runs_were_stored(
    durability: str, is_nested: bool, option: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A memory that was called by checkpoints which aren't stored is copied with the runs that called it."""
    path = str(tmp_path / "t.sqlite")
    with SqliteSaver.from_conn_string(path) as saver:
        graph = build(saver, is_nested=is_nested)
        for n in (1, 2, 3):
            graph.invoke({"n": n}, on("t"), durability=durability)
        assert forked(path, capsys, *option) == []
        assert seen(graph, "copy") == seen(graph, "t") == [1, 2, 3, 99]


@pytest.mark.parametrize("durability", ["exit", "sync"])
def test_a_memory_of_another_branch_stays_and_is_named(
    durability: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What another branch's run remembered isn't copied; the plan says from where each thread goes on."""
    path = str(tmp_path / "t.sqlite")
    with SqliteSaver.from_conn_string(path) as saver:
        graph = build(saver)
        graph.invoke({"n": 1}, on("t"), durability=durability)
        first = graph.get_state(on("t")).config
        graph.invoke({"n": 2}, on("t"), durability=durability)
        left = graph.get_state(on("t")).config["configurable"]["checkpoint_id"]
        graph.invoke({"n": 3}, first, durability=durability)
        [newest] = saver.list({"configurable": {"thread_id": "t", "checkpoint_ns": "sub"}}, limit=1)
        [note] = forked(path, capsys, left)
        [copied] = saver.list({"configurable": {"thread_id": "copy", "checkpoint_ns": "sub"}}, limit=1)
        shown = [found.checkpoint["id"][24:30] for found in (copied, newest)]
        assert note == f"sub has its own memory: the copy goes on from {shown[0]}, t goes on from {shown[1]}"
        assert seen(graph, "copy") == [1, 2, 99]
        assert seen(graph, "t")[-2:] == [3, 99]


@pytest.mark.parametrize("durability", ["exit", "sync"])
def test_a_copy_of_the_past_begins_without_later_memory(
    durability: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Calls of later runs aren't copied with an older checkpoint."""
    path = str(tmp_path / "t.sqlite")
    with SqliteSaver.from_conn_string(path) as saver:
        graph = build(saver)
        graph.update_state(on("t"), {"n": 0, "memory": []}, as_node="last")
        first = graph.get_state(on("t")).config["configurable"]["checkpoint_id"]
        graph.invoke({"n": 1}, on("t"), durability=durability)
        [note] = forked(path, capsys, first)
        assert "the copy begins without it" in note
        assert seen(graph, "copy") == [99]
