"""Changes inside a subgraph: the plan says that the next run continues from there exactly if the real library does."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from ckpt_cli.app import run
from tests.graphs import Graph
from tests.graphs.building import Log, line, on

Ran = list[str]
Ckpt = Callable[..., Any]
CHANGES: dict[str, tuple[str, ...]] = {
    "fork": ("fork", "t", "@^"),
    "rollback": ("rollback", "t", "@^"),
    "edit": ("edit", "t", "@^", "--append", 'log="new"', "--rerun"),
    "update": ("update", "t", "@^", "--values", '{"log": ["new"]}', "--as-node", "i1", "--reducer", "log=append"),
}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[tuple[str, Any]]:
    """A new database: its path, and the real saver on it."""
    path = tmp_path / "calls.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        yield str(path), SqliteSaver(connection)


@pytest.fixture
def ckpt(database: tuple[str, Any], capsys: pytest.CaptureFixture[str]) -> Ckpt:
    """Runs a command line on the database; its JSON, or its text with ``text=True``."""

    def go(*words: str, text: bool = False) -> Any:
        capsys.readouterr()
        assert run([*words, "-d", database[0], *([] if text else ["--json"])]) == 0
        out = capsys.readouterr().out
        return out if text else json.loads(out)

    return go


def noting(ran: Ran, name: str, act: Callable[[], Any] = list) -> Callable[[Any], Any]:
    """A node that notes each of its runs in `ran`, and logs its name and what `act` gives."""

    def node(state: Any) -> Any:
        ran.append(name)
        return result if isinstance(result := act(), Command) else {"log": [name, *result]}

    return node


def calling(saver: Any, ran: Ran, kind: str) -> Graph:
    """``a``, the subgraph ``sub`` of ``i1``, ``i2`` and ``i3``, then ``z``; `kind` says what the subgraph does."""
    act = {"asks": lambda: [interrupt("sure?")], "leaves": lambda: Command(graph=Command.PARENT, goto="z")}
    last = noting(ran, "i3", next((act[word] for word in kind.split() if word in act), list))
    nodes = {"i1": noting(ran, "i1"), "i2": noting(ran, "i2"), "i3": last}
    inner = line(True if "own" in kind else None, "i1", "i2", "i3", schema=Log, nodes=nodes)

    def twice(state: Any) -> Any:
        ran.append("sub")
        return {"log": [inner.invoke({"log": [name]})["log"][0] for name in ("one", "two")]}

    builder = StateGraph(Log)
    builder.add_node("a", noting(ran, "a"))
    builder.add_node("sub", twice if "twice" in kind else inner)
    builder.add_node("z", noting(ran, "z"))
    builder.add_edge(START, "a")
    builder.add_edge("a", "sub")
    if "leaves" not in kind:
        builder.add_edge("sub", "z")
    return builder.compile(checkpointer=saver)


def newest(saver: Any, ns: str) -> str:
    """The id of the newest checkpoint of a namespace."""
    found: str = saver.get({"configurable": {"thread_id": "t", "checkpoint_ns": ns}})["id"]
    return found


def namespaces(saver: Any) -> list[str]:
    """The namespaces of the subgraphs."""
    return sorted({ns for one in saver.list(on("t")) if (ns := one.config["configurable"]["checkpoint_ns"])})


KINDS = ("plain", "asks", "asks updated", "asks twice", "twice", "leaves", "own", "own asks", "own asks updated")


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", KINDS)
def test_what_the_next_run_does_with_the_change(database: tuple[str, Any], ckpt: Ckpt, kind: str, change: str) -> None:
    """In the newest call of a finished, an outdated and a waiting subgraph; ``show`` agrees with the plan."""
    ran, saver = Ran(), database[1]
    graph = calling(saver, ran, kind)
    graph.invoke({"log": ["in"]}, on("t"))
    if "updated" in kind:
        graph.update_state(on("t"), {"log": ["other"]}, as_node="a")
    ns = namespaces(saver)[-1]
    plan = ckpt(*CHANGES[change], "--ns", ns, "--yes")
    changed, shown = newest(saver, ns), ckpt("show", "t", "--ns", ns)
    graph.invoke(None, on("t"))
    went_on = newest(saver, ns) != changed
    says_so = shown["not_continued"] is None and "left" not in [task["status"] for task in shown["tasks"]]
    assert says_so == went_on
    assert went_on == (kind in ("asks", "asks twice", "own asks", "own asks updated"))
    notes = " ".join(plan["notes"])
    if went_on:
        assert plan["summary"].endswith("next: i2") and "the call of" not in notes
    else:
        assert "nothing runs next" in plan["summary"] and "continues from" not in notes
        assert ("is out of date" if kind == "asks updated" else "is over") in notes


def test_a_new_call_of_a_subgraph_with_its_own_memory(database: tuple[str, Any], ckpt: Ckpt) -> None:
    """As the plan says, it starts anew and adds its input to the changed state."""
    ran, saver = Ran(), database[1]
    graph = calling(saver, ran, "own")
    graph.invoke({"log": ["in"]}, on("t"))
    plan = ckpt("edit", "t", "@^", "--set", 'log=["new"]', "--ns", "sub", "--rerun", "--yes")
    assert "its next call starts anew, with the input added to this state" in " ".join(plan["notes"])
    ran.clear()
    graph.invoke({"log": ["again"]}, on("t"))
    assert ran == ["a", "i1", "i2", "i3", "z"]
    state = saver.get({"configurable": {"thread_id": "t", "checkpoint_ns": "sub"}})["channel_values"]["log"]
    assert state[0] == "new" and state[-3:] == ["i1", "i2", "i3"]


def test_a_subgraph_with_its_own_memory_that_a_later_step_calls(database: tuple[str, Any], ckpt: Ckpt) -> None:
    """It starts anew, although it waits: the plan says so, and the next run does."""
    ran, saver = Ran(), database[1]
    graph = calling(saver, ran, "own asks")
    graph.invoke({"log": ["in"]}, on("t"))
    ckpt("fork", "t", "step:0", "--yes")
    plan = ckpt("edit", "t", "--set", 'log=["new"]', "--ns", "sub", "--rerun", "--yes")
    assert "the next run doesn't begin with sub: its next call starts anew" in " ".join(plan["notes"])
    ran.clear()
    graph.invoke(None, on("t"))
    assert ran[:2] == ["a", "i1"]


@pytest.mark.parametrize("kind", ["leaves", "own leaves"])
def test_a_subgraph_that_was_left(database: tuple[str, Any], ckpt: Ckpt, kind: str) -> None:
    """The node that left by ``Command(graph=PARENT)`` is neither due nor running, and ``next`` is empty."""
    ran, saver = Ran(), database[1]
    graph = calling(saver, ran, kind)
    graph.invoke({"log": ["in"]}, on("t"))
    assert ran == ["a", "i1", "i2", "i3", "z"]
    ran.clear()
    graph.invoke(None, on("t"))
    assert not ran
    ns = namespaces(saver)[0]
    shown = ckpt("show", "t", "--ns", ns)
    assert (shown["next"], [(task["node"], task["status"]) for task in shown["tasks"]]) == ([], [("i3", "left")])
    for words in (("show", "t", "--ns", ns), ("replay", "t", "--ns", ns), ("tree", "t", "--full")):
        text = ckpt(*words, text=True)
        assert all(word not in text for word in ("○ due", "running", "would run", "resumed"))
    assert "i3  no result here; the graph above has gone on" in ckpt("tree", "t", "--full", text=True)


def test_a_subgraph_that_waits_is_not_said_to_be_left(database: tuple[str, Any], ckpt: Ckpt) -> None:
    """Its next node stays due while the task that called it has not finished."""
    saver = database[1]
    calling(saver, Ran(), "asks").invoke({"log": ["in"]}, on("t"))
    ns = namespaces(saver)[0]
    ckpt("rollback", "t", "@^", "--ns", ns, "--yes")
    shown = ckpt("show", "t", "--ns", ns)
    assert (shown["next"], [task["status"] for task in shown["tasks"]]) == (["i2"], ["due"])
