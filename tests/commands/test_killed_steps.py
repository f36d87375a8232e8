"""A process that was killed right after a step: its checkpoint is stored, the writes of some of its tasks aren't."""

import operator
import sqlite3
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import UntrackedValue
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Send

from ckpt_cli.app import run
from tests.graphs.building import on


class _State(TypedDict):
    out: Annotated[list[str], operator.add]


def _agent(*, by_send: bool) -> Any:
    """Three tasks side by side, and one after them, before which the process is killed where the test wants that."""
    builder = StateGraph(_State).add_node("report", lambda _: {"out": ["report"]})
    if by_send:
        builder.add_node("work", lambda given: {"out": [given["name"]]})
        builder.add_conditional_edges(START, lambda _: [Send("work", {"name": name}) for name in "abc"], ["work"])
        builder.add_edge("work", "report")
    else:
        for name in "abc":
            builder.add_node(name, lambda _, name=name: {"out": [name]}).add_edge(START, name)
        builder.add_edge(list("abc"), "report")
    return builder


@pytest.mark.parametrize("by_send", [False, True])
def test_it_is_no_evidence_against_a_reducer(by_send: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The reducer of other threads stays known, and that of the thread itself, from its other steps."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        builder = _agent(by_send=by_send)
        app, killed = builder.compile(saver), builder.compile(saver, interrupt_before=["report"])
        for thread in ("good", "killed"):
            app.invoke({"out": ["in"]}, on(thread))
        killed.invoke({"out": ["in"]}, on("killed"))
        assert killed.get_state(on("killed")).next == ("report",)
    with sqlite3.connect(path) as connection:
        step = "SELECT parent_checkpoint_id FROM checkpoints WHERE thread_id = 'killed' ORDER BY checkpoint_id DESC"
        [[parent]] = connection.execute(f"{step} LIMIT 1").fetchall()
        [[task]] = connection.execute("SELECT max(task_id) FROM writes WHERE checkpoint_id = ?", [parent]).fetchall()
        assert connection.execute("DELETE FROM writes WHERE task_id = ?", [task]).rowcount > 0
    for thread in ("good", "killed"):
        words = ["update", thread, "--as-node", "report", "--values", '{"out": ["new"]}', "-d", str(path)]
        assert run([*words, "--dry-run"]) == 0, capsys.readouterr().err
        assert "out append" in capsys.readouterr().out


class _Noted(_State):
    note: Annotated[str, UntrackedValue]


def test_a_node_whose_writes_are_never_stored_hides_no_reducer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A node that writes to an UntrackedValue alone leaves nothing; the other node's writes explain each step."""
    path = tmp_path / "t.sqlite"
    builder = StateGraph(_Noted).add_node("work", lambda _: {"out": ["a"]}).add_node("keep", lambda _: {"note": "b"})
    builder.add_edge(START, "work").add_edge(START, "keep")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = builder.compile(saver)
        for _ in range(3):
            app.invoke({"out": ["in"]}, on("t"))
        assert run(["update", "t", "--as-node", "work", "--values", '{"out": ["new"]}', "-d", str(path), "--yes"]) == 0
        assert "out append (6 of 6 steps)" in capsys.readouterr().out
        assert app.get_state(on("t")).values["out"] == [*["in", "a"] * 3, "new"]


def test_such_a_node_keeps_no_step_from_being_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also beside Sends: what the stored writes explain agrees, and a value that they don't explain is unknown."""
    path = tmp_path / "t.sqlite"
    builder = StateGraph(_Noted).add_node("work", lambda _: {"out": ["a"]}).add_node("keep", lambda _: {"note": "b"})
    builder.add_conditional_edges(START, lambda _: ["work", Send("keep", {})])
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = builder.compile(saver)
        for _ in range(3):
            app.invoke({"out": ["in"]}, on("t"))
    assert run(["verify", "t", "-d", str(path)]) == 0
    said = capsys.readouterr().out
    assert "append (6 of 6 steps)" in said and "9 agrees\n" in said
