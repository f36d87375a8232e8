"""A step whose checkpoint is stored, and not the writes of all tasks that Sends started: the process was killed.

langgraph-checkpoint-sqlite commits a checkpoint and the writes before it apart, so a SIGKILL may leave such rows; here
the rows of some tasks are deleted, so that it's known which.
"""

import operator
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Annotated, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Send

from ckpt_cli.app import run
from ckpt_cli.commands.blame import blame
from ckpt_cli.commands.log import log
from ckpt_cli.commands.show import show
from ckpt_cli.commands.verify import verify
from tests.commands.asking import at
from tests.graphs.building import on


class State(TypedDict):
    out: Annotated[list[str], operator.add]


def _sends(_: State) -> list[Send]:
    return [*(Send("teach", {"kid": kid}) for kid in "abc"), Send("solo", {"kid": "d"})]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Step 2 has three tasks of `teach` and one of `solo`, by Sends, and `beside` by an edge."""
    path = tmp_path / "t.sqlite"
    builder = StateGraph(State).add_node("split", lambda _: {"out": ["split"]})
    for name in ("teach", "solo"):
        builder.add_node(name, lambda given, name=name: {"out": [f"{name} {given['kid']}"]})
    for name in ("beside", "report"):
        builder.add_node(name, lambda _, name=name: {"out": [name]})
    builder.add_edge(START, "split").add_edge("split", "beside").add_edge("beside", "report")
    builder.add_conditional_edges("split", _sends, ["teach", "solo"])
    with SqliteSaver.from_conn_string(str(path)) as saver:
        builder.compile(checkpointer=saver).invoke({"out": ["in"]}, on("t"), durability="sync")
    return path


def _lose(path: Path, *sends: int, paths: bool = True) -> None:
    """Delete the writes of some Sends' tasks; without `paths`, those of all tasks, as before langgraph 0.2.60."""
    with closing(sqlite3.connect(path)) as connection:
        for one in sends:
            lost = connection.execute("DELETE FROM writes WHERE task_path LIKE ?", (f"~__pregel_push, {one:010d}%",))
            assert lost.rowcount
        if not paths:
            connection.execute("UPDATE writes SET task_path = ''")
        connection.commit()


def _nodes(path: Path) -> dict[str, int]:
    [step] = [step for step in at(path, log, "t").steps if step.step == 2]
    assert at(path, show, "t", step.checkpoint_id).nodes == step.nodes
    nodes: dict[str, int] = step.nodes
    return nodes


@pytest.mark.parametrize("lost", [(1,), (0, 2), (3,), (0, 1, 2, 3)])
@pytest.mark.parametrize("paths", [True, False], ids=["paths", "no paths"])
def test_each_task_that_ran_counts(
    paths: bool, lost: tuple[int, ...], path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The Sends prove how many tasks of a node ran; a node of which no write is left has its first entry in
    ``versions_seen``."""
    _lose(path, *lost, paths=paths)
    assert _nodes(path) == {"teach": 3, "solo": 1, "beside": 1}
    assert run(["tree", "t", "--full", "-d", str(path)]) == 0
    assert "teach ×3" in capsys.readouterr().out


@pytest.mark.parametrize("lost", [(1,), (0, 2), (3,), (0, 1, 2, 3)])
def test_verify_counts_the_steps_that_it_compared(lost: tuple[int, ...], path: Path) -> None:
    """The step is named as not compared, and is no evidence against the reducer."""
    _lose(path, *lost)
    [thread] = at(path, verify).threads
    assert thread.verdicts == {"agrees": 4, "unknown": 1}
    [finding] = thread.findings
    assert (finding.kind, finding.channel, finding.verdict) == ("not-compared", "out", "unknown")
    assert [place.step for place in finding.checkpoints] == [2]
    [channel] = [one for one in thread.channels if one.channel == "out"]
    assert channel.evidence == "append (3 of 3 steps)"


@pytest.mark.parametrize(("lost", "item"), [(1, "teach b"), (3, "solo d")])
def test_the_lost_tasks_item_has_no_untrue_cause(lost: int, item: str, path: Path) -> None:
    """The node whose writes are missing is a candidate, and the reason says that they are; others are still known."""
    _lose(path, lost)
    lines = {line.value: line.since for line in at(path, blame, "t", "out").lines}
    assert lines[item].by == ""
    assert item.split()[0] in lines[item].candidates
    assert lines[item].why == f"{item.split()[0]} ran there, and its results aren't all stored"
    assert {value: one.node for value, one in lines.items() if value not in (item, "in")} == {
        value: value.split()[0] for value in lines if value not in (item, "in")
    }


def test_nothing_is_said_of_a_step_that_lost_nothing(path: Path) -> None:
    """All tasks left their writes."""
    assert _nodes(path) == {"teach": 3, "solo": 1, "beside": 1}
    [thread] = at(path, verify).threads
    assert thread.findings == []


def test_such_a_step_is_no_evidence_for_update(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where as many tasks left writes as Sends were due, as an edge started one of them."""
    _lose(path, 1)
    words = ["--values", '{"out": ["mine"]}', "--as-node", "report", "--dry-run"]
    assert run(["update", "t", *words, "-d", str(path)]) == 0
    assert "out append (3 of 3 steps)" in capsys.readouterr().out
