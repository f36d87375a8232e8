"""Forks of checkpoints with a delta channel: `log` and `show` say what of the channel is stored or proved."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import StateSnapshot

from ckpt_cli.app import run

ON: Any = {"configurable": {"thread_id": "t"}}


def appended(current: list[int], writes: list[list[int]]) -> list[int]:
    """A list that grows."""
    return [*current, *(item for write in writes for item in write)]


def recorded(saver: SqliteSaver, frequency: int) -> Any:
    """Two runs of two nodes, the second of which may write nothing, and two updates of one checkpoint."""

    class Numbers(TypedDict, total=False):
        seen: Annotated[list, DeltaChannel(appended, snapshot_frequency=frequency)]
        n: int

    graph = StateGraph(Numbers)
    graph.add_node("a", lambda state: {"seen": [1, 3], "n": state["n"] + 1})
    graph.add_node("b", lambda state: {"seen": [9] if state["n"] == 1 else []})
    graph.add_edge(START, "a")
    graph.add_edge("a", "b")
    app = graph.compile(checkpointer=saver)
    app.invoke({"seen": [0], "n": 0}, ON)
    app.invoke({"seen": [5]}, ON)
    past = next(one for one in app.get_state_history(ON) if (one.metadata or {})["step"] == 1)
    for value in (7, 8):
        app.update_state(past.config, {"seen": [value]}, as_node="a")
    return app


def own_id(snapshot: StateSnapshot) -> str:
    """The id of a checkpoint."""
    return str(snapshot.config["configurable"]["checkpoint_id"])


@pytest.fixture(params=[100, 3], ids=["nothing proved", "proved"])
def forked(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[Path, Any]]:
    """Each checkpoint was copied by the library."""
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        app = recorded(saver, request.param)
        for one in list(app.get_state_history(ON)):
            app.update_state(one.config, None, as_node="__copy__")
        yield tmp_path / "t.sqlite", app


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """The JSON that a command prints."""
    assert run([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_row_of_a_fork_has_the_change_of_a_delta_channel(
    forked: tuple[Path, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """What a row says of the channel leads from the parent's value in LangGraph to the fork's."""
    path, app = forked
    states = {own_id(one): one for one in app.get_state_history(ON)}
    compared = 0
    for step in answer(capsys, "log", "t", "--all", "--all-steps", "-d", str(path))["steps"]:
        fork = states[step["checkpoint_id"]]
        if step["source"] != "fork" or fork.parent_config is None:
            continue
        before = states[str(fork.parent_config["configurable"]["checkpoint_id"])].values.get("seen", [])
        change = {one["channel"]: one for one in step["changes"]}.get("seen")
        said = before if change is None else change["after"] if change["kind"] == "set" else before + change["after"]
        assert said == fork.values.get("seen", []), step
        compared += change is not None and change["kind"] == "wrote"
    assert compared > 2


def test_a_mark_says_changed_only_where_it_is_proved(
    forked: tuple[Path, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """`•` means another value than the parent's in LangGraph, no mark the same; `?` that nothing stored shows it."""
    path, app = forked
    marks: dict[bool | None, int] = {}
    for one in app.get_state_history(ON):
        if one.parent_config is None:
            continue
        before = app.get_state(one.parent_config).values.get("seen")
        changed = answer(capsys, "show", "t", own_id(one), "-d", str(path))["channels"]["seen"]["changed"]
        assert changed in (None, before != one.values.get("seen")), own_id(one)
        marks[changed] = marks.get(changed, 0) + 1
    assert marks.keys() >= {None, False}, marks
