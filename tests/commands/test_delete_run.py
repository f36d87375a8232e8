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
from tests.graphs.building import on


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


def test_an_ancestor_of_what_stays_is_no_tip(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With ``--reparent`` the kept checkpoint becomes a child of the one that asked, so that this is no tip."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = agent(saver)
        graph.invoke({"log": ["hi"]}, of_run("a"))
        asked = graph.get_state(of_run("a")).config
        graph.invoke(Command(resume="yes"), of_run("b"))
        graph.invoke({"log": ["other"]}, of_run("c"))
        assert run(["delete", "t", "--run", "b", "--reparent", "--yes", "-d", str(path)]) == 0
        said = capsys.readouterr().out
        oldest = [one for one in graph.get_state_history(on("t")) if one.metadata["run_id"] == "c"][-1]
    assert oldest.parent_config == asked
    assert "a tip" not in said and "are deleted, as is the step that took them in" in said
    assert run(["delete", "t", "--after", "@", "--yes", "-d", str(path)]) == 0
    assert "stays a tip, and the writes of its tasks are deleted; next: ask" in capsys.readouterr().out


def test_what_goes_of_other_runs_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The plan counts a subgraph's checkpoints that another run made, as the call is deleted that two runs made."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        inner = StateGraph(State)
        inner.add_node("first", lambda _: {"log": ["first"]}).add_node("ask", lambda _: {"log": [interrupt("?")]})
        inner.add_edge(START, "first").add_edge("first", "ask")
        outer = StateGraph(State).add_node("sub", inner.compile())
        graph = outer.add_edge(START, "sub").compile(checkpointer=saver)
        graph.invoke({"log": ["hi"]}, of_run("a"))
        graph.invoke(Command(resume="yes"), of_run("b"))
        runs = [one.metadata["run_id"] for one in saver.list(None)]
        assert run(["delete", "t", "--run", "b", "--yes", "-d", str(path)]) == 0
        gone = len(runs) - len(list(saver.list(None)))
    said = capsys.readouterr().out
    assert f"delete of run b in t: {gone} checkpoints" in said and gone > runs.count("b")
    assert f"among them {gone - runs.count('b')} checkpoints of subgraph sub:" in said
