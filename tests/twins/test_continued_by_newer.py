"""Threads of langgraph 0.2: the installed one goes on with other names of triggers; a topic keeps its version."""

import subprocess
import sys
from pathlib import Path

import pytest

from ckpt_cli.commands.log import log
from tests.commands.asking import at
from tests.commands.test_verify_honest import verified
from tests.requiring import missing
from tests.twins import older

SCRIPT = """
import operator, sys
from typing import Annotated, TypedDict
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

class State(TypedDict):
    log: Annotated[list, operator.add]

path, stops = sys.argv[1], sys.argv[2:] or None
graph = StateGraph(State)
for name in "abcd":
    graph.add_node(name, lambda state, name=name: {"log": [name]})
graph.add_edge(START, "a"); graph.add_edge("a", "b"); graph.add_edge("b", "d"); graph.add_edge("c", "d")
graph.add_conditional_edges("a", lambda state: "c", ["c"])
with SqliteSaver.from_conn_string(path) as saver:
    app = graph.compile(checkpointer=saver, interrupt_before=stops)
    app.invoke({"log": ["in"]} if stops else None, {"configurable": {"thread_id": "t"}})
"""


@pytest.mark.parametrize("stops", [["b", "c"], ["a"]], ids=lambda stops: "+".join(stops))
def test_each_task_is_in_the_step(stops: list[str], tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """`log` names all nodes of it, and `verify` agrees with every step."""
    interpreter = older.python(older.OLDEST)
    if interpreter is None:
        missing(request.config, f"pip can't install {', '.join(older.OLDEST)}")
    path = tmp_path / "t.sqlite"
    for python, words in ((interpreter, stops), (sys.executable, [])):
        subprocess.run([python, "-W", "ignore", "-c", SCRIPT, path, *words], check=True)
    nodes = [[*step.nodes] for step in at(path, log, "t").steps if step.source == "loop"]
    assert nodes == [["d"], ["b", "c"], ["a"], ["__start__"]]
    assert verified(str(path))[1][0].verdicts == {"agrees": 5}


TOPIC = """
import operator, sys
from typing import Annotated, TypedDict
from langgraph.channels.topic import Topic
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

paths = {}

class Saver(SqliteSaver):
    def put_writes(self, config, writes, task_id, task_path=""):
        paths[task_id] = task_path
        super().put_writes(config, writes, task_id)

class State(TypedDict):
    log: Annotated[list, operator.add]
    n: int
    events: Annotated[list, Topic(str)]

graph = StateGraph(State)
graph.add_node("other", lambda state: {"n": state.get("n", 0) + 1, "log": ["other"]})
graph.add_node("work", lambda _: {"events": "same", "log": ["work"]})
graph.add_edge(START, "other")
route = lambda state: [Send("work", {}), "other"] if state["n"] < 4 else END
graph.add_conditional_edges("other", route, ["work", "other", END])
with Saver.from_conn_string(sys.argv[1]) as saver:
    graph.compile(checkpointer=saver).invoke({"log": ["in"], "n": 0}, {"configurable": {"thread_id": "t"}})
    saver.conn.execute("alter table writes add column task_path text not null default ''")
    for task_id, path in paths.items():
        saver.conn.execute("update writes set task_path = ? where task_id = ?", (path, task_id))
    saver.conn.commit()
"""


def test_a_topic_that_gets_the_same_items_again(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """It keeps its version there; with task paths, as Postgres stored them, the Sends' tasks are in their steps."""
    interpreter = older.python(older.OLDEST)
    if interpreter is None:
        missing(request.config, f"pip can't install {', '.join(older.OLDEST)}")
    path = tmp_path / "t.sqlite"
    subprocess.run([interpreter, "-W", "ignore", "-c", TOPIC, path], check=True)
    nodes = [[*step.nodes] for step in at(path, log, "t").steps if step.source == "loop"]
    assert nodes == [*[["other", "work"]] * 3, ["other"], ["__start__"]]
    assert {*verified(str(path))[1][0].verdicts} == {"agrees"}
