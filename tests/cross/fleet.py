"""A bad tool result got into many threads: one command takes all of them back, real graphs carry on, undo restores."""

import os
import random
import signal
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from ckpt_cli.app import run
from ckpt_cli.operations import bulk
from ckpt_cli.operations.part_log import PartLog
from ckpt_cli.output import prompt
from tests.cross.backend import Backend, Fresh
from tests.cross.travel import contents, contents_of
from tests.graphs import Graph
from tests.graphs.building import on

THREADS = int(os.environ.get("CKPT_FLEET", "10"))
"""500 were once; every third is poisoned."""
KILLS = int(os.environ.get("CKPT_KILLS", "3"))
BAD, GOOD = "rate limited", "3 in stock"
BACK = ["rollback", "--match", "t-*", "--at", f"before:text:{BAD}", "--skip-refused"]


def shop(saver: Any, result: Callable[[], str]) -> Graph:
    """An agent that calls a tool, and answers with what the tool said."""

    def agent(_: MessagesState) -> Any:
        return {"messages": [AIMessage("", tool_calls=[{"name": "stock", "args": {}, "id": "call-1"}])]}

    def tools(_: MessagesState) -> Any:
        return {"messages": [ToolMessage(result(), tool_call_id="call-1")]}

    def answer(state: MessagesState) -> Any:
        return {"messages": [AIMessage(f"we have: {state['messages'][-1].content}")]}

    builder = StateGraph(MessagesState)
    for before, (name, node) in zip(
        (START, "agent", "tools"), {"agent": agent, "tools": tools, "answer": answer}.items(), strict=True
    ):
        builder.add_node(name, node)
        builder.add_edge(before, name)
    builder.add_edge("answer", END)
    return builder.compile(checkpointer=saver)


class Fleet(NamedTuple):
    """A database with many threads of one graph."""

    backend: Backend
    poisoned: list[str]

    def ckpt(self, *words: str, code: int = 0, capsys: pytest.CaptureFixture[str]) -> Any:
        """See `Backend.ckpt`."""
        return self.backend.ckpt(*words, code=code, capsys=capsys)

    def invoke(self, thread_id: str) -> str:
        """The end of the real graph's run, with a tool that works again."""
        with self.backend.official() as official:
            state = shop(official, lambda: GOOD).invoke(None, on(thread_id))
            return str(state["messages"][-1].content)


class ManyThreads:
    """Changes of many threads, on a backend."""

    @pytest.fixture
    def fleet(self, fresh: Fresh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
        """Threads, every third of which a bad tool result got into; an operation log of its own."""
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        monkeypatch.setattr(bulk, "_PARTS", 2)  # several pages, also of few threads
        backend, poisoned = fresh(), [f"t-{number}" for number in range(0, THREADS, 3)]
        with backend.official() as official:
            for number in range(THREADS):
                is_bad = f"t-{number}" in poisoned
                graph = shop(official, lambda is_bad=is_bad: BAD if is_bad else GOOD)
                graph.invoke({"messages": [HumanMessage("desk lamps?", id=f"h{number}")]}, on(f"t-{number}"))
        return Fleet(backend, poisoned)

    def test_one_command_takes_all_of_them_back(self, fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
        """Undone on some, then on the rest, each row is as before; done again, the real graphs end right."""
        before = contents(fleet.backend)
        refused = fleet.ckpt(*BACK[:-1], "--yes", code=7, capsys=capsys)
        assert (refused["stopped"], refused["refused"]) == (True, THREADS - len(fleet.poisoned))
        assert contents(fleet.backend) == before

        done = fleet.ckpt(*BACK, "--yes", capsys=capsys)
        assert (done["done"], done["refused"], done["moved"]) == (len(fleet.poisoned), refused["refused"], 0)
        states = {one["thread_id"]: one["state"] for one in done["threads"]}
        assert sorted(thread for thread, state in states.items() if state == "applied") == sorted(fleet.poisoned)
        first, number = fleet.poisoned[:3], str(done["operation"])
        fleet.ckpt("undo", number, *(word for one in first for word in ("--thread", one)), "--yes", capsys=capsys)
        parts = {one["thread_id"]: one["state"] for one in fleet.ckpt("operations", number, capsys=capsys)["threads"]}
        assert {one for one, state in parts.items() if state == "undone"} == {*first}
        assert {one for one, state in parts.items() if state == "done"} == {*fleet.poisoned[3:]}
        if fleet.poisoned[3:]:
            fleet.ckpt("undo", number, "--yes", capsys=capsys)
        assert contents(fleet.backend) == before
        counts = [
            (one["command"], one["state"], one["parts"]["done"] + one["parts"]["undone"])
            for one in fleet.ckpt("operations", capsys=capsys)["operations"]
        ]
        assert counts[-1] == ("rollback", "undone", len(fleet.poisoned)), "one line for each operation, newest first"

        fleet.ckpt(*BACK, "--yes", capsys=capsys)
        assert {fleet.invoke(thread_id) for thread_id in fleet.poisoned} == {f"we have: {GOOD}"}
        again = fleet.ckpt(*BACK, "--yes", capsys=capsys)
        assert again["changes"] == 0, "what is done isn't done twice"

    def test_a_thread_that_moves_is_refused_by_itself(
        self, fleet: Fleet, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A writer that goes on with a thread while the plan is shown loses nothing; the others are changed."""
        moving, *others = fleet.poisoned

        def go_on(*_: Any, **__: Any) -> bool:
            with fleet.backend.official() as official:
                shop(official, lambda: GOOD).invoke({"messages": [HumanMessage("and chairs?")]}, on(moving))
            moved.append(contents_of(fleet.backend, moving))
            return True

        moved: list[Any] = []
        monkeypatch.setattr(prompt, "confirm", go_on)
        assert run([*BACK, "-d", fleet.backend.url]) == 7
        assert f"operation 1: {len(others)} of" in capsys.readouterr().out
        assert contents_of(fleet.backend, moving) == moved[0]
        parts = {one["thread_id"]: one for one in fleet.ckpt("operations", "1", capsys=capsys)["threads"]}
        assert parts[moving]["state"] == "refused"
        assert "continued" in parts[moving]["problem"]
        assert {parts[one]["state"] for one in others} == {"done"}
        fleet.ckpt("undo", "1", "--yes", capsys=capsys)
        assert contents_of(fleet.backend, moving) == moved[0]

    def test_killed_at_any_moment_each_thread_is_whole(self, fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
        """Settled, each thread is as before or as after, and the log knows which; then the rest is done, and undone."""
        before = {thread_id: contents_of(fleet.backend, thread_id) for thread_id in fleet.poisoned}
        with closing(fleet.backend.saver()) as saver:
            kind = type(saver)
        events = 4 * len(fleet.poisoned) + 4 * (THREADS // 2)
        for moment in random.Random(THREADS).sample(range(events), KILLS):
            code = _killed(fleet, kind, moment)
            assert code in (0, -signal.SIGKILL)
            fleet.ckpt("operations", "--settle", capsys=capsys)
            listed = fleet.ckpt("operations", capsys=capsys)["operations"]
            whole = {one: contents_of(fleet.backend, one) == before[one] for one in fleet.poisoned}
            if listed and listed[0]["command"] == "rollback":
                parts = fleet.ckpt("operations", str(listed[0]["number"]), capsys=capsys)["threads"]
                done = {one["thread_id"] for one in parts if one["state"] == "done"}
                assert {one for one, is_as_before in whole.items() if not is_as_before} == done, moment
                assert {one["state"] for one in parts} <= {"done", "refused", "abandoned"}
                assert {one["thread_id"] for one in listed[0]["where"]} <= done and listed[0]["threads"] == len(done)
            else:
                assert all(whole.values()), moment
            fleet.ckpt(*BACK, "--yes", capsys=capsys)
            _undo_all(fleet, capsys)
            assert {one: contents_of(fleet.backend, one) for one in fleet.poisoned} == before, moment


def _undo_all(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    listed = fleet.ckpt("operations", capsys=capsys)["operations"]
    for one in listed:
        if one["state"] == "done" and one["undoes"] is None:
            fleet.ckpt("undo", str(one["number"]), "--yes", capsys=capsys)


def _killed(fleet: Fleet, kind: Any, moment: int) -> int:
    """Run the command in a process that is killed before or after one of its writes; its exit code, or the signal."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            numbers = count()
            for owner, name in ((PartLog, "add"), (PartLog, "finish"), (kind, "change"), (kind, "transaction")):
                setattr(owner, name, _deadly(getattr(owner, name), numbers, moment))
            code = run([*BACK, "-d", fleet.backend.url, "--yes"])
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _deadly(function: Any, numbers: Any, moment: int) -> Any:
    def counted(*args: Any, **options: Any) -> Any:
        if next(numbers) == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        value = function(*args, **options)
        if next(numbers) == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    return counted
