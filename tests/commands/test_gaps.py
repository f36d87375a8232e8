"""Checkpoints that were removed from between two others: the newer one isn't credited with the older one's writes."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from ckpt_cli.commands.blame import blame
from ckpt_cli.commands.log import log
from ckpt_cli.commands.replay import replay
from ckpt_cli.commands.show import show
from ckpt_cli.commands.verify import verify
from ckpt_cli.session import Session
from tests.commands.asking import at
from tests.graphs.building import line, on


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two runs of three nodes: the first run's steps, and the one that took in the second input, were removed."""
    path = tmp_path / "gaps.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        graph = line(SqliteSaver(connection), "a", "b", "c")
        for turn in range(2):
            graph.invoke({"log": [f"in-{turn}"], "n": turn}, on("t"))
        history = {
            s.metadata["step"]: s.config["configurable"]["checkpoint_id"] for s in graph.get_state_history(on("t"))
        }
        for step in (1, 2, 3, 5):
            connection.execute("delete from checkpoints where checkpoint_id = ?", [history[step]])
            connection.execute("delete from writes where checkpoint_id = ?", [history[step]])
        for child, parent in ((4, 0), (6, 4)):
            change = "update checkpoints set parent_checkpoint_id = ? where checkpoint_id = ?"
            connection.execute(change, [history[parent], history[child]])
        connection.commit()
    return path


def test_the_log_names_no_node_and_says_what_is_missing(path: Path) -> None:
    """Neither the first removed step's writes nor its nodes are shown with the checkpoint after the gap."""
    steps = {step.step: step for step in at(path, log, "t").steps}
    assert {n: step.unstored_steps for n, step in steps.items()} == {-1: 0, 0: 0, 4: 3, 6: 1, 7: 0, 8: 0}
    assert (steps[6].nodes, steps[7].nodes) == ({}, {"b": 1})
    assert at(path, show, "t", "step:6").nodes == {}


def test_nobody_is_credited_across_a_gap(path: Path) -> None:
    """A value that came into being in a gap has no node and no input."""
    view = at(path, blame, "t", "log")
    credited = [(part.value, part.since.step, part.since.by, part.since.node) for part in view.lines]
    assert credited[0] == ("in-0", 0, "input", None)
    assert credited[1:6] == [
        ("a", 4, "", None),
        ("b", 4, "", None),
        ("c", 4, "", None),
        ("in-1", 6, "", None),
        ("a", 6, "", None),
    ]
    assert credited[6:] == [("b", 7, "node", "b"), ("c", 8, "node", "c")]


def test_nothing_is_found_wrong(path: Path) -> None:
    """`verify` and `replay --to` know that they know nothing of these steps."""
    with closing(Session(str(path))) as session:
        found = [one for thread in verify(session).threads for one in thread.findings]
    assert {one.verdict for one in found} == {"unknown"}
    with closing(Session(str(path))) as session:
        steps = replay(session, "t", to="@").steps
    assert {step.step: step.verdict for step in steps if step.step in (4, 6)} == {4: "unknown", 6: "unknown"}
