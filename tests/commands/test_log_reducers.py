"""What ``ckpt log`` and ``ckpt tree`` show of channels whose reducers transform the written values."""

import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from ckpt_cli.app import run
from ckpt_cli.commands.log import log
from ckpt_cli.commands.tree import tree
from ckpt_cli.views.steps import StepView
from tests.commands.asking import look


def best(old: int, new: int) -> int:
    """The larger one."""
    return max(old, new)


def loud(old: str, new: str) -> str:
    """A reducer: the old text and the new one in capitals."""
    return f"{old}|{new.upper()}"


class Counted(TypedDict, total=False):
    """Channels with reducers, and one that keeps the last value."""

    cost: Annotated[int, operator.add]
    best: Annotated[int, best]
    notes: Annotated[list[str], operator.add]
    trace: Annotated[str, loud]
    n: int


def work(state: Counted) -> Counted:
    """One round."""
    return {"cost": 5, "best": 3, "n": state["n"] + 1, "notes": ["x"], "trace": "approve" if state["n"] % 2 else "done"}


def counted(path: Path, **given: Any) -> None:
    """Rounds until n is 5, on the thread ``count``."""
    graph = StateGraph(Counted)
    graph.add_node("work", work)
    graph.add_edge(START, "work")
    graph.add_conditional_edges("work", lambda state: END if state["n"] >= 5 else "work", ["work", END])
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph.compile(checkpointer=saver).invoke(given, {"configurable": {"thread_id": "count"}})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with four rounds."""
    counted(tmp_path / "count.sqlite", best=9, n=1, trace="plan")
    return tmp_path / "count.sqlite"


def texts(steps: list[StepView]) -> dict[str, list[str]]:
    """The texts about each step."""
    return {step.checkpoint_id: [change.text for change in step.changes or ()] for step in steps}


def listed(path: Path) -> dict[str, list[str]]:
    """The texts of a log, which are the same in a tree."""
    change_texts = texts(look(path, lambda session: log(session, "count"))[0].steps)
    drawn = look(path, lambda session: tree(session, "count", full=True))[0]
    assert texts([row.step for row in drawn.rows]) == change_texts
    return change_texts


@pytest.mark.parametrize("edits", [["n=9"], ["cost=0", "n=1"], ["notes=[]", "best=1", 'trace="gone"']])
@pytest.mark.parametrize("on", [False, True])
def test_an_edit_leaves_the_texts_of_earlier_steps(edits: list[str], on: bool, path: Path) -> None:
    """The effect of their writes is still shown after an edit, also if the thread continued from it."""
    before = listed(path)
    for edit in edits:
        assert run(["edit", "count", "--set", edit, "-d", str(path), "--yes"]) == 0
    if on:
        counted(path, n=4)
    after = listed(path)
    assert len(after) == len(before) + len(edits) + (3 if on else 0)
    assert {i: after[i] for i in before} == before


def test_the_words_are_those_of_the_state(path: Path) -> None:
    """Not of what was written: a maximum that stays is unchanged, and a text that a reducer made is shown whole."""
    newest, older, *_ = listed(path).values()
    assert newest[:4] == ["cost +5", "best 9 unchanged", "n 4→5", "notes +1 “x”"]
    assert older[:4] == ["cost +5", "best 9 unchanged", "n 3→4", "notes +1 “x”"]
    assert newest[4].endswith("|APPROVE|DONE”")


def test_the_words_of_a_step_stay_if_a_branch_is_added(path: Path) -> None:
    """They depend on the step and its parent alone."""
    before = listed(path)
    third = list(before)[-3]
    assert run(["fork", "count", third, "-d", str(path), "--yes"]) == 0
    counted(path, n=2, best=1)
    after = texts(look(path, lambda session: log(session, "count", everything=True))[0].steps)
    assert len(after) > len(before)
    assert {checkpoint_id: after[checkpoint_id] for checkpoint_id in before} == before
