"""An answer that an earlier ``Command(resume=…)`` left: ``invoke(None, config)`` takes it, and looks say so."""

import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.errors import NodeInterrupt
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from ckpt_cli.app import run
from ckpt_cli.commands.resume import resume
from ckpt_cli.output.line import Page, plain
from ckpt_cli.output.printer import render
from ckpt_cli.parameters.statuses import StatusOption
from tests.commands.asking import look
from tests.commands.listing import threads
from tests.commands.test_answers import THREAD, Asked, asked
from tests.graphs.building import Log, line, on

__all__ = ["asked"]


def asks_twice(state: Any) -> Any:
    """Ask two questions."""
    return {"log": [interrupt("first?"), interrupt("second?")]}


def build(saver: Any, *, nested: bool) -> Any:
    """A graph, or a subgraph in it, whose node asks two questions."""
    inner, outer = StateGraph(Log), StateGraph(Log)
    inner.add_node("ask", asks_twice)
    inner.add_edge(START, "ask")
    outer.add_node("sub", inner.compile())
    outer.add_edge(START, "sub")
    return (outer if nested else inner).compile(checkpointer=saver)


@pytest.mark.parametrize("by_id", [False, True])
@pytest.mark.parametrize("nested", [False, True])
def test_the_next_question_takes_it(
    nested: bool, by_id: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Looks name the old answer exactly if the real library gives it to the second question."""
    path = tmp_path / "asks.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        graph = build(SqliteSaver(connection), nested=nested)
        asked = graph.invoke({"log": ["in"]}, on("t"))["__interrupt__"][0]
        graph.invoke(Command(resume={asked.id: "A1"} if by_id else "A1"), on("t"))
        found, texts = [], []
        below = f"sub:{graph.get_state(on('t')).tasks[0].id}" if nested else ""
        for words in (["show", "t"], ["replay", "t"], ["threads"], ["resume", "t"], ["show", "t", "--ns", below]):
            assert run([*words, "-d", str(path), "--json"]) == 0
            view = json.loads(capsys.readouterr().out)
            found.append((view["threads"][0] if "threads" in view else view)["old_answers"])
            assert run([*words, "-d", str(path)]) == 0
            texts.append(capsys.readouterr().out)
        waiting, _ = look(path, lambda session: threads(session, status=[StatusOption.WAITING]))
        questions, _ = look(path, lambda session: resume(session, "t"))
        on_terminal = ["\n".join(map(plain, render(view, Page(200, 0)))) for view in (waiting, questions)]
        assert run(["resume", "t", "--value", "A2", "--dry-run", "-d", str(path)]) == 0
        plan = capsys.readouterr().out
        after = graph.invoke(None, on("t"))
    taken = after["log"][-1:] == ["A1"] and "__interrupt__" not in after
    assert taken is not by_id
    assert found == [["A1"] if taken else []] * 5
    assert ["“A1” is stored for no particular question" in text for text in on_terminal] == [taken] * 2
    assert ('the answer "A1", which an earlier Command(resume=…) left, is removed' in plan) is taken
    assert ("“A1” is stored for no particular question" in texts[0]) is taken


def test_undo_takes_back_what_replaced_a_commands_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An answer that took the place of a Command's, which had an update too, is taken back, row for row."""
    path = tmp_path / "asks.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        graph = build(SqliteSaver(connection), nested=True)
        graph.invoke({"log": ["in"]}, on("t"))
        graph.invoke(Command(resume="A1", update={"log": ["by the way"]}), on("t"))
        rows = connection.execute("SELECT * FROM writes ORDER BY 1, 2, 3, 4, 5").fetchall()
        assert run(["resume", "t", "--value", "A2", "--yes", "-d", str(path)]) == 0
        assert "is removed" in capsys.readouterr().out
        assert run(["undo", "--yes", "-d", str(path)]) == 0
        assert connection.execute("SELECT * FROM writes ORDER BY 1, 2, 3, 4, 5").fetchall() == rows


@pytest.mark.parametrize("calls", [1, 2])
def test_a_question_of_a_graph_that_stores_nothing(calls: int, asked: Asked) -> None:
    """The next run's first question takes its answer, as the plan says; where another may ask first, none is stored."""

    def build(saver: Any) -> Any:
        inner, outer = StateGraph(Log), StateGraph(Log)
        for number in range(calls):
            inner.add_node(f"ask{number}", lambda _, number=number: {"log": [interrupt(f"{number}?")]})
            inner.add_edge(START, f"ask{number}")
        inner.add_node("again", lambda _: {"log": [interrupt("again?")]})
        inner.add_edge("ask0", "again")
        outer.add_node("desk", inner.compile(checkpointer=False))
        outer.add_edge(START, "desk")
        return outer.compile(checkpointer=saver)

    graph = asked.start(build, {"log": []})
    assert len(asked.ids()) == calls
    before = asked.rows()
    if calls == 1:
        assert any("begins anew" in note for note in asked.answer("--value", "yes")["notes"])
        assert [one.value for one in graph.invoke(None, on(THREAD))["__interrupt__"]] == ["again?"]
        graph.invoke(Command(resume="no"), on(THREAD))
        before = asked.rows()
    for words in (["--value", "yes", "-i", asked.ids()[0]], ["--value", "yes", "--answer-all"]):
        assert "no checkpoint is stored" in asked.ckpt(*words, "--yes", code=7)["message"]
    assert asked.rows() == before


@pytest.mark.parametrize("is_node", [True, False])
@pytest.mark.parametrize("memory", [None, True])
def test_a_question_of_a_subgraph_in_a_graph_that_stores_nothing(
    is_node: bool, memory: bool | None, asked: Asked
) -> None:
    """No run continues that subgraph, so the next run's first question takes the answer; a second one is refused."""

    def build(saver: Any) -> Any:
        inner = line(memory, "look", "ask", schema=Log, nodes={"ask": asks_twice})
        hidden = line(False, "desk", schema=Log, nodes={"desk": inner})
        return line(
            saver, "sub", schema=Log, nodes={"sub": hidden if is_node else lambda _: hidden.invoke({"log": []})}
        )

    asked.start(build, {"log": []})
    assert any("begins anew" in note for note in asked.answer("--value", "one")["notes"])
    assert [one.value for one in asked.go_on()["__interrupt__"]] == ["second?"]
    before = asked.rows()
    assert "asks its earlier question again" in asked.ckpt("--value", "two", "--yes", code=7)["message"]
    assert asked.rows() == before


def test_an_answer_for_a_question_that_nobody_asked_yet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A node failed before it asked, in a run that was given an answer: its question takes that, and looks say so."""
    path, is_down = tmp_path / "t.sqlite", True

    def vote(_: Any) -> Any:
        if is_down:
            raise ValueError("down")
        return {"log": [interrupt("publish?")]}

    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = StateGraph(Log).add_node("vote", vote).add_edge(START, "vote").compile(checkpointer=saver)
        for given in ({"log": ["in"]}, Command(resume="boom")):
            with pytest.raises(ValueError, match="down"):
                graph.invoke(given, on("t"))
        for words in (["show", "t"], ["replay", "t"], ["threads"]):
            assert run([*words, "-d", str(path), "--json"]) == 0
            view = json.loads(capsys.readouterr().out)
            assert (view["threads"][0] if "threads" in view else view)["old_answers"] == ["boom"]
        is_down = False
        assert graph.invoke(None, on("t"))["log"] == ["in", "boom"]
        assert run(["show", "t", "-d", str(path), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["old_answers"] == []


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("was_asked", [False, True])
def test_an_answer_that_a_task_took_before_it_failed(
    nested: bool, was_asked: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its second question takes it again, so looks name it, and a copy with the writes says that it goes along."""
    path, breaks = tmp_path / "t.sqlite", ["after"] if was_asked else ["before", "after"]

    def node(_: Any) -> Any:
        for place, ask in (("before", "first?"), ("after", "second?")):
            if breaks[:1] == [place]:
                raise ValueError(breaks.pop(0))
            answers.append(interrupt(ask))
        return {"log": [*answers]}

    answers: list[str] = []
    with SqliteSaver.from_conn_string(str(path)) as saver:
        sub = StateGraph(Log).add_node("ask", node).add_edge(START, "ask").compile(None if nested else saver)
        graph = StateGraph(Log).add_node("sub", sub).add_edge(START, "sub").compile(saver) if nested else sub
        for given in ({"log": ["in"]}, Command(resume="A")):
            with suppress(ValueError):
                graph.invoke(given, on("t"))
        for words in (["show", "t"], ["replay", "t"], ["threads"]):
            assert run([*words, "-d", str(path), "--json"]) == 0
            view = json.loads(capsys.readouterr().out)
            assert (view["threads"][0] if "threads" in view else view)["old_answers"] == ["A"]
        assert run(["fork", "t", "--to", "copy", "--with-pending", "--yes", "-d", str(path)]) == 0
        assert 'the answer "A" of a Command(resume=…)' in capsys.readouterr().out
        for thread in ("copy", "t"):
            answers.clear()
            assert "__interrupt__" not in graph.invoke(None, on(thread))
            assert answers == ["A", "A"]


def test_a_later_steps_question_gets_no_left_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A node took the answer and failed; its next run ends the step, and the next node's question is asked."""
    fails = [True]

    def first(_: dict[str, Any]) -> dict[str, Any]:
        taken = interrupt("ok?")
        if fails:
            raise ValueError(fails.pop())
        return {"log": [taken]}

    path = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        builder = StateGraph(Log).add_node("first", first).add_node("second", lambda _: {"log": [interrupt("sign?")]})
        app = builder.add_edge(START, "first").add_edge("first", "second").compile(checkpointer=SqliteSaver(connection))
        app.invoke({"log": []}, on("t"))
        with pytest.raises(ValueError, match="True"):
            app.invoke(Command(resume="yes"), on("t"))
        assert run(["show", "t", "-d", str(path)]) == 0
        assert "the first interrupt() without an answer in the next step takes it" in capsys.readouterr().out
        after = app.invoke(None, on("t"))
    assert after["log"] == ["yes"] and [one.value for one in after["__interrupt__"]] == ["sign?"]


@pytest.mark.filterwarnings("ignore:NodeInterrupt is deprecated")
def test_an_answer_left_at_a_node_interrupt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It takes none, and its node may ask with ``interrupt()`` when it runs again: that takes the answer unasked."""
    is_open = False

    def asks(_: dict[str, Any]) -> dict[str, Any]:
        if not is_open:
            raise NodeInterrupt("why?")
        return {"log": [interrupt("sign?")]}

    path = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        app = StateGraph(Log).add_node("asks", asks).add_edge(START, "asks").compile(SqliteSaver(connection))
        app.invoke({"log": []}, on("t"))
        for _ in range(2):
            assert app.invoke(Command(resume="yes"), on("t"))["__interrupt__"][0].value == "why?"
        assert run(["show", "t", "-d", str(path)]) == 0
        assert "the first interrupt() without an answer in the next step takes it" in capsys.readouterr().out
        assert run(["threads", "-d", str(path)]) == 0
        assert "has answer" in capsys.readouterr().out
        is_open = True
        assert app.invoke(None, on("t"))["log"] == ["yes"]


def test_a_call_that_left_gets_no_left_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A subgraph that went to the graph above has no next step; that graph's question takes the answer."""
    path = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        leaves = Command(graph=Command.PARENT, goto="asks")
        inner = StateGraph(Log).add_node("leaf", lambda _: leaves).add_edge(START, "leaf").compile()
        builder = StateGraph(Log).add_node("sub", inner).add_node("asks", asks_twice).add_edge(START, "sub")
        app = builder.compile(checkpointer=SqliteSaver(connection))
        app.invoke({"log": []}, on("t"))
        app.invoke(Command(resume="r"), on("t"))
        [[ns]] = connection.execute("SELECT DISTINCT checkpoint_ns FROM checkpoints WHERE checkpoint_ns != ''")
        for words, answers in ((["--ns", ns], []), ([], ["r"])):
            assert run(["show", "t", *words, "--json", "-d", str(path)]) == 0
            assert json.loads(capsys.readouterr().out)["old_answers"] == answers
        assert app.invoke(None, on("t"))["log"] == ["r", "r"]
