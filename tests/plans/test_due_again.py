"""Tasks that begin again after an update or a copy: the plan names them, and the run of the real library agrees."""

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, interrupt
from pydantic import SecretStr

from ckpt_cli.app import run
from tests.graphs import Graph
from tests.graphs.building import Bag, Log, line, on
from tests.graphs.recent import Deltas

Ran = list[str]
Open = Callable[[str], Any]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[tuple[str, Any]]:
    """A new database: its path, and the real saver on it."""
    path = tmp_path / "again.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        yield str(path), SqliteSaver(connection)


def noting(ran: Ran, name: str, act: Callable[[Any], Any] | None = None) -> Callable[[Any], Any]:
    """A node that notes each of its runs in `ran`."""

    def node(state: Any) -> Any:
        ran.append(name)
        return {"log": [name]} if act is None else act(state)

    return node


def asks(state: Any) -> Any:
    """Ask, and log the answer."""
    return {"log": [interrupt("sure?")]}


def beside(saver: Any, ran: Ran) -> Graph:
    """After `router`, `done` finishes while `ask` waits."""
    builder = StateGraph(Log)
    for name in ("router", "done", "ask"):
        builder.add_node(name, noting(ran, name, asks if name == "ask" else None))
    builder.add_edge(START, "router")
    builder.add_edge("router", "done")
    builder.add_edge("router", "ask")
    return builder.compile(checkpointer=saver)


def fan(saver: Any, ran: Ran) -> Graph:
    """Two tasks of `done` finish while `ask` waits; all three are Sends."""
    builder = StateGraph(Log)
    builder.add_node("router", noting(ran, "router"))
    builder.add_node("done", noting(ran, "done"))
    builder.add_node("ask", noting(ran, "ask", asks))
    builder.add_edge(START, "router")
    sends = [Send("done", {"log": [1]}), Send("done", {"log": [2]}), Send("ask", {})]
    builder.add_conditional_edges("router", lambda _: sends, ["done", "ask"])
    return builder.compile(checkpointer=saver)


def plan_of(path: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> Any:
    """Apply a change, and give its plan."""
    assert run([*words, "-d", path, "--yes", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


UPDATE = ["update", "--values", '{"log": ["u"]}', "--reducer", "log=append"]
FINISHED = {
    1: "done has finished at that checkpoint; after the new one it runs again",
    2: "done (2 tasks) have finished at that checkpoint; after the new one they run again",
}
STARTS_AGAIN = "ask waits for an answer at that checkpoint; after the new one it runs again from its start"
SEND = 'done={"log": [3]}'
UPDATES = {
    "as the node before": (beside, ["--as-node", "router"], 1, True, ["done", "ask"]),
    "on to one of both": (beside, ["--as-node", "router", "--next", "done"], 1, False, ["done"]),
    "as what waits": (beside, ["--as-node", "ask", "--next", "END"], 0, False, []),
    "as what finished": (beside, ["--as-node", "done", "--next", "done"], 1, False, ["done"]),
    "from the start": (beside, ["--as-node", "__start__"], 0, False, ["router", "done", "ask"]),
    "as input": (beside, ["--as-input"], 1, True, ["done", "ask"]),
    "Sends as input": (fan, ["--as-input"], 2, True, ["done", "done", "ask"]),
    "another Send": (fan, ["--as-node", "router", "--next", SEND], 0, False, ["done"]),
}


@pytest.mark.parametrize("name", UPDATES)
def test_an_update_names_what_runs_again(
    name: str, database: tuple[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """In the words of `fork`; what isn't due again is dropped or cleared, and the real run runs just what was said."""
    build, words, finished, asks_again, expected = UPDATES[name]
    path, saver = database
    ran = Ran()
    graph = build(saver, ran)
    graph.invoke({"log": []}, on("t"))
    ran.clear()
    notes = plan_of(path, [*UPDATE, "t", *words], capsys)["notes"]
    assert [note for note in notes if " again" in note] == [
        *([FINISHED[finished]] if finished else []),
        *([STARTS_AGAIN] if asks_again else []),
    ]
    names = "done (2 tasks)" if build is fan else "done"
    assert (f"dropped: the results of {names}" in notes) is (not finished)
    assert ("cleared: ask (waiting)" in notes) is (not asks_again)
    graph.invoke(None, on("t"))
    assert sorted(ran) == sorted(expected)


def test_an_end_runs_nothing_again(database: tuple[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """It keeps what has finished, so nothing of it is said to run again."""
    path, saver = database
    graph = beside(saver, [])
    graph.invoke({"log": []}, on("t"))
    notes = plan_of(path, ["replay", "t", "--commit", "--reducer", "log=append"], capsys)["notes"]
    assert not [note for note in notes if " again" in note]
    assert graph.get_state(on("t")).next == ()


LEAVE = {
    "fork": ["fork", "t", "@"],
    "fork to a thread": ["fork", "t", "@", "--to", "other"],
    "rollback": ["rollback", "t", "@"],
    "edit": ["edit", "t", "--set", 'log=["e"]', "--rerun"],
    "update": [*UPDATE, "t", "--as-node", "first"],
}


@pytest.mark.parametrize("stateful", [False, True])
@pytest.mark.parametrize("verb", LEAVE)
def test_a_subgraph_that_ran_in_part(
    verb: str, stateful: bool, database: tuple[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """It starts again, since its namespace has the id of the old task; one that keeps its own memory isn't spoken of.

    The latter continues or starts again, as the config of the run has it, so nothing true can be said.
    """
    path, saver = database
    ran, fail = Ran(), [True]

    def second(state: Any) -> Any:
        if fail[0]:
            raise ValueError("no")
        return {"log": ["second"]}

    inner = StateGraph(Log)
    inner.add_node("s1", noting(ran, "s1"))
    inner.add_node("s2", noting(ran, "s2", second))
    inner.add_edge(START, "s1")
    inner.add_edge("s1", "s2")
    graph = line(
        saver, "first", "sub", schema=Log, nodes={"sub": inner.compile(checkpointer=True if stateful else None)}
    )
    with suppress(ValueError):
        graph.invoke({"log": []}, on("t"))
    fail[0] = False
    ran.clear()
    view = plan_of(path, LEAVE[verb], capsys)
    said = "sub (a subgraph) ran in part; after the new checkpoint it starts again" in view["notes"]
    assert said is not stateful
    graph.invoke(None, on(view["config"]["configurable"]["thread_id"]))
    if said:
        assert ran == ["s1", "s2"]


def goes(state: Any) -> Any:
    """Go on by a Command."""
    return Command(update={"log": ["x"]}, goto="y")


def routed(saver: Any, kind: str) -> Graph:
    """`x` goes to `y` by an edge, by a condition on the state, by a Command, or by both to `y` and `z`."""
    builder = StateGraph(Log)
    builder.add_node("x", goes if kind in ("command", "both") else lambda state: {"log": ["x"]})
    for name in ("y", "z"):
        builder.add_node(name, lambda state: {"log": ["late"]})
    builder.add_edge(START, "x")
    if kind == "edge":
        builder.add_edge("x", "y")
    if kind == "condition":
        builder.add_conditional_edges("x", lambda state: "z" if "u" in state["log"] else "y", ["y", "z"])
    if kind == "both":
        builder.add_edge("x", "z")
    return builder.compile(checkpointer=saver)


DOUBT = (
    "update_state follows only edges, and evaluates conditional ones anew: if they lead elsewhere, or if x went there "
    "by Command(goto=…), name the nodes with --next"
)


@pytest.mark.parametrize("kind", ["edge", "condition", "command", "both"])
def test_a_route_may_be_a_commands(kind: str, database: tuple[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """The real call takes only edges, and no stored data tells them from a Command: the plan says so, unless --next."""
    path, saver = database
    graph = routed(saver, kind)
    for thread in ("real", "told", "guessed"):
        graph.invoke({"log": []}, on(thread))
    graph.update_state(on("real"), {"log": ["u"]}, as_node="x")
    expected = {"edge": ("y",), "condition": ("z",), "command": (), "both": ("z",)}[kind]
    assert graph.get_state(on("real")).next == expected
    words = [*UPDATE, "--as-node", "x"]
    assert DOUBT in plan_of(path, [*words, "guessed"], capsys)["notes"]
    notes = plan_of(path, [*words, "told", "--next", ",".join(expected) or "END"], capsys)["notes"]
    assert DOUBT not in notes
    assert graph.get_state(on("told")).next == expected


def test_a_route_to_the_end_may_be_a_conditions(database: tuple[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """A condition that has always led to the end may lead elsewhere now, as in the real call."""
    path, saver = database
    builder = StateGraph(Log).add_node("x", lambda state: {"log": ["x"]}).add_node("z", lambda state: {"log": ["late"]})
    builder.add_edge(START, "x")
    builder.add_conditional_edges("x", lambda state: "z" if "u" in state["log"] else END, ["z", END])
    app = builder.compile(checkpointer=saver)
    app.invoke({"log": []}, on("t"))
    notes = plan_of(path, [*UPDATE, "--as-node", "x", "t"], capsys)["notes"]
    assert any(note.startswith("update_state follows only edges") for note in notes)
    app.update_state(on("t"), {"log": ["u"]}, as_node="x")
    assert app.get_state(on("t")).next == ("z",)


def test_an_update_shows_what_it_makes_of_the_state(
    database: tuple[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Before and after are the real call's, so a wrong reducer is seen; what stays the same is named."""
    path, saver = database
    graph = line(saver, "a", "b", schema=Bag, nodes={"a": lambda _: {"n": 1, "log": ["x" * 500]}})
    graph.invoke({"log": [], "fail": False}, on("t"))
    before = graph.get_state(on("t")).values
    words = ["update", "t", "--as-node", "b", "--values", '{"n": 2, "log": ["more"], "fail": false}', "--next", "END"]
    words += ["--reducer", "n=sum", "--reducer", "fail=last", "-d", path]
    assert run([*words, "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "  ~ n    1 → 3\n" in shown
    assert "  ~ log  2 kept, 1 added\n    + [2]  “more”\n" in shown
    assert "  the same as before: fail\n" in shown
    view = plan_of(path, words[:-2], capsys)
    after = graph.get_state(on("t")).values
    assert (before["n"], after["n"]) == (1, 3)
    assert {one["path"]: (one["before"], one["after"]) for one in view["changes"]}["n"] == (1, 3)
    assert {one["path"] for one in view["changes"]} == {name for name in after if after[name] != before.get(name)}


def test_the_change_of_a_delta_channel(database: tuple[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """Its value is rebuilt on both sides, as the real graph reads it."""
    path, saver = database
    graph = line(saver, "one", "two", schema=Deltas)
    for turn in range(3):
        graph.invoke({"log": [turn]}, on("t"))
    before = graph.get_state(on("t")).values["log"]
    (change,) = plan_of(path, [*UPDATE, "t", "--as-node", "two", "--next", "END"], capsys)["changes"]
    assert graph.get_state(on("t")).values["log"] == [*before, "u"]
    assert (change["counts"]["kept"], change["counts"]["added"]) == (len(before), 1)
    assert [(part["path"], part["after"]) for part in change["parts"]] == [(f"log[{len(before)}]", "u")]


class Keys(TypedDict, total=False):
    """A secret, and much else."""

    key: SecretStr
    many: dict[str, int]
    text: str


def test_the_changes_are_bounded_and_masked(database: tuple[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """No secret is printed, a channel with many differences hides no other, and a long new text takes one line."""
    path, saver = database
    many = {f"k{number}": number for number in range(60)}
    node = {"keep": lambda state: {"key": SecretStr("hunter2"), "many": many}}
    line(saver, "keep", schema=Keys, nodes=node).invoke({"many": {}}, on("t"))
    values = {"key": "open", "many": dict.fromkeys(many, -1), "text": "long " * 9000}
    words = ["update", "t", "--as-node", "keep", "--next", "END", "--values", json.dumps(values), "-d", path]
    words += ["--reducer", "key=last", "--reducer", "many=last", "--reducer", "text=last", "--dry-run"]
    assert run(words) == 0
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) < 30
    assert "… 50 more differences (--json has all)" in shown
    assert re.search(r"~ key +SecretStr\(.*→ “open”", shown)
    assert re.search(r"[+] text +“long long .*…”", shown)
    assert run([*words, "--json"]) == 0
    caught = capsys.readouterr().out
    assert len(json.loads(caught)["changes"]) == 3
    assert "hunter2" not in shown + caught
