"""What is said of unfinished tips, of empty checkpoints and of failures, held against what the library then does."""

import operator
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.errors import EmptyInputError
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from ckpt_cli.app import run
from tests.commands.asking import at
from tests.commands.test_exit_durability import extend
from tests.graphs.building import line, on


class Killed(BaseException):
    """What ends a process, before the checkpoint of a step is stored."""


def said(capsys: pytest.CaptureFixture[str], *words: str, path: Path) -> str:
    """What a command prints on a terminal, in one line."""
    assert run([*words, "-d", str(path)]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_a_finished_step_on_another_branch_runs_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run from a tip that isn't the head doesn't apply the stored writes, and only the head is said to do so."""
    ran: list[str] = []
    dies = [True]

    class Dying(SqliteSaver):
        """It dies before it stores the checkpoint after the node b."""

        def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
            if dies and "b" in ran:
                dies.clear()
                raise Killed
            return super().put(config, checkpoint, metadata, new_versions)

    def node(name: str) -> Any:
        return lambda _: ran.append(name) or {"log": [name]}

    path = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        graph = line(Dying(connection), "a", "b", "c", nodes={name: node(name) for name in "abc"})
        with suppress(Killed):
            graph.invoke({"log": ["in"]}, on("t"), durability="sync")
        assert not dies
        tip = next(graph.get_state_history(on("t"))).config
        tip_id = tip["configurable"]["checkpoint_id"]
        assert "begins by applying the writes" in said(capsys, "show", "t", path=path)
        assert at(path, _replay(), "t").head
        graph.update_state(list(graph.get_state_history(on("t")))[1].config, {"log": ["aside"]}, as_node=START)
        shown, replayed = said(capsys, "show", "t", tip_id, path=path), at(path, _replay(), "t", tip_id)
        ran.clear()
        graph.invoke(None, tip)
    assert ran == ["b", "c"]
    assert "applying the writes" not in shown and "a run from here runs the step again" in shown
    assert not replayed.head


def _replay() -> Any:
    from ckpt_cli.commands.replay import replay

    return replay


class Delta(TypedDict, total=False):
    """A delta channel, for which an exit stores an empty checkpoint before the first."""

    n: int
    story: Annotated[list[str], DeltaChannel(extend, snapshot_frequency=100)]


def test_where_nothing_can_run_no_run_is_promised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From the empty checkpoint of ``durability="exit"`` a run raises, and from the end of a turn it runs no node."""
    ran: list[str] = []
    builder = StateGraph(Delta)
    builder.add_node("a", lambda _: ran.append("a") or {"story": ["a"]})
    builder.add_edge(START, "a")
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = builder.compile(checkpointer=saver)
        for _ in range(2):
            graph.invoke({"n": 1}, on("t"), durability="exit")
        *_, end, stub = graph.get_state_history(on("t"))
        ran.clear()
        with pytest.raises(EmptyInputError):
            graph.invoke(None, stub.config)
        stub_shown, end_shown = (
            said(capsys, "show", "t", one.config["configurable"]["checkpoint_id"], path=path) for one in (stub, end)
        )
        graph.invoke(None, end.config)
    assert ran == []
    assert "graph.invoke(None, config) raises EmptyInputError" in stub_shown
    assert "graph.invoke(None, config) has nothing to run here" in end_shown


class Count(TypedDict):
    """A sum."""

    n: Annotated[int, operator.add]


@pytest.mark.parametrize("goto", [(), "a"], ids=["values", "goto"])
def test_only_a_goto_of_a_command_starts_a_node(goto: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a Command's ``update`` wrote to a finished thread starts none, so no run and no branch is promised."""
    ran: list[str] = []
    builder = StateGraph(Count).add_node("a", lambda _: ran.append("a") or {"n": 10}).add_edge(START, "a")
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = builder.compile(checkpointer=saver)
        graph.invoke({"n": 1}, on("t"))
        end = graph.get_state(on("t")).config
        graph.invoke(Command(update={"n": 100}, goto=goto), on("t"))
        graph.invoke({"n": 2}, on("t"))
        shown, before = said(capsys, "show", "t", end["configurable"]["checkpoint_id"], path=path), len(ran)
        graph.invoke(None, end)
    assert len(ran) - before == (1 if goto else 0)
    assert ("graph.invoke(None, config) has nothing to run here" in shown) == (not goto)
    assert ("runs again from here, on a new branch" in shown) == bool(goto)
    assert "a Command wrote this, which no channel has here" in shown


@pytest.mark.parametrize("fails_first", [True, False])
def test_show_claims_no_order_of_a_question_and_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fails_first: bool
) -> None:
    """A task that failed in one run and asked in another left the same rows whichever came first."""
    fails = [fails_first]

    def node(_: Count) -> Count:
        if fails[0]:
            raise ValueError("early")
        return {"n": interrupt("q")}

    builder = StateGraph(Count)
    builder.add_node("a", node)
    builder.add_edge(START, "a")
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = builder.compile(checkpointer=saver)
        for given in ({"n": 1}, None):
            with suppress(ValueError):
                graph.invoke(given, on("t"))
            fails[0] = not fails_first
    shown = said(capsys, "show", "t", path=path)
    assert "failed before" not in shown and "failed too, before or after it asked: ValueError('early')" in shown


def test_replay_says_that_writes_are_not_stored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a task of ``durability="exit"`` that wrote something, only its question is left: it didn't write nothing."""
    builder = StateGraph(Count)
    builder.add_node("b", lambda _: {"n": interrupt("q")})
    builder.add_node("c", lambda _: None)
    builder.add_edge(START, "b")
    builder.add_edge("b", "c")
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = builder.compile(checkpointer=saver, interrupt_after=["b"])
        graph.invoke({"n": 1}, on("t"))
        graph.invoke(Command(resume=10), on("t"), durability="exit")
        graph.invoke(None, on("t"))
    steps = list(at(path, _replay(), "t", to="@").steps)
    stored = {task.node: task.stored for step in steps for task in step.tasks if step.step and step.step > 0}
    assert stored == {"b": False, "c": True}
    assert run(["replay", "t", "--to", "@", "-d", str(path)]) == 0
