"""`ckpt watch` shows what happens at a head without a new checkpoint: answers, further questions, other errors."""

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from ckpt_cli.app import run
from tests.commands.test_watch import watching

ON: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    """A list that grows."""

    out: Annotated[list[str], operator.add]


def one_node(saver: SqliteSaver, node: Callable[[State], State], *, depth: int = 0, memory: bool = False) -> Any:
    """A graph of one node, inside `depth` other graphs."""
    graph = StateGraph(State)
    graph.add_node("work", node)
    graph.add_edge(START, "work")
    for level in range(depth):
        outer = StateGraph(State)
        outer.add_node(f"sub{level}", graph.compile(checkpointer=memory or None))
        outer.add_edge(START, f"sub{level}")
        graph = outer
    return graph.compile(checkpointer=saver)


@pytest.mark.parametrize(("depth", "memory"), [(0, False), (1, False), (2, False), (1, True)])
def test_an_answer_appears_wherever_the_question_was_asked(tmp_path: Path, depth: int, memory: bool) -> None:
    """What `ckpt resume` records shows that the thread waits no more, also where a subgraph asks, at any depth."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        one_node(saver, lambda _: {"out": [interrupt("?")]}, depth=depth, memory=memory).invoke({"out": []}, ON)
    with watching(path, "t", limit=2) as view:
        assert next(view.events).statuses == ["waiting"]
        assert run(["resume", "t", "--value", '"yes"', "--yes", "-d", str(path)]) == 0
        assert next(view.events).statuses == ["unfinished"]


def test_another_error_of_the_same_length_appears(tmp_path: Path) -> None:
    """A task that fails again at the same head shows its new error; the status stays."""
    errors = ["flaky 2", "flaky 1"]

    def fails(_: State) -> State:
        raise ValueError(errors.pop())

    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        app = one_node(saver, fails)
        with pytest.raises(ValueError, match="flaky 1"):
            app.invoke({"out": []}, ON)
        with watching(tmp_path / "t.sqlite", "t", limit=2) as view:
            assert "flaky 1" in next(view.events).text
            with pytest.raises(ValueError, match="flaky 2"):
                app.invoke(None, ON)
            again = next(view.events)
    assert (again.statuses, again.event) == (["failed"], "status")
    assert "flaky 2" in again.text


def test_the_next_question_appears(tmp_path: Path) -> None:
    """A task that asks a second question of the same form waits again, for another answer."""
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        app = one_node(saver, lambda _: {"out": [interrupt("first?") + interrupt("other?")]})
        app.invoke({"out": []}, ON)
        with watching(tmp_path / "t.sqlite", "t", limit=2) as view:
            assert "first?" in next(view.events).text
            app.invoke(Command(resume="yes"), ON)
            assert "other?" in next(view.events).text


def test_a_thread_that_asks_and_then_fails_has_failed(tmp_path: Path) -> None:
    """The answer makes the same task fail. Its question is no longer open: the next run has the answer."""

    def asks(_: State) -> State:
        raise ValueError(f"no {interrupt('go on?')} please")

    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        app = one_node(saver, asks)
        app.invoke({"out": []}, ON)
        with watching(tmp_path / "t.sqlite", "t", limit=2) as view:
            assert next(view.events).statuses == ["waiting"]
            with pytest.raises(ValueError, match="no sugar please"):
                app.invoke(Command(resume="sugar"), ON)
            failed = next(view.events)
        with pytest.raises(ValueError, match="no sugar please"):
            app.invoke(None, ON)
    assert (failed.event, failed.statuses) == ("status", ["failed"])
    assert "no sugar please" in failed.text
