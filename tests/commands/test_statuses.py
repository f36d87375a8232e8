"""What `threads`, `show`, `log` and `tree` say about tasks that wait, failed, finished or never ran."""

import json
import operator
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt

from ckpt_cli.app import run
from ckpt_cli.commands.log import log
from ckpt_cli.commands.show import show
from ckpt_cli.commands.tree import tree
from ckpt_cli.commands.writes import writes
from ckpt_cli.errors import UsageError
from ckpt_cli.output.line import Page, plain
from ckpt_cli.output.printer import render
from ckpt_cli.output.theme import WAITING
from tests import golden
from tests.commands.asking import at
from tests.commands.listing import threads
from tests.graphs.building import line, on

HOUR = 3600


class _State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]


def _ask(state: _State) -> _State:
    return {"log": [interrupt("really?")]}


def _fail(state: _State) -> _State:
    raise ValueError("no")


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """Threads that wait and failed at once, wait, failed, were stopped, were killed, were answered, are done."""
    file = tmp_path / "statuses.sqlite"
    with closing(sqlite3.connect(file, check_same_thread=False)) as database:
        saver = SqliteSaver(database)
        both = StateGraph(_State)
        for name, node in (("ask", _ask), ("bad", _fail)):
            both.add_node(name, node)
            both.add_edge(START, name)
        with pytest.raises(ValueError, match="no"):
            both.compile(checkpointer=saver).invoke({"log": []}, on("both"))
        asking = line(saver, "ask", "after", nodes={"ask": _ask})
        asking.invoke({"log": []}, on("waiting"))
        asking.invoke({"log": []}, on("answered"))
        asking.invoke(Command(resume="yes"), on("answered"))
        line(saver, "a", "b").invoke({"log": []}, on("done"))
        line(saver, "a", "b", interrupt_before=["b"]).invoke({"log": []}, on("stopped"))
        killed = line(saver, "a", "b", nodes={"b": _kill})
        with pytest.raises(KeyboardInterrupt):
            killed.invoke({"log": []}, on("killed"))
        with pytest.raises(ValueError, match="no"):
            line(saver, "bad", nodes={"bad": _fail}).invoke({"log": []}, on("failed"))
    yield file


def _kill(state: _State) -> _State:
    raise KeyboardInterrupt


def _listed(path: Path, capsys: pytest.CaptureFixture[str], *words: str) -> set[str]:
    assert run(["threads", "-d", str(path), *words]) == 0
    return {row.split("\t")[0] for row in capsys.readouterr().out.splitlines()}


def test_a_task_that_asked_and_failed_is_found_by_both_statuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The library has a question and an error for it; threads, stats, log, tree and --where have both too."""
    fails, file = [False], tmp_path / "t.sqlite"

    def node(state: _State) -> _State:
        if fails[0]:
            raise ValueError("early")
        return {"log": [interrupt("really?")]}

    with SqliteSaver.from_conn_string(str(file)) as saver:
        graph = line(saver, "ask", nodes={"ask": node})
        graph.invoke({"log": []}, on("t"))
        fails[0] = True
        with pytest.raises(ValueError, match="early"):
            graph.invoke(None, on("t"))
        [task] = graph.get_state(on("t")).tasks
        assert (task.error, [one.value for one in task.interrupts]) == ("ValueError('early')", ["really?"])
    for status in ("waiting", "failed", "stuck"):
        assert _listed(file, capsys, "--status", status) == {"t"}
    assert _listed(file, capsys, "--where", "'early' in error and node == 'ask'") == {"t"}
    [thread] = at(file, threads).threads
    assert (thread.status, thread.statuses) == ("waiting", ["waiting", "failed"])
    assert [one.error for one in thread.errors] == [task.error]
    for options in ((), ("--values",)):
        assert run(["stats", "--json", *options, "-d", str(file)]) == 0
        counted = json.loads(capsys.readouterr().out)
        assert (counted["waiting"], counted["failed"]) == (1, 1)
    drawn = "\n".join(map(plain, render(at(file, tree, "t"), Page(100, golden.NOW))))
    assert "waiting for you: ask · failed: ask" in drawn
    assert "⏸ ask  “really?”" in drawn and f"✗ ask  failed too, before or after it asked:  {task.error}" in drawn
    assert "✗ ask ⏸ ask" in "\n".join(map(plain, render(at(file, log, "t"), Page(100, golden.NOW))))


def test_a_thread_is_found_by_each_of_its_statuses(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One with a waiting and a failed task by both; several statuses may be in one option."""
    assert _listed(path, capsys, "--status", "waiting") == {"both", "waiting"}
    assert _listed(path, capsys, "--status", "failed") == {"both", "failed"}
    assert _listed(path, capsys, "--status", "waiting,failed") == {"both", "waiting", "failed"}
    assert _listed(path, capsys, "-s", "failed, done", "-s", "waiting") == {
        "both",
        "waiting",
        "failed",
        "done",
        "answered",
    }
    with pytest.raises(UsageError, match="no status 'late'"):
        at(path, threads, status=["waiting,late"])


def test_the_heading_of_a_tree_has_both_statuses(path: Path) -> None:
    """A thread in which one task waits and another failed is said to do both."""
    heading = plain(next(iter(render(at(path, tree, "both"), Page(120, golden.NOW)))))
    assert "waiting for you: ask · failed: bad" in heading


def test_json_has_every_status(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`status` is the first of `statuses`."""
    assert run(["threads", "-d", str(path), "--json"]) == 0
    view = json.loads(capsys.readouterr().out)
    statuses = {one["thread_id"]: one["statuses"] for one in view["threads"]}
    assert statuses["both"] == ["waiting", "failed"]
    assert statuses["stopped"] == statuses["killed"] == ["unfinished"]
    assert all(one["status"] == one["statuses"][0] for one in view["threads"])


def test_stuck_is_what_does_not_go_on_by_itself(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What waits or failed, and what is unfinished without a new checkpoint for a while."""
    halted = {"both", "waiting", "failed"}
    assert _listed(path, capsys, "--status", "stuck") == halted
    assert _listed(path, capsys, "--status", "stuck", "--stuck-after", "0s") == halted | {"stopped", "killed"}
    assert _listed(path, capsys, "--status", "stuck,done") == halted | {"done", "answered"}
    assert run(["delete", "-d", str(path), "--status", "stuck", "--dry-run", "--json"]) == 0


def test_what_has_finished_asks_nothing(path: Path) -> None:
    """The checkpoint that a question was asked at shows none once it was answered, and no sign of an open one."""
    steps = at(path, log, "answered").steps
    asked = next(step for step in steps if step.halts)
    view = at(path, show, "answered", asked.checkpoint_id)
    assert [(task.status, task.interrupts) for task in view.tasks] == [("finished", [])]
    assert any(plain(part).endswith("ask asked") for part in render(at(path, log, "answered"), Page(80, golden.NOW)))
    for one in (view, at(path, log, "answered"), at(path, tree, "answered"), at(path, writes, "answered", asked.short)):
        for width in (80, None):
            assert WAITING not in "\n".join(plain(part) for part in render(one, Page(width, golden.NOW)))


def test_the_sign_of_a_question_stands_for_an_open_one(path: Path) -> None:
    """It is at the head that waits, and not at a checkpoint that the thread has left without an answer."""
    with closing(sqlite3.connect(path, check_same_thread=False)) as database:
        graph = line(SqliteSaver(database), "ask", "after", nodes={"ask": _ask})
        left = graph.get_state(on("waiting")).config["configurable"]["checkpoint_id"]
        views = [at(path, verb, "waiting") for verb in (show, log, tree)]
        assert all(WAITING in "\n".join(plain(part) for part in render(one, Page(80, time.time()))) for one in views)
        graph.update_state(on("waiting"), {"log": ["by hand"]}, as_node="ask")
    for one in (at(path, show, "waiting", left), at(path, log, "waiting"), at(path, writes, "waiting", left)):
        assert WAITING not in "\n".join(plain(part) for part in render(one, Page(80, time.time())))


def _calling(saver: Any, inner: Any, way: str) -> Any:
    """A node ``book`` that is the subgraph or calls it, started by an edge or by a Send."""
    graph = StateGraph(_State)
    graph.add_node("book", inner if way == "as a node" else lambda state: inner.invoke(state))
    if way == "by a Send":
        graph.add_node("first", lambda _: {})
        graph.add_edge(START, "first")
        graph.add_conditional_edges("first", lambda _: [Send("book", {"log": []})], ["book"])
    else:
        graph.add_edge(START, "book")
    return graph.compile(checkpointer=saver)


@pytest.mark.parametrize("memory", [True, None], ids=["own memory", "plain"])
@pytest.mark.parametrize("way", ["as a node", "by a call", "by a Send"])
def test_a_question_that_a_subgraph_has_left_behind_is_not_open(
    way: str, memory: bool | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its node took the answer, and the next node failed: the caller's task has failed, and waits for nobody."""
    path, ran = tmp_path / "t.sqlite", list[str]()

    def pay(_: Any) -> Any:
        ran.append("pay")
        if len(ran) == 1:
            raise ValueError("declined")
        return {"log": ["paid"]}

    inner = StateGraph(_State).add_node("ask", _ask).add_node("pay", pay)
    inner.add_edge(START, "ask").add_edge("ask", "pay")
    with closing(sqlite3.connect(path, check_same_thread=False)) as database:
        app = _calling(SqliteSaver(database), inner.compile(checkpointer=memory), way)
        app.invoke({"log": []}, on("t"))
        assert _listed(path, capsys, "--status", "waiting") == {"t"}
        with pytest.raises(ValueError, match="declined"):
            app.invoke(Command(resume="yes"), on("t"))
        assert _listed(path, capsys, "--status", "waiting") == set()
        assert _listed(path, capsys, "--status", "failed") == {"t"}
        assert [task.status for task in at(path, show, "t").tasks] == ["failed"]
        app.invoke(None, on("t"))
    assert ran == ["pay", "pay"] and _listed(path, capsys, "--status", "done") == {"t"}


@pytest.mark.parametrize("memory", [True, None], ids=["own memory", "plain"])
def test_of_two_questions_in_a_subgraph_the_taken_one_is_not_open(memory: bool | None, tmp_path: Path) -> None:
    """One node took its answer and failed; only the other one asks, and the failure isn't called its own."""
    path, ran = tmp_path / "t.sqlite", list[str]()

    def pay(_: Any) -> Any:
        answer = interrupt("pay?")
        ran.append("pay")
        if len(ran) == 1:
            raise ValueError("declined")
        return {"log": [answer]}

    inner = StateGraph(_State).add_node("ask", _ask).add_node("pay", pay)
    inner.add_edge(START, "ask").add_edge(START, "pay")
    with closing(sqlite3.connect(path, check_same_thread=False)) as database:
        app = _calling(SqliteSaver(database), inner.compile(checkpointer=memory), "as a node")
        asked = {one.value: one.id for one in app.invoke({"log": []}, on("t"))["__interrupt__"]}
        with pytest.raises(ValueError, match="declined"):
            app.invoke(Command(resume={asked["pay?"]: "yes"}), on("t"))
        [task] = at(path, show, "t").tasks
        assert [one.value for one in task.interrupts] == ["really?"]
        drawn = "\n".join(plain(part) for part in render(at(path, tree, "t"), Page(80, time.time())))
        assert "waiting for you: book · failed: book › pay" in drawn
        assert "⏸ book  “really?”" in drawn and "✗ book › pay  failed too" in drawn
        again = app.invoke(None, on("t"))["__interrupt__"]
    assert [one.value for one in again] == ["really?"] and ran == ["pay", "pay"]


def test_a_breakpoint_and_a_kill_look_alike(path: Path) -> None:
    """Both are said to be running, stopped, killed or copied, since nothing in the database distinguishes them."""
    texts = []
    for thread in ("stopped", "killed"):
        drawn = [plain(part) for part in render(at(path, tree, thread), Page(80, golden.NOW))]
        texts.append([part.strip() for part in drawn if "stopped, killed or copied" in part])
    assert texts[0] == texts[1] == ["○ b  running, stopped, killed or copied; would run next"]


def test_a_subgraph_that_has_ended_is_not_the_thread(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a checkpoint of the root graph, nothing shows whether the run has ended: its status is unknown."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        line(saver, "sub", nodes={"sub": line(None, "a").copy({"checkpointer": True})}).invoke({"log": []}, on("t"))
        saver.conn.execute("DELETE FROM checkpoints WHERE checkpoint_ns = ''")
        saver.conn.execute("DELETE FROM writes WHERE checkpoint_ns = ''")
        saver.conn.commit()
    for words in (["threads"], ["threads", "--status", "unknown"], ["threads", "--limit", "0"]):
        assert run([*words, "-d", str(path), "--json"]) == 0
        [thread] = json.loads(capsys.readouterr().out)["threads"]
        assert (thread["ns"], thread["status"], thread["statuses"]) == ("sub", "unknown", ["unknown"])
    assert run(["threads", "--status", "done", "-d", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["threads"] == []
    assert run(["stats", "--values", "-d", str(path), "--json"]) == 0
    sums = json.loads(capsys.readouterr().out)
    assert (sums["done"], sums["unknown"]) == (0, 1)
