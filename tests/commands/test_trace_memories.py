"""``trace`` of subgraphs with a memory of their own: a call counts for the line to which its step led."""

import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.commands.trace import trace
from tests.commands.asking import at
from tests.graphs.building import on


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


def play(path: Path, *, nested: bool) -> list[str]:
    """A run, and a time travel to before the call; gives the checkpoints of the head's line, newest first."""
    inner: Any = StateGraph(State).add_node("remember", lambda _: {"log": ["x"]}).add_edge(START, "remember")
    called = inner.compile(checkpointer=True)
    if nested:
        called = StateGraph(State).add_node("inside", called).add_edge(START, "inside").compile()
    outer = StateGraph(State).add_node("first", lambda _: {"log": ["first"]}).add_node("call", called)
    outer.add_node("last", lambda _: {"log": ["last"]})
    outer.add_edge(START, "first").add_edge("first", "call").add_edge("call", "last")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = outer.compile(checkpointer=saver)
        graph.invoke({"log": ["one"]}, on("t"))
        before = next(one for one in graph.get_state_history(on("t")) if one.next == ("call",))
        graph.invoke(None, before.config)
        line, state = [], graph.get_state(on("t"))
        while state.parent_config:
            line.append(state.config["configurable"]["checkpoint_id"])
            state = graph.get_state(state.parent_config)
        return [*line, state.config["configurable"]["checkpoint_id"]]


@pytest.mark.parametrize("nested", [False, True])
def test_a_call_that_led_to_another_branch_is_not_counted(nested: bool, tmp_path: Path) -> None:
    """Each branch has one call of the memory, as one task called it there; the head's line has its own rows alone."""
    path = tmp_path / "t.sqlite"
    line = play(path, nested=nested)
    for rev in ("@", "branch:1"):
        view = at(path, trace, "t", rev)
        assert {node.node: node.runs for node in view.nodes}["remember"] == 1
        assert {node.node: node.runs for node in view.nodes}["call"] == 1
    view = at(path, trace, "t")
    assert {step.checkpoint_id for step in view.steps if step.depth == 0} == set(line[1:])
    with SqliteSaver.from_conn_string(str(path)) as saver:
        inside = [row for row in saver.list(on("t")) if row.metadata["parents"].get("") in line]
        called = [one for one in inside if one.metadata["parents"][""] == line[2]]
    assert view.sums.checkpoints == len(line) + len(called)
