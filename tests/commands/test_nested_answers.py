"""A question of a subgraph is answered under the names that the looks give it, and the plan shows what is answered."""

import json
import shlex
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt

from ckpt_cli.app import run
from ckpt_cli.output.line import Page, plain
from ckpt_cli.output.printer import render
from ckpt_cli.parameters.statuses import StatusOption
from tests import golden
from tests.commands.asking import look
from tests.commands.listing import threads
from tests.graphs.building import Log, on, says

Run = Callable[..., str]


def asks(name: str) -> Callable[[Any], Any]:
    """A node that asks with its name and logs the answer."""
    return lambda state: {"log": [(name, interrupt({"question": f"{name}?"}))]}


def build(saver: Any, inner_node: str = "ask") -> Any:
    """A graph in which `address` and the subgraph of `refund_desk` ask at the same time."""
    inner, outer = StateGraph(Log), StateGraph(Log)
    inner.add_node(inner_node, asks("refund"))
    inner.add_edge(START, inner_node)
    outer.add_node("address", asks("address"))
    outer.add_node("refund_desk", inner.compile())
    outer.add_edge(START, "address")
    outer.add_edge(START, "refund_desk")
    return outer.compile(checkpointer=saver)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "desk.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        build(SqliteSaver(connection)).invoke({"log": []}, on("t"))
    return path


@pytest.fixture
def ckpt(path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command line and gives what it printed."""

    def go(*words: str, code: int = 0) -> str:
        assert run([*words, "-d", str(path)]) == code
        printed = capsys.readouterr()
        return printed.out + printed.err

    return go


def test_the_listed_command_answers(path: Path, ckpt: Run) -> None:
    """What `threads --status waiting` prints answers both questions, and the real graph takes the answers."""
    view, _ = look(path, lambda session: threads(session, status=[StatusOption.WAITING]))
    line = next(text for one in render(view, Page(200, golden.NOW)) if "ckpt resume" in (text := plain(one)))
    words = [word.replace("JSON", '"yes"') for word in shlex.split(line)[1:]]
    assert "-i" in words
    ckpt(*words, "--yes")
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        after = build(SqliteSaver(connection)).invoke(None, on("t"))
    assert after["log"] == [("address", "yes"), ("refund", "yes")]


@pytest.mark.parametrize("name", ["ask", "refund_desk", "refund_desk › ask"])
def test_every_name_on_the_path(name: str, ckpt: Run) -> None:
    """The node, the node that called its graph, and both with the sign of the candidates name the same question."""
    plan = json.loads(ckpt("resume", "t", "-i", f"{name}=1", "--dry-run", "--json"))
    assert "refund_desk › ask (" in plan["summary"]
    assert plan["notes"][:2] == ['refund_desk › ask asks {"question": "refund?"}', "answer: 1"]


def test_a_name_of_two_questions_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A name that is one question's node and another's caller names neither of them; an unknown name has a hint."""
    path = tmp_path / "two.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        build(SqliteSaver(connection), inner_node="address").invoke({"log": []}, on("t"))
    assert run(["resume", "t", "-i", "address=1", "--dry-run", "-d", str(path)]) == 2
    assert "'address' fits 2 questions" in capsys.readouterr().err
    assert run(["resume", "t", "-i", "adress=1", "--dry-run", "-d", str(path)]) == 4
    assert "`ckpt resume t` lists the questions" in capsys.readouterr().err


def test_an_answered_thread_says_its_answer(ckpt: Run) -> None:
    """A second answer is refused with the first one and the commands that take it back."""
    ckpt("resume", "t", "-i", "ask=first", "-i", "address=second", "--yes")
    refused = ckpt("resume", "t", "--value", "third", code=4)
    assert 'refund_desk has the answer "first"' in refused
    assert "`ckpt undo N` takes it back" in refused


def sends_to_own_memory(saver: Any) -> Any:
    """A Send calls a subgraph with a memory of its own, whose second node asks beside another node that asks."""
    inner, outer = StateGraph(Log), StateGraph(Log)
    inner.add_node("look", says("look"))
    inner.add_node("ask", asks("refund"))
    inner.add_edge(START, "look")
    inner.add_edge("look", "ask")
    outer.add_node("address", asks("address"))
    outer.add_node("desk", inner.compile(checkpointer=True))
    outer.add_conditional_edges(START, lambda state: [Send("desk", {"log": []}), Send("address", {})])
    return outer.compile(checkpointer=saver)


def test_a_question_of_a_subgraph_with_its_own_memory_that_a_send_called(tmp_path: Path) -> None:
    """The answer is stored where its task reads it, and the other question goes on waiting."""
    path = tmp_path / "sends.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        graph = sends_to_own_memory(SqliteSaver(connection))
        graph.invoke({"log": []}, on("t"))
        assert run(["resume", "t", "-i", 'desk="yes"', "--yes", "-d", str(path)]) == 0
        graph.invoke(None, on("t"))
        assert [one.value["question"] for one in graph.get_state(on("t")).interrupts] == ["address?"]
        graph.invoke(Command(resume="here"), on("t"))
        logged = graph.get_state(on("t")).values["log"]
    assert [tuple(one) for one in logged[1:]] == [("refund", "yes"), ("address", "here")]


def test_an_answer_below_an_update_is_taken_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The update came before the answer, so nobody has used it; once a run has, `undo` refuses."""
    path = tmp_path / "updated.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        inner, outer = StateGraph(Log), StateGraph(Log)
        inner.add_node("ask", asks("refund"))
        inner.add_edge(START, "ask")
        outer.add_node("before", says("before"))
        outer.add_node("desk", inner.compile(checkpointer=True))
        outer.add_edge(START, "before")
        outer.add_edge("before", "desk")
        graph = outer.compile(checkpointer=SqliteSaver(connection))
        graph.invoke({"log": []}, on("t"))
        graph.update_state(on("t"), {"log": ["by hand"]}, as_node="before")
        graph.invoke(None, on("t"))
        rows = connection.execute("SELECT * FROM writes ORDER BY 1, 2, 3, 4, 5").fetchall()
        for verb in (["resume", "t", "--value", "yes"], ["undo"], ["resume", "t", "--value", "yes"]):
            assert run([*verb, "--yes", "-d", str(path)]) == 0
            is_as_before = connection.execute("SELECT * FROM writes ORDER BY 1, 2, 3, 4, 5").fetchall() == rows
            assert is_as_before == (verb == ["undo"])
        updated = graph.get_state(on("t")).config["configurable"]["checkpoint_id"]
        graph.invoke(None, on("t"))
        capsys.readouterr()
        assert run(["undo", "--yes", "-d", str(path)]) == 7
        assert f"`ckpt rollback t {updated}`" in capsys.readouterr().err
        assert tuple(graph.get_state(on("t")).values["log"][-1]) == ("refund", "yes")
