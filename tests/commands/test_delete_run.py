"""`ckpt delete` of what came after a question: what an earlier run had left is left, against the real library."""

from operator import add
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from ckpt_cli.app import run
from tests.commands.test_taken_back import rows


class State(TypedDict, total=False):
    """What the node got for an answer."""

    log: Annotated[list[str], add]


def agent(saver: Any) -> Any:
    """A node that asks."""
    builder = StateGraph(State).add_node("ask", lambda _: {"log": [interrupt("go on?")]})
    return builder.add_edge(START, "ask").compile(checkpointer=saver)


def of_run(name: str) -> Any:
    """The config of a run."""
    return {"configurable": {"thread_id": "t"}, "metadata": {"run_id": name}}


@pytest.mark.parametrize("given", [{"log": ["other"]}, Command(resume="yes")], ids=["an input", "an answer"])
def test_the_question_of_an_earlier_run(given: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is open again if an input left it; if an answer used it, the plan says that its task runs again."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        agent(saver).invoke({"log": ["hi"]}, of_run("a"))
        before, state = rows(path), agent(saver).get_state(of_run("a"))
        agent(saver).invoke(given, of_run("b"))
        capsys.readouterr()
        assert run(["delete", "t", "--run", "b", "--yes", "-d", str(path)]) == 0
        said, after = capsys.readouterr().out, agent(saver).get_state(of_run("a"))
    is_input = isinstance(given, dict)
    assert (rows(path) == before) == is_input
    assert ("becomes a tip again, and the writes of its tasks are deleted" in said) == (not is_input)
    assert (after.next, after.values) == (state.next, state.values)
    assert bool(after.interrupts) == is_input


def test_what_came_after_a_question(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--after` lets the task run again, as its plan says, also if an input had left the question."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        agent(saver).invoke({"log": ["hi"]}, of_run("a"))
        asked = agent(saver).get_state(of_run("a"))
        agent(saver).invoke({"log": ["other"]}, of_run("b"))
        head = asked.config["configurable"]["checkpoint_id"]
        assert run(["delete", "t", "--after", head, "--yes", "-d", str(path)]) == 0
        assert "becomes a tip again, and the writes of its tasks are deleted; next: ask" in capsys.readouterr().out
        after = agent(saver).get_state(of_run("a"))
    assert (after.next, after.values, after.interrupts) == (asked.next, asked.values, ())
