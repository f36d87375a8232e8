"""``ckpt verify`` of small real graphs, each with a shape that a rule of ours once mistook for a fault."""

import operator
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import Topic
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

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
