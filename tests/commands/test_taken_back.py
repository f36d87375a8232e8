"""`ckpt undo` on threads of real agents: it keeps what a plan promised, and says what is true of the line."""

import operator
from collections.abc import Iterator
from pathlib import Path
from sqlite3 import connect
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Send, interrupt

from ckpt_cli.app import run

ON: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    """A list that grows."""

    out: Annotated[list[str], operator.add]


class Ask(TypedDict):
    """The argument of a task that asks."""

    n: int


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[SqliteSaver]:
    """A database."""
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as made:
        yield made


@pytest.fixture
def path(saver: SqliteSaver, tmp_path: Path) -> Path:
    """A thread with one run of one node."""
    adding(saver).invoke({"out": ["in"]}, ON)
    return tmp_path / "t.sqlite"


def adding(saver: SqliteSaver) -> Any:
    """One node that adds its name."""
    graph = StateGraph(State)
    graph.add_node("a", lambda _: {"out": ["a"]})
    graph.add_edge(START, "a")
    return graph.compile(checkpointer=saver)


def rows(path: Path) -> list[list[tuple[Any, ...]]]:
    """Every row of the database."""
    with connect(path) as connection:
        return [sorted(connection.execute(f"SELECT * FROM {table}")) for table in ("checkpoints", "writes")]


def ckpt(path: Path, *words: str) -> int:
    """Run a command without a question."""
    return run([*words, "-d", str(path), "--yes"])


@pytest.mark.parametrize("branch", ["branch:1", "branch:2"])
def test_a_deleted_branch_that_begins_the_thread_comes_back(saver: SqliteSaver, path: Path, branch: str) -> None:
    """Of two copies of the first checkpoint, the older with all its children, though all that is left is younger."""
    app = adding(saver)
    first = list(app.get_state_history(ON))[-1]
    app.invoke(None, app.update_state(first.config, None, as_node="__copy__"))
    before = rows(path)
    assert ckpt(path, "delete", "t", "--branch", branch) == 0
    assert ckpt(path, "fork", "t", "@") == 0
    assert ckpt(path, "undo") == 0
    assert ckpt(path, "undo", "1") == 0
    assert rows(path) == before


def test_operations_on_a_deleted_thread_are_taken_back_one_by_one(saver: SqliteSaver, path: Path) -> None:
    """The thread that the undo of its deletion brought back is the one that the operation before had changed."""
    adding(saver).invoke({"out": []}, {"configurable": {"thread_id": "other"}})
    before = rows(path)
    assert ckpt(path, "delete", "t", "--after", "step:0") == 0
    assert ckpt(path, "delete", "t") == 0
    assert ckpt(path, "undo") == 0
    assert ckpt(path, "undo") == 0
    assert rows(path) == before


def test_what_comes_back_into_the_middle_of_a_line_is_no_branch(
    saver: SqliteSaver, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run from between two others is the head's own past again."""
    app = adding(saver)
    for run_id in ("r1", "r2"):
        app.invoke({"out": []}, {**ON, "metadata": {"run_id": run_id}})
    assert ckpt(path, "delete", "t", "--run", "r1", "--reparent") == 0
    capsys.readouterr()
    assert ckpt(path, "undo") == 0
    assert "another branch" not in capsys.readouterr().out


def asking(saver: SqliteSaver, *, inside: bool) -> Any:
    """Three tasks that ask, in the graph itself or in a subgraph."""

    def ask(argument: Ask) -> State:
        return {"out": [interrupt(f"q{argument['n']}")]}

    graph = StateGraph(State)
    graph.add_node("plan", lambda _: {"out": ["plan"]})
    graph.add_node("ask", ask)
    graph.add_edge(START, "plan")
    graph.add_conditional_edges("plan", lambda _: [Send("ask", {"n": n}) for n in range(3)], ["ask"])
    if not inside:
        return graph.compile(checkpointer=saver)
    above = StateGraph(State)
    above.add_node("sub", graph.compile())
    above.add_edge(START, "sub")
    return above.compile(checkpointer=saver)


@pytest.mark.parametrize("inside", [False, True])
def test_an_answer_with_which_a_task_has_finished_stays(
    saver: SqliteSaver, tmp_path: Path, inside: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its siblings still wait, so the step has no child; but the task has taken the answer, and keeps its result."""
    path, app = tmp_path / "t.sqlite", asking(saver, inside=inside)
    app.invoke({"out": []}, ON)
    [question] = [one for one in app.get_state(ON).interrupts if one.value == "q0"]
    assert ckpt(path, "resume", "t", "-i", f'{question.id}="yes"') == 0
    app.invoke(None, ON)
    assert {one.value for one in app.get_state(ON).interrupts} == {"q1", "q2"}
    before = rows(path)
    capsys.readouterr()
    assert ckpt(path, "undo") == 7
    assert "has finished with the answer" in capsys.readouterr().err
    assert rows(path) == before


def test_an_answer_that_no_run_has_taken_is_taken_back(saver: SqliteSaver, tmp_path: Path) -> None:
    """Also beside a task that finished with its own."""
    path, app = tmp_path / "t.sqlite", asking(saver, inside=False)
    app.invoke({"out": []}, ON)
    ids = {one.value: one.id for one in app.get_state(ON).interrupts}
    assert ckpt(path, "resume", "t", "-i", f'{ids["q0"]}="yes"') == 0
    app.invoke(None, ON)
    before = rows(path)
    assert ckpt(path, "resume", "t", "-i", f'{ids["q1"]}="no"') == 0
    assert ckpt(path, "undo") == 0
    assert rows(path) == before
