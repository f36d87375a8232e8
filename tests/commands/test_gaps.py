"""Checkpoints that were removed from between two others: the newer one isn't credited with the older one's writes."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Annotated, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run
from ckpt_cli.commands.blame import blame
from ckpt_cli.commands.log import log
from ckpt_cli.commands.replay import replay
from ckpt_cli.commands.show import show
from ckpt_cli.commands.trace import trace
from ckpt_cli.commands.tree import tree
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


def test_equal_elements_on_both_sides_of_a_gap_need_not_be_the_same(tmp_path: Path) -> None:
    """A capped list has equal texts again; after steps that aren't stored each may be that of an older step, or not.

    The last step wrote one of which there was an equal one, which it may have moved.
    """

    class Capped(TypedDict, total=False):
        log: Annotated[list[str], lambda old, new: [*old, *new][-3:]]

    path = tmp_path / "capped.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        builder = StateGraph(Capped)
        builder.add_node("a", lambda _: {"log": ["a"]})
        builder.add_node("b", lambda _: {"log": ["b"]})
        builder.add_edge(START, "a").add_edge("a", "b")
        graph = builder.compile(checkpointer=SqliteSaver(connection))
        for _ in range(4):
            graph.invoke({"log": ["in"]}, on("t"))
        head = graph.get_state(on("t")).metadata["step"]
    assert run(["prune", "t", "--keep-last", "2", "--keep-inputs", "--yes", "-d", str(path)]) == 0
    view = at(path, blame, "t", "log")
    assert [(part.value, part.since.step, part.since.node) for part in view.lines] == [
        ("in", head - 1, None),
        ("a", head - 1, None),
        ("b", head, None),
    ]
    assert [len(part.since.or_at) for part in view.lines] == [1, 1, 2]


@pytest.mark.parametrize("how", ["prepended", "sorted"])
def test_an_element_on_both_sides_of_a_gap_may_have_stayed(how: str, tmp_path: Path) -> None:
    """Its own step and node are among those that are named, and nothing says that it went."""

    def prepend(old: list[str], new: list[str]) -> list[str]:
        return [*new, *old] if how == "prepended" else sorted([*old, *new])

    class Noted(TypedDict, total=False):
        log: Annotated[list[str], prepend]
        first: str

    path = tmp_path / "noted.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        builder = StateGraph(Noted)
        for node in ("a", "b", "c"):
            builder.add_node(node, lambda _, node=node: {"log": [f"by {node}"]})
        builder.add_conditional_edges(START, lambda state: state["first"], ["a", "b"]).add_edge("a", "c")
        graph = builder.compile(checkpointer=SqliteSaver(connection))
        graph.invoke({"first": "b"}, on("t"))
        before = graph.get_state(on("t"))
        assert before.values["log"] == ["by b"]
        graph.invoke({"first": "a"}, on("t"), durability="exit")
    since = {part.value: part.since for part in at(path, blame, "t", "log").lines}
    assert since["by b"].or_at == [before.config["configurable"]["checkpoint_id"]]
    assert "b" in since["by b"].candidates and since["by b"].by == ""
    assert not since["by a"].or_at and {"a", "c"} <= set(since["by a"].candidates)
    assert at(path, blame, "t", "log", reverse=True).lines == []


def test_a_drawn_tree_shows_each_gap(path: Path) -> None:
    """A checkpoint after steps that aren't stored has a row of its own, in which it says how many."""
    rows = [row.step for row in at(path, tree, "t").rows if row.step is not None]
    assert {row.step: row.unstored_steps for row in rows if row.unstored_steps} == {4: 3, 6: 1}


def test_no_node_has_the_time_of_a_gap(path: Path) -> None:
    """The time of several steps of which one is stored is counted apart."""
    view = at(path, trace, "t")
    gaps = [step for step in view.steps if step.spent == "unstored"]
    assert [step.step for step in gaps] == [4, 6]
    assert view.sums.unstored == pytest.approx(sum(step.seconds or 0 for step in gaps))
    assert sum(node.seconds or 0 for node in view.nodes) <= view.sums.running * 1.000001


def test_the_first_bad_step_may_not_be_stored(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`bisect` says so of a first bad checkpoint after a gap."""
    words = ["bisect", "t", "--good", "step:0", "--bad", "@", "--where", "len(log) > 2", "-d", str(path)]
    assert run([*words, "--json"]) == 0
    [bad] = json.loads(capsys.readouterr().out)["first_bad"]
    assert (bad["step"], bad["unstored_steps"]) == (4, 3)


def test_steps_between_may_be_on_another_branch(path: Path) -> None:
    """A parent was changed: the steps between are stored, so nothing says that they aren't."""
    with closing(sqlite3.connect(path)) as connection:
        by_step = {step.step: step.checkpoint_id for step in at(path, log, "t").steps}
        change = "update checkpoints set parent_checkpoint_id = ? where checkpoint_id = ?"
        connection.execute(change, [by_step[6], by_step[8]])
        connection.commit()
    assert {step.step: step.unstored_steps for step in at(path, log, "t").steps}[8] is None


def test_a_turn_isnt_counted_without_its_input(tmp_path: Path) -> None:
    """`prune` leaves a step without a parent; the input before it is gone, so nothing says which turn it was."""
    path = tmp_path / "pruned.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        line(SqliteSaver(connection), "a", "b").invoke({"log": ["in"]}, on("t"))
    before = at(path, blame, "t", "log").lines
    assert {one.since.turn for one in before} == {1}
    assert run(["prune", "t", "--keep-last", "3", "--yes", "-d", str(path)]) == 0
    assert {one.since.turn for one in at(path, blame, "t", "log").lines} == {None}


def test_a_folder_with_what_went_and_what_stayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The steps before the pruned head are on another branch there, as its line says; alone they are unstored."""
    source, folder = str(tmp_path / "a.sqlite"), tmp_path / "bundles"
    folder.mkdir()
    with SqliteSaver.from_conn_string(source) as saver:
        line(saver, "a", "b", "c").invoke({"log": ["in"]}, on("t"))
    gone, kept = str(folder / "gone.ckpt"), str(folder / "kept.ckpt")
    assert run(["prune", "t", "--keep-tips", "--export", gone, "--yes", "-d", source]) == 0
    assert run(["export", "t", "-o", kept, "-d", source]) == 0
    for database, unstored, words in (
        (kept, 4, "4 steps before it aren't stored"),
        (str(folder), None, "the steps before it are on another branch, or aren't stored"),
    ):
        capsys.readouterr()
        assert run(["log", "t", "--all", "-d", database]) == 0
        assert words in capsys.readouterr().out.splitlines()[0]
        assert run(["log", "t", "--all", "--jsonl", "-d", database]) == 0
        assert json.loads(capsys.readouterr().out.splitlines()[0])["unstored_steps"] == unstored
