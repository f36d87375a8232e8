"""A node whose only writes are never stored: what ``graph`` and ``trace`` say of its runs did happen."""

import json
import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import UntrackedValue
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Send

from ckpt_cli.app import run
from ckpt_cli.commands.graph import graph
from ckpt_cli.commands.log import log
from ckpt_cli.commands.trace import trace
from ckpt_cli.output.clean import clean_line
from ckpt_cli.output.line import Page
from ckpt_cli.output.printer import render
from tests import golden
from tests.commands.asking import at
from tests.graphs.building import on, says


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    open_file: Annotated[Any, UntrackedValue(object)]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two turns of a and the opener, which writes only an untracked value and leads to the end."""
    path = tmp_path_factory.mktemp("unstored") / "t.sqlite"
    built = StateGraph(State)
    built.add_node("a", lambda _: {"log": ["a"]})
    built.add_node("opener", lambda _: {"open_file": object()})
    built.add_edge(START, "a")
    built.add_edge("a", "opener")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        for turn in range(2):
            built.compile(checkpointer=saver).invoke({"log": [f"{turn}"]}, on("t"))
    return path


def test_the_edge_to_it_is_drawn_once(file: Path) -> None:
    """What led to it is recorded, so it isn't drawn again as not proved; its own edge left no write."""
    [part] = at(file, graph, ["t"]).graphs
    edges = {(one.source, one.target): (one.proof, one.count) for one in part.edges}
    assert len(part.edges) == len(edges) and edges["a", "opener"] == ("recorded", 2)
    assert part.unrecorded == 2
    assert any("UntrackedValue" in note for note in part.notes)


def test_its_time_is_not_said_to_be_between_runs(file: Path) -> None:
    """Nothing shows whether its run began at once; the step is named so, and the note names the node."""
    view = at(file, trace, "t")
    silent = [step for step in view.steps if not step.recorded]
    assert len(silent) == 2 and all(step.spent == "between" for step in silent)
    view.shown = "timeline"
    lines = [clean_line(line) for line in render(view, Page(200, golden.NOW))]
    assert sum("left no writes · may include the time between runs" in line for line in lines) == 2
    assert "in steps whose start isn't known" in lines[0]
    assert any("(opener 2×) left no writes" in line and "UntrackedValue" in line for line in lines)


def test_its_runs_beside_another_node_are_counted(tmp_path: Path) -> None:
    """``graph`` and ``trace`` count them as ``versions_seen`` proves; not a node that is deferred."""
    path = tmp_path / "beside.sqlite"
    built = StateGraph(State).add_node("a", says("a")).add_node("beside", says("beside")).add_node("end", says("end"))
    built.add_node("opener", lambda _: {"open_file": object()}).add_node("last", says("last"), defer=True)
    built.add_edge(START, "a").add_edge("beside", "end")
    for name in ("opener", "beside", "last"):
        built.add_edge("a", name)
    with SqliteSaver.from_conn_string(str(path)) as saver:
        for turn in range(2):
            built.compile(checkpointer=saver).invoke({"log": [f"{turn}"]}, on("t"))
    [part] = at(path, graph, ["t"]).graphs
    assert {node.name: (node.runs, node.unrecorded) for node in part.nodes if node.name != START} == {
        **dict.fromkeys(("a", "beside", "end", "last"), (2, 0)),
        "opener": (0, 2),
    }
    for notes in (part.notes, at(path, trace, "t").notes):
        assert [note.partition(" and")[0] for note in notes if "UntrackedValue" in note] == [
            "opener 2× ran beside others"
        ]


def test_its_runs_after_and_beside_a_send_are_named(tmp_path: Path) -> None:
    """A Send leaves an empty list in each later checkpoint, which hides no node; a Send's own task sees nothing."""
    path = tmp_path / "sent.sqlite"
    built = StateGraph(State).add_node("a", says("a")).add_node("worker", says("worker")).add_node("last", says("last"))
    for name in ("opener", "alone"):
        built.add_node(name, lambda _: {"open_file": object()})
    built.add_edge(START, "a").add_edge("a", "opener").add_edge("worker", "last").add_edge("last", "alone")
    built.add_conditional_edges("a", lambda _: [Send("worker", {}), Send("worker", {})], ["worker"])
    with SqliteSaver.from_conn_string(str(path)) as saver:
        built.compile(checkpointer=saver).invoke({"log": ["in"]}, on("t"))
    steps = at(path, log, "t", everything=True).steps
    named = [{"alone": 1}, {"last": 1}, {"worker": 2, "opener": 1}, {"a": 1}]
    assert [step.nodes for step in steps if step.step > 0] == named
    [part] = at(path, graph, ["t"]).graphs
    assert {node.name: node.unrecorded for node in part.nodes if node.unrecorded} == {"opener": 1, "alone": 1}


def test_the_revision_before_it_ran(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``before:node`` finds it by ``versions_seen``: beside another node, after a stored run, not before it ran."""
    path = tmp_path / "beside.sqlite"
    built = StateGraph(State).add_node("a", says("a")).add_node("beside", says("beside")).add_node("end", says("end"))
    built.add_node("opener", lambda state: {"log": []} if state["log"][-2] == "stored" else {"open_file": 1})
    built.add_edge(START, "a").add_edge("a", "opener").add_edge("a", "beside").add_edge("beside", "end")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = built.compile(checkpointer=saver)
        for turn in ("first", "stored"):
            app.invoke({"log": [turn]}, on(turn))
            app.invoke({"log": ["second"]}, on(turn))
            app.update_state(on(turn), {"log": ["by hand"]}, as_node="opener")
        stopped = built.compile(checkpointer=saver, interrupt_before=["opener"])
        for _ in range(2):  # the second input discards the task, which never ran
            stopped.invoke({"log": ["in"]}, on("stopped"))
    for turn in ("first", "stored"):
        assert run(["show", turn, "before:node:opener", "--json", "-d", str(path)]) == 0
        assert json.loads(capsys.readouterr().out)["step"] == 6
    assert run(["show", "stopped", "before:node:opener", "-d", str(path)]) == 4
    assert "nothing on the head's line shows that node 'opener' ran" in capsys.readouterr().err
