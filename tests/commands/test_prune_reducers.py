"""`ckpt prune --snapshot`: the plan names the delta channels that nothing proves, and which reducers a person named."""

import json
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run
from tests.graphs.building import on


def _greatest(old: int, writes: list[int]) -> int:
    return max(old, *writes)


def _appended(old: list[str], writes: list[list[str]]) -> list[str]:
    return [*old, *(item for write in writes for item in write)]


class State(TypedDict, total=False):
    best: Annotated[int, DeltaChannel(_greatest, snapshot_frequency=4)]
    log: Annotated[list[str], DeltaChannel(_appended, snapshot_frequency=4)]


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = str(tmp_path / "deltas.sqlite")
    with SqliteSaver.from_conn_string(file) as saver:
        turns = iter(range(99))
        builder = StateGraph(State)
        builder.add_node("work", lambda _: {"best": next(turns) % 5, "log": ["same"]})
        graph = builder.add_edge(START, "work").compile(checkpointer=saver)
        for _ in range(9):
            graph.invoke({"log": ["in"]}, on("t"))
    return file


def _notes(path: str, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(["prune", "t", "--keep-last", "1", "--snapshot", *words, "--dry-run", "--json", "-d", path]) == 0
    plan: dict[str, Any] = json.loads(capsys.readouterr().out)
    return "\n".join(plan["notes"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no snapshot of best in 1 checkpoint where nothing proves its value"),
        (["--reducer", "best=max"], "best is made by max, as you say"),
        (["--reducer", "log=new"], "log: your reducer isn't used where stored values show append"),
    ],
    ids=["unproven", "named", "refuted"],
)
def test_the_plan_says_what_makes_a_value(
    words: list[str], said: str, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where nothing goes; a reducer that a person named counts only where stored values don't show another."""
    assert said in _notes(path, capsys, *words)


def test_a_try_that_was_given_up_leaves_no_note(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--max-bytes` tries several numbers of checkpoints; what lacked a snapshot in a larger try isn't named."""
    path = str(tmp_path / "t.sqlite")
    with SqliteSaver.from_conn_string(path) as saver:
        builder = StateGraph(State)
        for name in "za":
            builder.add_node(name, lambda _, name=name: {"log": [name]})
        builder.add_conditional_edges(START, lambda state: ["z", "a"] if len(state["log"]) < 12 else ["z"])
        graph = builder.compile(checkpointer=saver)
        for _ in range(8):
            graph.invoke({"log": ["in"]}, on("t"))
        saver.conn.execute("ALTER TABLE writes DROP COLUMN task_path")  # as checkpoint-sqlite 3.1.0 had it
        saver.conn.commit()
    said = []
    for most in range(1, 12):
        words = ["prune", "t", "--max-bytes", f"{most}kB", "--snapshot", "--dry-run", "--json", "-d", path]
        if run(words) == 0:
            said += json.loads(capsys.readouterr().out)["notes"]
    assert any("that --max-bytes has room for" in note for note in said)
    assert not any("in 0 checkpoints" in note for note in said)
