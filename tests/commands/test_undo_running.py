"""`ckpt undo` while an agent runs that has read a checkpoint which goes, with the real library."""

import operator
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run
from ckpt_cli.operations.log import OperationLog
from tests.graphs.building import on

THREADS = [f"it's {number}" for number in range(7)]


class State(TypedDict, total=False):
    """A list that grows."""

    out: Annotated[list[str], operator.add]


class Agent:
    """A graph of one node, which can be stopped before it writes anything."""

    def __init__(self, saver: SqliteSaver) -> None:
        self.has_read, self.may_write = Event(), Event()
        self.app: Any = StateGraph(State).add_node("work", self._work).add_edge(START, "work").compile(saver)

    def _work(self, _state: State) -> State:
        self.has_read.set()
        assert self.may_write.wait(60)
        return {"out": ["done"]}

    def run(self, given: Any = None, *threads: str) -> None:
        for thread in threads:
            self.app.invoke(given, on(thread))


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    """An agent with finished threads."""
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        made = Agent(saver)
        made.may_write.set()
        made.run({"out": ["go"]}, *THREADS)
        yield made


@pytest.mark.parametrize("threads", [["--stdin"], [THREADS[0]]], ids=["many", "one"])
def test_an_agent_that_has_read_what_an_undo_removes(
    agent: Agent,
    threads: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What it wrote meanwhile is said, with the command that brings its parent back; only then is it a line again."""
    database = ["-d", str(tmp_path / "t.sqlite"), "--yes"]
    is_many = threads == ["--stdin"]
    fork = ["fork", "--match", "it*", "--at", "step:0"] if is_many else ["fork", *threads, "step:0"]
    assert run([*fork, *database]) == 0
    name = "mark_by_parts" if is_many else "finish"
    finish: Callable[[OperationLog, int], Any] = getattr(OperationLog, name)

    def finish_late(log: OperationLog, number: int) -> None:
        finish(log, number)
        agent.may_write.set()
        runner.join()

    monkeypatch.setattr(OperationLog, name, finish_late)
    agent.may_write.clear()
    agent.has_read.clear()
    runner = Thread(target=agent.run, args=(None, THREADS[0]))
    runner.start()
    assert agent.has_read.wait(60)
    capsys.readouterr()
    assert run(["undo", *database]) == 0
    monkeypatch.setattr(OperationLog, name, finish)
    said = capsys.readouterr().err
    [bring_back] = re.findall("went on to .* removed at that moment; `ckpt (.*)` brings it back", said)
    head = agent.app.get_state(on(THREADS[0]))
    assert head.parent_config not in [one.config for one in agent.app.get_state_history(on(THREADS[0]))]
    assert run([*shlex.split(bring_back), *database]) == 0
    assert head.parent_config in [one.config for one in agent.app.get_state_history(on(THREADS[0]))]
    assert head == agent.app.get_state(on(THREADS[0]))
    assert "went on" not in capsys.readouterr().err


def test_agents_at_rest(agent: Agent, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is said of checkpoints that nobody went on from."""
    database = ["-d", str(tmp_path / "t.sqlite"), "--yes"]
    for chosen in ([THREADS[0], "step:0"], ["--match", "it*", "--at", "step:0"]):
        assert run(["fork", *chosen, *database]) == 0
        capsys.readouterr()
        assert run(["undo", *database]) == 0
        assert capsys.readouterr().err == ""
