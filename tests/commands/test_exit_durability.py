"""A run with ``durability="exit"``: one checkpoint for several steps, with the writes to delta channels only."""

import operator
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt

from ckpt_cli.commands.blame import blame
from ckpt_cli.commands.graph import graph as graph_verb
from ckpt_cli.commands.log import log
from ckpt_cli.commands.replay import replay
from ckpt_cli.commands.show import show
from tests.commands.asking import at
from tests.graphs.building import line, on


def extend(current: list[Any], writes: list[list[Any]]) -> list[Any]:
    """Append the items of all writes."""
    return [*(current or []), *(item for write in writes for item in write)]


class Both(TypedDict, total=False):
    """A delta channel, whose writes are stored, and plain ones, whose writes aren't."""

    story: Annotated[list[str], DeltaChannel(extend, snapshot_frequency=100)]
    log: Annotated[list[str], operator.add]
    n: int


def test_neither_nodes_nor_channels_are_wrong(tmp_path: Path) -> None:
    """The last node, which wrote no delta, isn't replaced by earlier ones; a changed plain channel isn't left out."""
    builder = StateGraph(Both)
    builder.add_node("a", lambda _: {"story": ["a"], "log": ["a"]})
    builder.add_node("b", lambda _: {"story": ["b"], "n": 1})
    builder.add_node("c", lambda _: {"log": ["c"]})
    for before, node in ((START, "a"), ("a", "b"), ("b", "c")):
        builder.add_edge(before, node)
    path = tmp_path / "exit.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        graph = builder.compile(checkpointer=SqliteSaver(connection))
        graph.invoke({"log": ["in"]}, on("t"), durability="exit")
        changed = graph.get_state(on("t")).values.keys()
    step = at(path, log, "t").steps[0]
    assert (step.nodes, at(path, show, "t").nodes) == ({}, {})
    assert changed == {"story", "log", "n"} == {change.channel for change in step.changes}


def test_a_run_that_left_a_question_behind_is_compared(tmp_path: Path) -> None:
    """Where the stored writes are only an earlier run's question, the row has the channels that the run changed."""
    path = tmp_path / "exit.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = line(saver, "a", "ask", "b", nodes={"ask": lambda s: {"n": s["n"] or interrupt("go on?")}})
        graph.invoke({"log": ["in"], "n": 0}, on("t"))
        graph.invoke({"log": ["again"], "n": 1}, on("t"), durability="exit")
    newest = at(path, log, "t").steps[0]
    assert [(change.channel, change.after) for change in newest.changes] == [("log", ["again", "a", "b"]), ("n", 1)]


@pytest.mark.parametrize("stop", ["asks", "fails"])
@pytest.mark.parametrize("first", ["exit", "sync"])
def test_what_had_finished_beside_a_question_is_counted(tmp_path: Path, stop: str, first: Any) -> None:
    """The row of a run that was resumed has as many values of a delta channel as the library's list grew by."""
    path, failures = tmp_path / "exit.sqlite", ["once"]

    def stops(_: Both) -> Any:
        if stop == "fails" and failures:
            raise ValueError(failures.pop())
        return {"story": [interrupt("?") if stop == "asks" else "mended"]}

    builder = StateGraph(Both).add_node("stops", stops).add_node("last", lambda _: {"story": ["last"]})
    for name in ("note", "other"):
        builder.add_node(name, lambda _, name=name: {"story": [name]})
    for name in ("note", "other", "stops"):
        builder.add_edge(START, name).add_edge(name, "last")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = builder.compile(checkpointer=saver)
        with suppress(ValueError):
            graph.invoke({"story": ["in"], "n": 1}, on("t"), durability=first)
        before = graph.get_state(on("t")).config
        graph.invoke(Command(resume="yes") if stop == "asks" else None, on("t"), durability="exit")
        steps = [len(one.values["story"]) for one in graph.get_state_history(on("t")) if "story" in one.values]
    newest = at(path, log, "t").steps[0]
    assert newest.parent_id == before["configurable"]["checkpoint_id"]
    [change] = [one for one in newest.changes if one.channel == "story"]
    assert (change.kind, change.added) == ("several", steps[0] - steps[1]) == ("several", 4)


def test_a_subgraph_names_the_node_of_a_send_that_is_not_stored(tmp_path: Path) -> None:
    """Its namespace has the node's name beside the task's id: `log`, `blame`, `graph` and `replay` say that name."""
    inner = StateGraph(Both).add_node("ask", lambda _: {"log": [interrupt("go on?")]}).add_edge(START, "ask")
    builder = StateGraph(Both)
    builder.add_node("send", lambda _: Command(update={"log": ["send"]}, goto=[Send("visit", {"n": 1})]))
    builder.add_node("visit", inner.compile())
    builder.add_edge(START, "send")
    path = tmp_path / "exit.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = builder.compile(checkpointer=saver)
        app.invoke({"log": []}, on("t"), durability="exit")
        app.invoke(Command(resume="later", update={"n": 5}), on("t"))
    assert at(path, log, "t").steps[0].nodes == {"visit": 1}
    assert at(path, blame, "t", "log").lines[-1].since.node == "visit"
    assert [node.name for node in at(path, graph_verb, "t").graphs[0].nodes if node.runs] == ["visit"]
    tasks = [task for step in at(path, replay, "t", to="@").steps for task in step.tasks if task.by == "task"]
    assert {task.node for task in tasks} == {"visit"}
