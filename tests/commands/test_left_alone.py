"""What is said of tasks that nothing is recorded of: after an update, a fork or an answer, and under a child."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from ckpt_cli.app import run
from ckpt_cli.commands.replay import replay
from ckpt_cli.commands.show import show
from ckpt_cli.commands.tree import tree
from ckpt_cli.output.line import Page, plain
from ckpt_cli.output.printer import render
from ckpt_cli.views.base import View
from tests import golden
from tests.commands.asking import at
from tests.commands.listing import threads
from tests.graphs import Graph
from tests.graphs.building import Log, line, on
from tests.graphs.waiting import until_stored

Place = tuple[Path, SqliteSaver]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A new database, and the real saver on it."""
    file = tmp_path / "left.sqlite"
    with closing(sqlite3.connect(file, check_same_thread=False)) as connection:
        yield file, SqliteSaver(connection)


def drawn(view: View) -> list[str]:
    """The lines on a terminal."""
    return [plain(part).strip() for part in render(view, Page(120, golden.NOW))]


def beside(saver: SqliteSaver, *, died: bool = False) -> Graph:
    """`done` finishes, while `ask` waits; or `ask` dies with its process."""

    def ask(state: Any) -> Any:
        if died:
            until_stored(saver)
            raise KeyboardInterrupt
        return {"log": [interrupt("sure?")]}

    builder = StateGraph(Log)
    builder.add_node("done", lambda state: {"log": ["done"]})
    builder.add_node("ask", ask)
    builder.add_edge(START, "done")
    builder.add_edge(START, "ask")
    return builder.compile(checkpointer=saver)


UPDATED = "○ b  would run next; nothing recorded since the update"


@pytest.mark.parametrize("killed", [False, True])
def test_an_update_that_nobody_ran(killed: bool, place: Place) -> None:
    """Nothing need have run since; a run killed in its first task leaves the same data, so it isn't denied either."""
    path, saver = place

    def die(state: Any) -> Any:
        raise KeyboardInterrupt

    graph = line(saver, "a", "b", schema=Log, nodes={"b": die})
    with pytest.raises(KeyboardInterrupt):
        graph.invoke({"log": []}, on("t"))
    assert "○ b  running, stopped, killed or copied; would run next" in drawn(at(path, tree, "t"))
    graph.update_state(on("t"), {"log": ["u"]}, as_node="a")
    if killed:
        with pytest.raises(KeyboardInterrupt):
            graph.invoke(None, on("t"))
    assert UPDATED in drawn(at(path, tree, "t"))
    assert "next  b  nothing recorded since the update" in drawn(at(path, show, "t"))
    assert any("unfinished (updated): b" in part for part in drawn(at(path, threads)))
    (view,) = at(path, threads).threads
    assert (view.status, view.next, view.nothing_since) == ("unfinished", ["b"], "update")


@pytest.mark.parametrize("verb", ["fork", "rollback"])
def test_a_fork_that_nobody_ran(verb: str, place: Place) -> None:
    """A new checkpoint of `fork` or `rollback` is neither running nor killed."""
    path, saver = place
    line(saver, "a", "b", schema=Log).invoke({"log": []}, on("t"))
    assert run([verb, "t", "step:1", "--yes", "-d", str(path)]) == 0
    assert "○ b  would run next; nothing recorded since the fork" in drawn(at(path, tree, "t"))
    assert any("unfinished (forked): b" in part for part in drawn(at(path, threads)))


def test_an_update_whose_run_left_something(place: Place) -> None:
    """As soon as one task has left a result, it may be a run's or carried from before, so neither is said."""
    path, saver = place
    graph = beside(saver, died=True)
    graph.update_state(on("t"), {"log": []}, as_node="__start__")
    assert any("nothing recorded since the update" in part for part in drawn(at(path, tree, "t")))
    with pytest.raises(KeyboardInterrupt):
        graph.invoke(None, on("t"))
    with saver.conn:  # a process that is killed records no error
        saver.conn.execute("delete from writes where channel = '__error__'")
    assert "○ ask  would run next" in drawn(at(path, tree, "t"))
    assert not any("(updated)" in part for part in drawn(at(path, threads)))


def test_an_answer_that_no_run_has_taken(place: Place) -> None:
    """`threads` tells it from a run that was killed, until a run takes the answer."""
    path, saver = place
    graph = beside(saver)
    graph.invoke({"log": []}, on("t"))
    assert run(["resume", "t", "--value", "true", "--yes", "-d", str(path)]) == 0
    assert any("unfinished (answered): ask" in part for part in drawn(at(path, threads)))
    (view,) = at(path, threads).threads
    assert (view.status, view.answered) == ("unfinished", ["ask"])
    graph.invoke(None, on("t"))
    (view,) = at(path, threads).threads
    assert (view.status, view.answered) == ("done", [])


def test_a_state_without_the_results_of_finished_tasks(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """`get_state` of the head applies them; ckpt shows what is stored, says so, and `replay` shows what they give."""
    path, saver = place
    graph = beside(saver)
    graph.invoke({"log": ["in"]}, on("t"))
    head = graph.get_state(on("t"))
    stored = graph.get_state(head.config).values
    assert (head.values, stored) == ({"log": ["in", "done"]}, {"log": ["in"]})
    view = at(path, show, "t")
    assert {name: one.value for name, one in view.channels.items()} == stored
    hint = "what has finished is not in this state yet: ckpt replay t"
    assert hint in drawn(view)
    assert run(["threads", "--where", 'log == ["in"]', "--query", "threads[].thread_id", "-d", str(path)]) == 0
    assert json.loads(capsys.readouterr().out) == ["t"]
    assert "+ [1]  “done”" in drawn(at(path, replay, "t", reducer=["log=append"]))
    graph.update_state(on("t"), None, as_node="__end__")
    assert hint not in drawn(at(path, show, "t"))
    assert not any("not in this state" in part for part in drawn(at(path, show, "t", "@^")))


def test_nothing_is_due_where_a_child_goes_on(place: Place) -> None:
    """A task without a record under a child is said to have no result stored: neither due, nor to be run again."""
    path, saver = place
    graph = line(saver, "a", "b", "c", schema=Log, interrupt_before=["b"])
    graph.invoke({"log": []}, on("t"))
    left = graph.get_state(on("t")).config["configurable"]["checkpoint_id"]
    assert any("○ due" in part for part in drawn(at(path, show, "t", left)))
    assert any("due  would run" in part for part in drawn(at(path, replay, "t", left)))
    graph.update_state(on("t"), {"log": ["u"]}, as_node="a")
    for view in (at(path, show, "t", left), at(path, replay, "t", left, reducer=["log=append"])):
        text = "\n".join(drawn(view))
        assert "b  ○ no result stored" in text
        assert "run again" not in text
        assert "kept" not in text
