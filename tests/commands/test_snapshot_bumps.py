"""Tasks in threads of delta channels, and in threads that no input began, have the library's names and ids."""

from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import StateUpdate

from ckpt_cli.commands.show import show
from tests.commands.asking import at
from tests.graphs.building import on


def appended(current: list[str], writes: list[list[str]]) -> list[str]:
    """A list that grows."""
    return [*current, *(item for write in writes for item in write)]


class Both(TypedDict, total=False):
    """A channel that is stored whole at times, and one that always is."""

    seq: Annotated[list[str], DeltaChannel(appended, snapshot_frequency=2)]
    n: int


def graph(saver: SqliteSaver) -> Any:
    """A node, then two in one step."""
    builder = StateGraph(Both)
    builder.add_node("a", lambda _: {"seq": ["a"]})
    builder.add_node("b", lambda _: {"seq": ["b"]})
    builder.add_node("c", lambda _: {"n": 1})
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    builder.add_edge("a", "c")
    return builder.compile(checkpointer=saver)


def update_old(app: Any) -> None:
    """Update an old checkpoint, for which the library stores the channel whole although nothing has written it."""
    app.invoke({"n": 0}, on("t"))
    old = [state.config for state in app.get_state_history(on("t"))][-2]
    app.invoke(None, app.update_state(old, {"n": 5}, as_node=START))
    saved = app.checkpointer.get_tuple(on("t"))
    assert "__snapshot_bumps__" in saved.checkpoint["versions_seen"]


def update_first(app: Any) -> None:
    """A thread that updates began; an input waits at its head."""
    app.bulk_update_state(on("t"), [[StateUpdate({"n": 1}, "a")]])
    app.update_state(on("t"), {"seq": ["given"]}, as_node="__input__")


@pytest.mark.parametrize("make", [update_old, update_first], ids=["snapshots", "begun by an update"])
def test_tasks_have_the_librarys_names_and_ids(tmp_path: Path, make: Any) -> None:
    """A version that only a snapshot gave triggers nothing; ``__start__`` takes the input of every StateGraph."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = graph(saver)
        make(app)
        states = list(app.get_state_history(on("t")))
    for state in states:
        tasks = at(path, show, "t", state.config["configurable"]["checkpoint_id"]).tasks
        assert sorted((task.node, task.id) for task in tasks) == sorted((task.name, task.id) for task in state.tasks)
