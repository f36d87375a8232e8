"""Answers to questions whose subgraph was changed after it asked: real runs take them, or ckpt records none."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from ckpt_cli.app import run
from tests.graphs import Graph
from tests.graphs.building import Bag, line, on, says
from tests.twins.twin import RELEASES, Copies

EDIT = ["edit", "@", "--set", 'log=["edited"]', "--rerun", "--create"]
CHANGES = {
    "edit": EDIT,
    "update": ["update", "@", "--values", '{"log": ["x"]}', "--as-node", "__start__", "--reducer", "log=append"],
    "rollback": ["rollback", "@"],
    "rollback further": ["rollback", "@~1"],
    "fork": ["fork", "@"],
}
PLACES = [("subgraphs", "sub-waiting", 1), ("subgraphs", "sub-waiting", 0), ("subgraphs_by_send", "sub-sends", 0)]
"""Scenario, thread, and which of its subgraphs, outer ones first, of those that wait."""
NEXT = {"subgraphs": ["pre", "leaf"], "subgraphs_by_send": ["work"]}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(("name", "thread", "place"), PLACES)
@pytest.mark.parametrize("release", RELEASES)
def test_the_next_run_takes_the_answer(
    name: str, thread: str, place: int, change: str, copies: Copies, capsys: pytest.CaptureFixture[str]
) -> None:
    """After any change in a subgraph that waits, an answer is taken once, by the question it was given to."""
    twin, _ = copies.pair(name, thread)
    waiting = [ns for ns in twin.ask("namespaces") if bears_question(twin.path, thread, ns)]
    ns = sorted(waiting, key=len)[place]
    verb, *words = CHANGES[change]
    words += ["--next", NEXT[name][place]] if verb == "update" else []
    twin.ckpt(verb, *words, "--ns", ns)
    capsys.readouterr()
    twin.ckpt("resume", "--value", '"the answer"')
    assert "there, and the first question that it asks gets this answer" in capsys.readouterr().out
    end = twin.ask("answered", None)
    assert "__interrupt__" not in end
    assert json.dumps(end).count("the answer") == 1
    assert twin.ask("questions") == []


def bears_question(path: Path, thread: str, ns: str) -> bool:
    """Whether a question is recorded in a namespace."""
    with closing(sqlite3.connect(path)) as connection:
        asked = "SELECT 1 FROM writes WHERE thread_id = ? AND checkpoint_ns = ? AND channel = '__interrupt__'"
        return connection.execute(asked, (thread, ns)).fetchone() is not None


def successive(saver: Any) -> Graph:
    """A subgraph with a node that asks twice."""
    ask = {"ask": lambda s: {"log": [interrupt("first?"), interrupt("second?")]}}
    return line(saver, "child", "last", nodes={"child": line(None, "ask", nodes=ask)})


def one_after_the_other(saver: Any) -> Graph:
    """A subgraph with two nodes that ask."""
    ask = {name: lambda s, name=name: {"log": [interrupt(f"{name}?")]} for name in ("first", "second")}
    return line(saver, "child", "last", nodes={"child": line(None, "first", "second", nodes=ask)})


def side_by_side(saver: Any) -> Graph:
    """Two subgraphs that ask in one step."""
    builder = StateGraph(Bag)
    for name in ("one", "two"):
        leaf = {"ask": lambda s, name=name: {"log": [interrupt(f"{name}?")]}}
        builder.add_node(name, line(None, "ask", nodes=leaf))
        builder.add_edge(START, name)
    return builder.compile(checkpointer=saver)


REFUSED = {
    "a second question": (
        successive,
        1,
        ["rollback", "@"],
        0,
        "that may be an earlier question, which was answered before",
    ),
    "an earlier node's": (
        one_after_the_other,
        1,
        ["rollback", "@~1"],
        0,
        "that may be an earlier question, which was answered before",
    ),
    "a sibling's": (side_by_side, 0, ["rollback", "@"], 0, "another task may ask first"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_answer_that_another_question_would_take(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is refused, nothing is written, and after the run that is named the question can be answered."""
    build, answers, change, place, words = REFUSED[name]
    path = tmp_path / "changed.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        graph = build(SqliteSaver(connection))
        graph.invoke({"log": []}, on("t"))
        for _ in range(answers):
            graph.invoke(Command(resume="earlier"), on("t"))
        query = "SELECT DISTINCT checkpoint_ns FROM writes WHERE checkpoint_ns != ''"
        ns = sorted(ns for (ns,) in connection.execute(query))[place]
        db = ["-d", str(path), "--yes"]
        assert run([change[0], "t", *change[1:], "--ns", ns, *db]) == 0
        asked = {one.value: one.id for one in graph.get_state(on("t")).interrupts}
        stale = asked.get("one?" if ns.startswith("one") else "two?", next(iter(asked.values())))
        before = connection.execute("SELECT * FROM writes").fetchall()
        capsys.readouterr()
        assert run(["resume", "t", "-i", f'{stale}="mine"', *db]) == 7
        error = capsys.readouterr().err
        assert words in error and "let the application run graph.invoke(None, config)" in error
        assert connection.execute("SELECT * FROM writes").fetchall() == before
        graph.invoke(None, on("t"))
        again = {one.id for one in graph.get_state(on("t")).interrupts}
        for one in again:
            assert run(["resume", "t", "-i", f'{one}="mine"', *db]) == 0
        graph.invoke(None, on("t"))
        assert not again & {one.id for one in graph.get_state(on("t")).interrupts}


MOVED = {
    "as what asks": ("ask", "after", "the next run goes on with after there"),
    "as the last": ("after", "END", "nothing is left to run there"),
}
"""The node as which the application updates, the node that ckpt names as the next one, and what is said."""


@pytest.mark.parametrize("deep", [False, True], ids=["child", "deeper"])
@pytest.mark.parametrize("by", ["application", "ckpt"])
@pytest.mark.parametrize("name", MOVED)
def test_a_subgraph_that_was_moved_past_its_question(
    name: str, by: str, deep: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing there takes an answer: none is recorded, the list says why, and the run goes on without one."""
    path = tmp_path / "moved.sqlite"
    as_node, after, why = MOVED[name]
    inner = line(None, "ask", "after", nodes={"ask": lambda s: {"log": [interrupt("first?")]}})
    inner = line(None, "outer", nodes={"outer": inner}) if deep else inner
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        graph = line(SqliteSaver(connection), "child", "last", nodes={"child": inner})
        graph.invoke({"log": []}, on("t"))
        task = graph.get_state(on("t"), subgraphs=True).tasks[0]
        config = (task.state.tasks[0] if deep else task).state.config
        db = ["-d", str(path), "--yes"]
        if by == "application":
            graph.update_state(config, {"log": ["x"]}, as_node=as_node)
        else:
            ns, values = (
                config["configurable"]["checkpoint_ns"],
                ["--values", '{"log": ["x"]}', "--reducer", "log=append"],
            )
            assert run(["update", "t", "@", "--ns", ns, "--as-node", "ask", "--next", after, *values, *db]) == 0
        before = connection.execute("SELECT * FROM writes").fetchall()
        capsys.readouterr()
        assert run(["resume", "t", "--json", *db[:2]]) == 0
        [question] = json.loads(capsys.readouterr().out)["questions"]
        assert why in question["past"]
        assert run(["resume", "t", "--value", '"mine"', *db]) == 7
        error = capsys.readouterr().err
        assert "takes no answer: its subgraph was moved past the question" in error and why in error
        assert connection.execute("SELECT * FROM writes").fetchall() == before
        end = graph.invoke(None, on("t"))
        assert "__interrupt__" not in end and graph.get_state(on("t")).next == ()


def test_a_node_that_asks_after_its_subgraph(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its own question is answered under its own task, whatever was changed in the subgraph that it called."""
    inner = line(None, "leaf", nodes={"leaf": says("leaf")})

    def asks(state: Any) -> Any:
        return {"log": [*inner.invoke({"log": []})["log"], interrupt("own?")]}

    path = tmp_path / "own.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        graph = line(SqliteSaver(connection), "ask", nodes={"ask": asks})
        graph.invoke({"log": []}, on("t"))
        assert connection.execute("SELECT 1 FROM checkpoints WHERE checkpoint_ns != ''").fetchone()
        assert run(["resume", "t", "--value", '"mine"', "-d", str(path), "--yes"]) == 0
        assert "was changed after it asked" not in capsys.readouterr().out
        assert graph.invoke(None, on("t"))["log"] == ["leaf", "mine"]


@pytest.mark.parametrize("by_id", [False, True], ids=["Command(resume=value)", "by id"])
def test_an_edit_in_a_subgraph_says_what_the_question_gets(
    by_id: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An answer that was given without an id stays at the root, and the repeated question takes it again."""
    path = tmp_path / "left.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        graph = successive(SqliteSaver(connection))
        graph.invoke({"log": []}, on("t"))
        asked = graph.get_state(on("t")).interrupts[0].id
        graph.invoke(Command(resume={asked: "mine"} if by_id else "mine"), on("t"))
        ((ns,),) = connection.execute("SELECT DISTINCT checkpoint_ns FROM writes WHERE checkpoint_ns != ''").fetchall()
        assert run(["edit", "t", "--set", "n=5", "--create", "--rerun", "--ns", ns, "-d", str(path), "--yes"]) == 0
        said = capsys.readouterr().out
        graph.invoke(None, on("t"))
        (waiting,) = graph.get_state(on("t")).interrupts
    assert waiting.value == ("first?" if by_id else "second?")
    assert ("the question is asked again" in said) is by_id
    taken = (
        'Command(resume=…) left the answer "mine": the first interrupt() without an answer in the next step takes it'
    )
    assert (taken in said) is not by_id
