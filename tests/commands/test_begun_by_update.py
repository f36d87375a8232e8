"""A thread that ``update_state`` began: its first row and ``blame`` say what the update gave, and no more."""

import operator
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.commands.blame import blame
from ckpt_cli.commands.log import log
from tests.commands.asking import at
from tests.commands.test_exit_durability import extend
from tests.graphs.building import on


class State(TypedDict, total=False):
    """A list and a number that grow, a plain value and a list whose value isn't stored."""

    log: Annotated[list[str], operator.add]
    cost: Annotated[int, operator.add]
    name: str
    story: Annotated[list[str], DeltaChannel(extend, snapshot_frequency=100)]


def graph(saver: SqliteSaver) -> Any:
    """Two nodes in a row."""
    builder = StateGraph(State)
    builder.add_node("first", lambda _: {"log": ["first"], "cost": 1})
    builder.add_node("last", lambda _: {"log": ["last"], "cost": 3, "name": "z"})
    builder.add_edge(START, "first")
    builder.add_edge("first", "last")
    return builder.compile(checkpointer=saver)


@pytest.fixture(params=[None, "first", "__start__"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A thread that an update began, as each node that LangGraph lets it be; then another update and a run."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = graph(saver)
        app.update_state(on("t"), {"log": ["begun"], "cost": 5, "name": "x"}, as_node=request.param)
        app.update_state(on("t"), {"log": ["again"]}, as_node="first")
        app.invoke(None, on("t"))
    return path


def test_first_row_has_what_the_update_gave(path: Path) -> None:
    """The row of the first checkpoint sets each channel to its value in the library's history."""
    with SqliteSaver.from_conn_string(str(path)) as saver:
        first = list(graph(saver).get_state_history(on("t")))[-1]
    row = at(path, log, "t").steps[-1]
    values = {channel: value for channel, value in first.values.items() if channel != "story"}
    assert {change.channel: change.after for change in row.changes} == values
    assert {change.kind for change in row.changes} == {"set"}


def test_blame_names_the_update(path: Path) -> None:
    """What the first update gave and nobody changed is the update's, without a doubt."""
    (begun,) = [line.since for line in at(path, blame, "t", "log").lines if line.value == "begun"]
    assert (begun.by, begun.candidates, begun.why) == ("update", [], "")


def test_a_first_checkpoint_that_lost_those_before_it_says_less(path: Path) -> None:
    """If the newer update lost the checkpoint before it, the values that it kept aren't said to be its own."""
    with closing(sqlite3.connect(path)) as database, database:
        (first,) = database.execute("SELECT min(checkpoint_id) FROM checkpoints").fetchone()
        database.execute("DELETE FROM checkpoints WHERE checkpoint_id = ?", (first,))
        database.execute("DELETE FROM writes WHERE checkpoint_id = ?", (first,))
        database.execute("UPDATE checkpoints SET parent_checkpoint_id = NULL WHERE parent_checkpoint_id = ?", (first,))
    assert at(path, log, "t").steps[-1].changes is None
    (begun,) = [line.since for line in at(path, blame, "t", "log").lines if line.value == "begun"]
    assert (begun.by, begun.why) == ("", "no checkpoint before it is recorded")
