"""``ckpt verify`` of small real graphs, each with a shape that a rule of ours once mistook for a fault."""

import operator
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import Topic
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from ckpt_cli.views.verify import Finding
from tests.commands.test_verify_honest import verified

CONFIG: Any = {"configurable": {"thread_id": "t"}}


class Recorded:
    """A database file, and the official saver that writes it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.saver = SqliteSaver(sqlite3.connect(path, check_same_thread=False))

    def graph(self, state: Any, nodes: dict[str, Any], *, alone: bool = False) -> Any:
        """The nodes one after the other; `alone` is a graph that another one calls."""
        graph = StateGraph(state)
        for before, (name, node) in zip([START, *nodes], nodes.items(), strict=False):
            graph.add_node(name, node)
            graph.add_edge(before, name)
        return graph.compile() if alone else graph.compile(checkpointer=self.saver)

    def findings(self) -> list[Finding]:
        """What `verify` finds in the only thread."""
        [thread] = verified(str(self.path))[1]
        return thread.findings


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[Recorded]:
    """An empty database."""
    made = Recorded(tmp_path / "t.sqlite")
    yield made
    made.saver.conn.close()


class WithTopic(TypedDict, total=False):
    """A topic that each step empties."""

    turn: int
    log: Annotated[list[str], operator.add]
    topic: Annotated[list[str], Topic(str)]


def test_an_emptied_topic_has_a_new_version_and_no_update(recorded: Recorded) -> None:
    """LangGraph stores it as an empty list, and leaves it out of updated_channels."""
    nodes = {"a": lambda _: {"topic": "x"}, "b": lambda _: {"log": ["b"]}, "c": lambda _: {"log": ["c"]}}
    graph = recorded.graph(WithTopic, nodes)
    for turn in range(3):
        graph.invoke({"turn": turn}, CONFIG)
    assert recorded.findings() == []


class Logged(TypedDict, total=False):
    """A log that nodes append to, and a price."""

    q: str
    price: int
    log: Annotated[list[str], operator.add]


def _ask(times: int) -> Any:
    def node(_: Logged) -> Logged:
        answers = [interrupt(f"question {number}") for number in range(times)]
        return {"price": len(answers), "log": [str(answers)]}

    return node


def _answered(recorded: Recorded, times: int) -> None:
    """A run that asks, an update of the state while it waits, and the answers, with which the node starts again."""
    graph = recorded.graph(Logged, {"a": lambda _: {"log": ["a"]}, "ask": _ask(times), "b": lambda _: {"log": ["b"]}})
    graph.invoke({"q": "x"}, CONFIG)
    graph.update_state(CONFIG, {"price": 7})
    for answer in range(times):
        graph.invoke(Command(resume=answer), CONFIG)


@pytest.mark.parametrize("times", [1, 3])
def test_answers_have_numbers_of_their_own(recorded: Recorded, times: int) -> None:
    """After an update there is no question on the checkpoint, and the task's first write has not the number 0."""
    _answered(recorded, times)
    assert [one for one in recorded.findings() if one.kind == "write-gone"] == []


def test_a_write_that_is_gone_after_answers(recorded: Recorded) -> None:
    """The finding names the checkpoint on which the row was, its step and the node."""
    _answered(recorded, 1)
    sql = "DELETE FROM writes WHERE channel = 'price' AND task_path LIKE '%ask' RETURNING checkpoint_id"
    [(at,)] = set(recorded.saver.conn.execute(sql).fetchall())
    recorded.saver.conn.commit()
    [gone] = [one for one in recorded.findings() if one.kind == "write-gone"]
    assert gone.verdict == "differs"
    assert f"on its parent, step 2 ({at}), node ask (task " in gone.why


def test_a_graph_that_a_task_calls_has_a_caller(recorded: Recorded) -> None:
    """The task itself has no checkpoints: the checkpoint from which it started called the graph."""
    inner = recorded.graph(Logged, {"n": lambda state: {"price": state["price"] + 1}}, alone=True)

    @task
    def call(number: int) -> Any:
        return inner.invoke({"price": number})

    @entrypoint(checkpointer=recorded.saver)
    def outer(number: int) -> Any:
        return call(number).result()

    outer.invoke(1, CONFIG)
    assert recorded.findings() == []
    sql = "DELETE FROM checkpoints WHERE checkpoint_ns = '' AND parent_checkpoint_id IS NULL"
    recorded.saver.conn.execute(sql)
    recorded.saver.conn.commit()
    assert {one.kind for one in recorded.findings()} >= {"caller-gone", "parent-gone"}
