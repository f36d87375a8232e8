"""A memory that the next run continues elsewhere: no plan says that its next call adds an input to it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from ckpt_cli.app import run
from tests.graphs import Graph
from tests.graphs.building import Log, line, on

Ckpt = Callable[..., Any]


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A new database."""
    return str(tmp_path / "memories.sqlite")


@pytest.fixture
def plan(path: str, capsys: pytest.CaptureFixture[str]) -> Ckpt:
    """Applies a change; gives the notes of its plan as one text."""

    def change(*words: str) -> str:
        capsys.readouterr()
        assert run([*words, "-d", path, "--yes", "--json"]) == 0
        return " ".join(json.loads(capsys.readouterr().out)["notes"])

    return change


def rounds(saver: Any) -> Graph:
    """A subgraph that is called in each round; in it another one with its own memory, which asks from round two on."""

    def remember(state: Any) -> Any:
        return {"log": [interrupt("go on?") if "again" in state["log"] else "remembered"]}

    memory = line(True, "note", "ask", schema=Log, nodes={"ask": remember})
    scene = line(None, "before", "npc", schema=Log, nodes={"npc": memory})
    builder = StateGraph(Log).add_node("scene", scene).add_node("again", lambda _: {"log": ["again"]})
    builder.add_edge(START, "scene").add_conditional_edges("scene", lambda _: "again").add_edge("again", "scene")
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize("verb", ["fork", "rollback"])
def test_a_change_in_a_call_that_is_over(path: str, plan: Ckpt, verb: str) -> None:
    """The run asks the same question of the memory's newest checkpoint, with no input added."""
    with SqliteSaver.from_conn_string(path) as saver:
        graph = rounds(saver)
        graph.invoke({"log": ["in"]}, on("t"))
        calls = {one.config["configurable"]["checkpoint_ns"]: one for one in saver.list(on("t"))}
        over = max((ns for ns in calls if ns.startswith("scene:")), key=lambda ns: calls[ns].checkpoint["id"])
        over = next(ns for ns in calls if ns.startswith("scene:") and ns != over)
        notes = plan(verb, "t", "@^", "--ns", over)
        assert "scene|npc has its own memory, which stays as it is" in notes
        assert "its next call" not in notes and "the call of scene is over" in notes
        before = [*saver.list({"configurable": {"thread_id": "t", "checkpoint_ns": "scene|npc"}})]
        assert [one.value for one in graph.invoke(None, on("t"))["__interrupt__"]] == ["go on?"]
        assert [*saver.list({"configurable": {"thread_id": "t", "checkpoint_ns": "scene|npc"}})] == before


def test_a_deletion_on_another_branch(path: str, plan: Ckpt) -> None:
    """The head stays, and with it the memory that it continues."""
    with SqliteSaver.from_conn_string(path) as saver:
        memory = line(True, "note", "ask", schema=Log, nodes={"ask": lambda _: {"log": [interrupt("go on?")]}})
        graph = line(saver, "before", "npc", schema=Log, nodes={"npc": memory})
        graph.invoke({"log": ["in"]}, on("t"))
        _, left, first = graph.get_state_history(on("t"))
        graph.update_state(first.config, {"log": ["other"]}, as_node="__start__")
        graph.invoke(None, on("t"))
        notes = plan("delete", "t", "--after", left.config["configurable"]["checkpoint_id"], "--reparent")
        assert "on another branch" in notes
        assert "its next call" not in notes and "with thread_id alone" not in notes
        assert [one.value for one in graph.invoke(None, on("t"))["__interrupt__"]] == ["go on?"]


def test_a_deletion_that_makes_another_branch_the_head(path: str, plan: Ckpt) -> None:
    """The memory, which waits there, is continued with no input added."""
    with SqliteSaver.from_conn_string(path) as saver:
        memory = line(True, "note", "ask", schema=Log, nodes={"ask": lambda _: {"log": [interrupt("go on?")]}})
        builder = StateGraph(Log).add_node("before", lambda _: {"log": ["b"]}).add_node("npc", memory)
        builder.add_node("end", lambda _: {"log": ["e"]}).add_edge(START, "before")
        builder.add_conditional_edges("before", lambda state: "end" if "skip" in state["log"] else "npc")
        graph = builder.compile(checkpointer=saver)
        graph.invoke({"log": ["in"]}, on("t"))
        _, left, first = graph.get_state_history(on("t"))
        skipping = graph.update_state(first.config, {"log": ["skip"]}, as_node="__start__")
        graph.update_state(left.config, {"log": ["more"]}, as_node="before")
        graph.invoke(None, on("t"))
        graph.invoke(None, skipping)
        notes = plan("delete", "t", "--after", skipping["configurable"]["checkpoint_id"])
        assert "the head becomes" in notes and "its next call" not in notes
        memories = {"configurable": {"thread_id": "t", "checkpoint_ns": "npc"}}
        before = [*saver.list(memories)]
        assert [one.value for one in graph.invoke(None, on("t"))["__interrupt__"]] == ["go on?"]
        assert [*saver.list(memories)] == before


def test_a_memory_that_can_not_be_read_hinders_no_change_of_another_call(path: str, plan: Ckpt) -> None:
    """Nor does the head of the call that goes on."""
    with SqliteSaver.from_conn_string(path) as saver:
        graph = rounds(saver)
        graph.invoke({"log": ["in"]}, on("t"))
        namespaces = {one.config["configurable"]["checkpoint_ns"] for one in saver.list(on("t"))}
        heads = {ns: next(saver.list({"configurable": {"thread_id": "t", "checkpoint_ns": ns}})) for ns in namespaces}
        over, live = sorted(
            (ns for ns in namespaces if ns.startswith("scene:")), key=lambda ns: heads[ns].checkpoint["id"]
        )
        for damaged in ("scene|npc", live):
            broken = (heads[damaged].checkpoint["id"],)
            saver.conn.execute("UPDATE checkpoints SET checkpoint = x'c1c1' WHERE checkpoint_id = ?", broken)
            saver.conn.commit()
            assert "the call of scene is over" in plan("fork", "t", "@^", "--ns", over)


@pytest.mark.parametrize("own", [True, None])
def test_a_subgraph_whose_root_has_no_checkpoint(
    path: str, plan: Ckpt, own: bool | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """As where a run under "exit" was killed: the next run begins anew, and only a memory of its own is found again."""
    with SqliteSaver.from_conn_string(path) as saver:
        memory = line(own, "note", "ask", schema=Log, nodes={"ask": lambda _: {"log": [interrupt("go on?")]}})
        graph = line(saver, "npc", schema=Log, nodes={"npc": memory})
        graph.invoke({"log": ["in"]}, on("t"))
        [ns] = {one.config["configurable"]["checkpoint_ns"] for one in saver.list(on("t"))} - {""}
        saver.conn.execute("DELETE FROM checkpoints WHERE checkpoint_ns = ''")
        saver.conn.commit()
        notes = plan("fork", "t", "@", "--ns", ns)
        assert "the next run begins the thread anew" in notes
        assert ("adds its input to the newest state of npc" in notes) == (own is True)
        assert run(["resume", "t", "--value", "1", "--ns", ns, "-d", path]) == 4
        assert "no answer reaches its subgraphs" in capsys.readouterr().err
        graph.invoke({"log": ["new"]}, on("t"))
        newest = next(saver.list({"configurable": {"thread_id": "t", "checkpoint_ns": ns}}))
        assert ("new" in newest.checkpoint["channel_values"]["log"]) == (own is True)


def test_a_plain_call_inside_a_memory(path: str, plan: Ckpt) -> None:
    """The next call of the memory calls anew what is inside it: what was edited there is nowhere in the new states."""
    with SqliteSaver.from_conn_string(path) as saver:
        inside = line(None, "work", schema=Log)
        memory = line(True, "inner", schema=Log, nodes={"inner": inside})
        graph = line(saver, "mid", schema=Log, nodes={"mid": memory})
        graph.invoke({"log": ["in"]}, on("t"))
        known = {one.checkpoint["id"] for one in saver.list(on("t"))}
        [ns] = {one.config["configurable"]["checkpoint_ns"] for one in saver.list(on("t"))} - {"", "mid"}
        assert "the call of mid is over, so the next run doesn't continue" in plan(
            "edit", "t", "--ns", ns, "--set", 'log=["mark"]'
        )
        known |= {one.checkpoint["id"] for one in saver.list(on("t"))}
        assert "with the input added to this state" in plan("edit", "t", "--ns", "mid", "--set", 'log=["memory"]')
        graph.invoke({"log": ["again"]}, on("t"))
        new = [one.checkpoint["channel_values"] for one in saver.list(on("t")) if one.checkpoint["id"] not in known]
        assert any("memory" in one.get("log", []) for one in new)
        assert not any("mark" in one.get("log", []) for one in new)
