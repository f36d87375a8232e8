"""What `ckpt undo` says after the application went on: each hint is followed to its end, with the real library."""

import json
import operator
import re
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import monotonic, sleep
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Send

from ckpt_cli.app import run
from tests.commands.test_taken_back import rows
from tests.graphs.building import on

Captured = pytest.CaptureFixture[str]
_PATIENCE = 60.0  # seconds
_PAUSE = 0.3  # seconds in which a sibling begins, if there is one
_GOOD = """
    SELECT 1 FROM writes
    WHERE thread_id = ? AND checkpoint_id = (SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = ?)
        AND channel IN ('out', '__return__') AND instr(value, CAST('good' AS BLOB))
"""


class State(TypedDict, total=False):
    """A list that grows, or the argument of a task."""

    job: str
    out: Annotated[list[str], operator.add]


class Agent:
    """Two tasks of which the second fails, in the graph itself or in a subgraph, or two calls of a workflow."""

    def __init__(self, saver: SqliteSaver, kind: str) -> None:
        self.ran: list[str] = []
        self.broken = True
        self._thread = "t"
        [(_, _, self._path)] = saver.conn.execute("PRAGMA database_list").fetchall()
        self.app: Any = self._flow(saver) if kind == "flow" else self._graph(saver, inside=kind == "inside")

    def _work(self, job: str) -> str:
        self.ran.append(job)
        if job in ("bad", "worse") and self.broken:
            self._await_sibling()
            raise ValueError(job)
        return job

    def _await_sibling(self) -> None:
        """Wait until what ``good`` wrote is stored: LangGraph drops it if the run fails before."""
        began = monotonic()
        while monotonic() - began < (_PATIENCE if "good" in self.ran else _PAUSE):
            with closing(sqlite3.connect(self._path)) as connection:
                if connection.execute(_GOOD, [self._thread, self._thread]).fetchall():
                    return
            sleep(0.01)

    def _graph(self, saver: SqliteSaver, *, inside: bool) -> Any:
        def work(state: State) -> State:
            return {"out": [self._work(state["job"])]}

        graph = StateGraph(State).add_node("plan", lambda _: {"out": ["plan"]}).add_node("w", work)
        sends = [Send("w", {"job": job}) for job in ("good", "bad")]
        graph.add_edge(START, "plan").add_conditional_edges("plan", lambda _: sends, ["w"])
        if not inside:
            return graph.compile(checkpointer=saver)
        outer = StateGraph(State).add_node("sub", graph.compile()).add_edge(START, "sub")
        return outer.compile(checkpointer=saver)

    def _flow(self, saver: SqliteSaver) -> Any:
        @task
        def call(job: str) -> str:
            return self._work(job)

        @entrypoint(checkpointer=saver)
        def flow(jobs: list[str]) -> list[str]:
            return [call(job).result() for job in jobs]

        return flow

    def go(self, thread: str = "t", given: Any = None) -> list[str]:
        """Run the agent, and give the jobs that it did."""
        self.ran.clear()
        self._thread = thread
        try:
            self.app.invoke(given, on(thread))
        except ValueError:
            assert self.broken
        return sorted(self.ran)


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[SqliteSaver]:
    """A database."""
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as made:
        yield made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of the database."""
    return tmp_path / "t.sqlite"


def ckpt(path: Path, *words: str) -> int:
    """Run a command without a question."""
    return run([*words, "-d", str(path), "--yes"])


def follow(path: Path, capsys: Captured, *undo: str) -> list[str]:
    """Type what the hints say until the undo is done; the commands that are offered in its place if it can't be.

    A hint that doesn't say that the undo will be refused once more promises that it works.
    """
    is_promised = False
    for _ in range(8):
        capsys.readouterr()
        if ckpt(path, *undo) == 0:
            return []
        said = capsys.readouterr().err
        assert not is_promised, said
        is_promised = "is refused then too" not in said
        commands = re.findall("`ckpt ([^`]*)`", said.partition("hint: ")[2])
        if "instead of this undo" in said:
            return commands
        for words in map(shlex.split, commands[:-1]):
            assert "NEW_THREAD" in words or ckpt(path, *words) == 0
    raise AssertionError("the hints go round in a circle")


EDITS = {
    "graph": ["edit", "t", "--task", "w[2]", "--set", 'job="fine"'],
    "flow": ["edit", "t", "--task", "flow", "--set", '[1]="fine"', "--keep-task", "call"],
}


@pytest.mark.parametrize("broken", [False, True], ids=["finished", "failed-again"])
@pytest.mark.parametrize("kind", EDITS)
def test_an_edited_task_with_kept_results_is_taken_back(
    kind: str, broken: bool, saver: SqliteSaver, path: Path, capsys: Captured
) -> None:
    """What came after goes first, and the kept results stay until the undo: every row is as before the edit."""
    agent = Agent(saver, kind)
    assert agent.go(given=["good", "bad"] if kind == "flow" else {"out": []}) == ["bad", "good"]
    before = rows(path)
    words = [word.replace("fine", "worse") if broken else word for word in EDITS[kind]]
    assert ckpt(path, *words) == 0
    agent.go()
    assert follow(path, capsys, "undo", "1") == []
    assert rows(path) == before
    agent.broken = False
    assert agent.go() == ["bad"]


@pytest.mark.parametrize("broken", [False, True], ids=["finished", "failed-again"])
@pytest.mark.parametrize("kind", EDITS)
def test_what_came_after_an_edited_task_is_deleted_without_its_kept_results(
    kind: str, broken: bool, saver: SqliteSaver, path: Path, capsys: Captured
) -> None:
    """The checkpoint has every row again that the edit stored, so the same tasks run as after the edit."""
    agent = Agent(saver, kind)
    agent.go(given=["good", "bad"] if kind == "flow" else {"out": []})
    assert ckpt(path, *(word.replace("fine", "worse") if broken else word for word in EDITS[kind])) == 0
    edited, ran = rows(path), agent.go()
    head = max(row[2] for row in edited[0])
    capsys.readouterr()
    assert ckpt(path, "delete", "t", "--after", head) == 0
    assert "that operation 1 stored there; the other writes of its tasks are deleted" in capsys.readouterr().out
    assert rows(path) == edited
    assert agent.go() == ran


@pytest.mark.parametrize("kind", ["graph", "inside", "flow"])
@pytest.mark.parametrize("broken", [False, True], ids=["finished", "failed-again"])
@pytest.mark.parametrize("pending", [["--with-pending"], []], ids=["pending", "anew"])
def test_a_copy_that_went_on_goes_with_all_that_came_after(
    kind: str, broken: bool, pending: list[str], saver: SqliteSaver, path: Path, capsys: Captured
) -> None:
    """The undo is done, or the whole copy can be deleted; the original has every row that it had."""
    agent = Agent(saver, kind)
    agent.go(given=["good", "bad"] if kind == "flow" else {"out": []})
    before = rows(path)
    assert ckpt(path, "fork", "t", "@", "--to", "u", *pending) == 0
    agent.broken = broken
    agent.go("u")
    if instead := follow(path, capsys, "undo", "1"):
        assert instead == ["delete u"]
        assert ckpt(path, *shlex.split(instead[0])) == 0
    assert rows(path) == before


def test_a_deletion_that_was_undone_is_not_asked_for_again(saver: SqliteSaver, path: Path, capsys: Captured) -> None:
    """A person who deleted what came after, and brought it back, isn't sent to delete it once more."""
    agent = Agent(saver, "graph")
    agent.go(given={"out": []})
    before = rows(path)
    assert ckpt(path, *EDITS["graph"]) == 0
    agent.go()
    assert ckpt(path, "delete", "t", "--after", "@~1") == 0
    assert follow(path, capsys, "undo", "1") == []
    assert rows(path) == before


def test_a_deletion_that_came_back_with_its_results_and_went_on(
    saver: SqliteSaver, path: Path, capsys: Captured
) -> None:
    """An undo adds writes too: to take it back, the hint leads to the end of it or says that there is none."""
    agent = Agent(saver, "graph")
    agent.go(given={"out": []})
    assert ckpt(path, "delete", "t", "--after", "@~1") == 0
    assert ckpt(path, "undo", "1") == 0
    agent.broken = False
    assert agent.go() == ["bad"]
    back, _ = follow(path, capsys, "undo", "2")
    assert ckpt(path, *shlex.split(back)) == 0
    assert agent.go() == ["bad", "good"]


def test_a_thread_that_came_back_with_its_results_and_went_on(saver: SqliteSaver, path: Path, capsys: Captured) -> None:
    """To take the undo of its deletion back is to delete it."""
    agent = Agent(saver, "graph")
    agent.go("other", {"out": []})
    agent.go(given={"out": []})
    assert ckpt(path, "fork", "other", "@") == 0
    assert ckpt(path, "delete", "t") == 0
    assert ckpt(path, "undo", "2") == 0
    agent.broken = False
    agent.go()
    assert follow(path, capsys, "undo", "3") == ["delete t"]


def test_a_branch_that_came_back_and_went_on(saver: SqliteSaver, path: Path, capsys: Captured) -> None:
    """The thread was there before, so nobody is sent to delete it: it goes on from the branch that stayed."""
    agent = Agent(saver, "graph")
    agent.go(given={"out": []})
    failed = agent.app.get_state(on("t")).config
    assert ckpt(path, "rollback", "t", "@^") == 0
    kept = agent.app.get_state(on("t")).config["configurable"]["checkpoint_id"]
    assert ckpt(path, "delete", "t", "--branch", failed["configurable"]["checkpoint_id"]) == 0
    without = rows(path)
    assert ckpt(path, "undo", "2") == 0
    agent.broken = False
    agent.app.invoke(None, failed)
    before = rows(path)
    delete, back, copy = follow(path, capsys, "undo", "3")
    assert rows(path) == before
    assert ckpt(path, *shlex.split(delete)) == 0
    assert rows(path) == without
    assert ckpt(path, "undo", "4") == 0
    assert shlex.split(back) == ["rollback", "t", kept] and shlex.split(copy)[:3] == ["fork", "t", kept]
    assert ckpt(path, *shlex.split(back)) == 0
    assert agent.go() == ["bad", "good"]


WRITTEN = ["update", "t", "--reducer", "out=append"]
ELSEWHERE = {
    "fork": ["fork", "t", "@"],
    "rollback": ["rollback", "t", "@"],
    "edit": ["edit", "t", "--set", 'out=["x"]', "--rerun"],
    "replay": ["replay", "t", "--commit", "--reducer", "out=append"],
    "update": [*WRITTEN, "--values", '{"out": ["x"]}', "--as-node", "plan", "--next", 'w={"job": "fine"}'],
    "bulk": [*WRITTEN, "--bulk", "STEPS"],
}


@pytest.mark.parametrize("verb", ELSEWHERE)
def test_a_checkpoint_without_writes_of_its_own_is_still_taken_back(
    verb: str, saver: SqliteSaver, path: Path, capsys: Captured
) -> None:
    """The hint deletes what came after it, and then the undo is done."""
    agent, steps = Agent(saver, "graph"), path.with_name("steps.jsonl")
    step = {"values": {"out": ["x"]}, "as_node": "plan", "next": ['w={"job": "fine"}']}
    steps.write_text(f"{json.dumps(step)}\n{json.dumps(step)}\n")
    agent.go(given={"out": []})
    before = rows(path)
    assert ckpt(path, *(str(steps) if word == "STEPS" else word for word in ELSEWHERE[verb])) == 0
    agent.broken = False
    agent.go()
    assert follow(path, capsys, "undo", "1") == []
    assert rows(path) == before


def test_a_deletion_that_was_undone_between_is_no_reason(saver: SqliteSaver, path: Path, capsys: Captured) -> None:
    """Whoever deletes a thread and brings it back isn't sent from one undo of it to the next."""
    agent = Agent(saver, "graph")
    agent.go("other", {"out": []})
    agent.go(given={"out": []})
    before = rows(path)
    assert ckpt(path, "delete", "t", "--after", "@^") == 0
    agent.broken = False
    agent.go()
    assert ckpt(path, "delete", "t") == 0
    assert ckpt(path, "undo", "2") == 0
    assert ckpt(path, "undo", "1") == 7
    assert re.findall("`ckpt ([^ `]*)", capsys.readouterr().err) == ["delete", "fork", "undo"]
    assert ckpt(path, "delete", "t") == 0
    assert ckpt(path, "undo", "1") == 7
    said = capsys.readouterr().err
    assert "`ckpt undo 4` first; `ckpt undo 1` is refused then too (thread 't' has continued from" in said
    assert ckpt(path, "undo", "4") == 0
    assert follow(path, capsys, "undo", "1") == []
    assert rows(path) == before


def test_an_undo_that_will_be_refused_again_is_not_promised(saver: SqliteSaver, path: Path, capsys: Captured) -> None:
    """The undo of a deletion brings back what was added later, which prevents the other undo."""
    agent = Agent(saver, "graph")
    agent.go("other", {"out": []})
    agent.go(given={"out": []})
    before = rows(path)
    assert ckpt(path, "fork", "t", "@") == 0
    agent.broken = False
    agent.go()
    assert ckpt(path, "delete", "t") == 0
    assert ckpt(path, "undo", "1") == 7
    said = capsys.readouterr().err
    assert "`ckpt undo 2` first; `ckpt undo 1` is refused then too (thread 't' continued" in said
    assert ckpt(path, "undo", "2") == 0
    assert follow(path, capsys, "undo", "1") == []
    assert rows(path) == before


@pytest.mark.parametrize("words", [["fork", "t", "@"], ["rollback", "t", "@^"], EDITS["graph"]], ids=lambda one: one[0])
def test_writes_without_a_later_checkpoint_go_too(
    words: list[str], saver: SqliteSaver, path: Path, capsys: Captured
) -> None:
    """If the tasks of the added checkpoint failed, nothing came after but their writes: they are deleted first."""
    agent = Agent(saver, "graph")
    agent.go(given={"out": []})
    before = rows(path)
    assert ckpt(path, *(word.replace("fine", "worse") for word in words)) == 0
    agent.go()
    assert follow(path, capsys, "undo", "1") == []
    assert rows(path) == before


def test_a_checkpoint_whose_tasks_left_nothing_has_nothing_to_delete(
    saver: SqliteSaver, path: Path, capsys: Captured
) -> None:
    """What the edit itself stored isn't what came after."""
    agent = Agent(saver, "graph")
    agent.go(given={"out": []})
    assert ckpt(path, *EDITS["graph"]) == 0
    before = rows(path)
    assert ckpt(path, "delete", "t", "--after", "@") == 4
    assert rows(path) == before


def test_plain_undo_goes_back_behind_a_deletion_that_made_room(
    saver: SqliteSaver, path: Path, capsys: Captured
) -> None:
    """The deletion hangs on what an undo took back: who types ``ckpt undo`` and each hint comes to the beginning."""
    agent = Agent(saver, "graph")
    agent.broken = False
    agent.go(given={"out": []})
    before = rows(path)
    assert ckpt(path, "edit", "t", "--append", 'out="x"') == 0
    assert ckpt(path, "fork", "t", "step:0") == 0
    assert agent.go()
    for _ in range(3):
        capsys.readouterr()
        if ckpt(path, "undo"):
            for words in re.findall("`ckpt ([^`]*)`", capsys.readouterr().err.partition("hint: ")[2]):
                assert ckpt(path, *shlex.split(words)) == 0
        if rows(path) == before:
            return
    raise AssertionError("it goes round in a circle")


def test_a_copy_that_the_application_deleted(saver: SqliteSaver, path: Path, capsys: Captured) -> None:
    """The undo says that the thread is gone, not that a row of it has changed."""
    Agent(saver, "graph").go(given={"out": []})
    assert ckpt(path, "fork", "t", "step:0", "--to", "u") == 0
    saver.delete_thread("u")
    capsys.readouterr()
    assert ckpt(path, "undo") == 7
    assert "thread 'u' is gone" in capsys.readouterr().err
