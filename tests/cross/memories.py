"""Subgraphs with their own memory (``checkpointer=True``): what a plan says that they do is what the next run does."""

import json
import re
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from ckpt_cli.app import run
from tests.cross.backend import Backend, Fresh
from tests.cross.travel import MINE, ckpt, contents
from tests.graphs import Graph
from tests.graphs.building import Bag, on

CHANGES: dict[str, list[str]] = {
    "fork": ["fork", "{called}"],
    "fork of the first call": ["fork", "step:1"],
    "fork before the call": ["fork", "step:0"],
    "rollback": ["rollback", "step:1"],
    "rollback before the call": ["rollback", "step:0"],
    "edit": ["edit", "{called}", "--set", "n=7", "--rerun"],
    "edit before the call": ["edit", "step:0", "--set", "n=7", "--rerun"],
    "update": [
        "update",
        "{called}",
        "--as-node",
        "r",
        "--values",
        '{{"n": 7}}',
        "--reducer",
        "n=last",
        "--next",
        "sub",
        "--finished",
        "drop",
    ],
    "fork to a thread": ["fork", "{called}", "--to", "copy"],
    "fork to a thread before the call": ["fork", "{before}", "--to", "copy"],
    "fork to a thread alone": ["fork", "{called}", "--to", "copy", "--shallow"],
    "fork to a thread with pending writes": ["fork", "{called}", "--to", "copy", "--with-pending"],
    "delete": ["delete", "--after", "{called}"],
    "delete from the first call": ["delete", "--after", "step:1"],
    "delete before the call": ["delete", "--after", "{before}"],
}
"""Changes; ``{called}`` is the checkpoint that called the subgraph last, ``{before}`` the one before it."""

HISTORIES: dict[str, list[Any]] = {
    "asks": [{"n": 0}],
    "asks again": [{"n": 0}, Command(resume="yes"), {"n": 10}],
    "finished twice": [{"n": 0}, Command(resume="yes"), {"n": 10}, Command(resume="yes")],
}
"""What a thread's runs are given."""

NOTHING_AFTER = {("asks", "delete"), ("asks", "delete from the first call"), ("asks again", "delete")}
WAYS = ("thread_id alone", "the printed config")
CASES = [case for case in product(HISTORIES, CHANGES, WAYS) if case[:2] not in NOTHING_AFTER]


def remembering(saver: Any, ran: list[str], *, inside: bool = False) -> Graph:
    """``r`` counts, then a subgraph with its own memory asks; `inside` a subgraph that has none, if so wanted."""

    def noting(name: str, act: Callable[[Bag], dict[str, Any]]) -> Callable[[Bag], dict[str, Any]]:
        def node(state: Bag) -> dict[str, Any]:
            ran.append(name)
            return act(state)

        return node

    inner = StateGraph(Bag)
    inner.add_node("m", noting("m", lambda s: {"log": [f"m {s['n']}"]}))
    inner.add_node("ask", noting("ask", lambda s: {"log": [interrupt(s["n"])]}))
    inner.add_edge(START, "m")
    inner.add_edge("m", "ask")
    sub: Any = inner.compile(checkpointer=True)
    if inside:
        sub = StateGraph(Bag).add_node("own", sub).add_edge(START, "own").compile()
    builder = StateGraph(Bag)
    builder.add_node("r", noting("r", lambda s: {"n": s["n"] + 1}))
    builder.add_node("sub", sub)
    builder.add_edge(START, "r")
    builder.add_edge("r", "sub")
    return builder.compile(checkpointer=saver)


class Memories:
    """Each change, then a run; for each way to continue."""

    @pytest.mark.parametrize(("history", "change", "way"), CASES)
    def test_the_run_does_what_the_plan_says(
        self, history: str, change: str, way: str, fresh: Fresh, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """It runs the nodes, asks the question and leaves the memory that the notes of the plan foretell."""
        backend, ran = fresh(), list[str]()
        with backend.official() as saver:
            graph = remembering(saver, ran)
            for given in HISTORIES[history]:
                graph.invoke(given, on(MINE))
            called = 1 if history == "asks" else 5
            steps = {"called": f"step:{called}", "before": f"step:{called - 1}"}
            words = [word.format(**steps) for word in CHANGES[change]]
            plan = _change(backend, words, capsys) if history == "asks again" else ckpt(backend, words, capsys)
            config = plan["config"] if way == "the printed config" else on(plan["config"]["configurable"]["thread_id"])
            thread, notes = config["configurable"]["thread_id"], " / ".join(plan["notes"])
            state, memory, head = graph.get_state(on(thread)), _memory(saver, thread), _newest(saver, thread)
            then = _promised(saver, thread, plan["notes"])
            alone = "sub has its own memory: with thread_id alone, "
            assert _lines(alone, _show(backend, thread, capsys)["own_memory"]) == _lines(alone, plan["notes"])
            ran.clear()
            result = graph.invoke(None, config)
            asked = [one.value for one in result.get("__interrupt__", ())]
            begins, after = state.next == ("r",), _memory(saver, thread)
            anew = ["r", "m", "ask"] if begins else ["m", "ask"]
            if "checkpoint_id" in config["configurable"] and "memory" in notes:
                assert begins or "sub is called anew" in notes
                assert (ran, asked) == (anew, [state.values["n"] + begins])
                assert after["log"] == [*then, *state.values["log"], f"m {asked[0]}"]
            elif "returns its state at" in notes:
                assert (ran, asked, _newest(saver, thread)) == ([], [], head) and _named(notes, head)
            elif "repeats its old question" in notes:
                assert (ran, asked) == (["ask"], [memory["n"]]) and _named(notes, head)
            elif "its next call adds its input" in notes:
                assert begins and ran == anew and _named(notes, head)
                assert after["log"] == [*memory["log"], *state.values["log"], f"m {asked[0]}"]
            elif "sub (waiting)" in notes:
                assert (ran, asked) == (["ask"], [memory["n"]])
            elif "sub (finished)" in notes:
                assert (ran, asked) == ([], [])
            else:
                assert (ran, asked) == (anew, [state.values["n"] + begins])

    def test_inside_another_subgraph(self, fresh: Fresh, capsys: pytest.CaptureFixture[str]) -> None:
        """A subgraph starts anew; one with its own memory in it adds its input to that, as the plan says."""
        backend, ran = fresh(), list[str]()
        with backend.official() as saver:
            graph = remembering(saver, ran, inside=True)
            for given in HISTORIES["asks again"]:
                graph.invoke(given, on(MINE))
            before = _memory(saver, MINE, "sub|own")["log"]
            notes = ckpt(backend, ["fork", "step:1"], capsys)["notes"]
            assert any(note.startswith("sub|own has its own memory, which stays as it is") for note in notes)
            ran.clear()
            graph.invoke(None, on(MINE))
            assert (ran, _memory(saver, MINE, "sub|own")["log"]) == (["m", "ask"], [*before, "m 1"])


class SomeMemories(Memories):
    """The same on a server, with every third change."""

    @pytest.mark.parametrize(("history", "change", "way"), CASES[::3])
    def test_the_run_does_what_the_plan_says(
        self, history: str, change: str, way: str, fresh: Fresh, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """As above."""
        super().test_the_run_does_what_the_plan_says(history, change, way, fresh, capsys)


def _change(backend: Backend, words: list[str], capsys: pytest.CaptureFixture[str]) -> Any:
    """Apply a change, undo it, which leaves nothing, and apply it again."""
    before = contents(backend)
    ckpt(backend, words, capsys)
    ckpt(backend, ["undo"], capsys, thread=False)
    assert contents(backend) == before
    return ckpt(backend, words, capsys)


def _memory(saver: Any, thread: str, ns: str = "sub") -> dict[str, Any]:
    """The newest state of the subgraph."""
    found = saver.get_tuple({"configurable": {"thread_id": thread, "checkpoint_ns": ns}})
    return {"log": [], **found.checkpoint["channel_values"]} if found else {"log": []}


def _promised(saver: Any, thread: str, notes: list[str]) -> list[Any]:
    """What the subgraph had logged where it goes on with a checkpoint_id in the config, as the notes say."""
    named = next(iter(_lines("with the checkpoint_id", notes)), "")
    if not named or "begins without memory" in named:
        return _memory(saver, thread)["log"] if not named else []
    [short] = re.findall(r"adds its input to (\w+)", named)
    config = {"configurable": {"thread_id": thread, "checkpoint_ns": "sub"}}
    found = [one.checkpoint for one in saver.list(config) if one.checkpoint["id"].rpartition("-")[2].startswith(short)]
    [log] = [one["channel_values"].get("log", []) for one in found]
    return list(log)


def _newest(saver: Any, thread: str) -> str | None:
    found = saver.get_tuple({"configurable": {"thread_id": thread, "checkpoint_ns": "sub"}})
    return found.checkpoint["id"] if found else None


def _show(backend: Backend, thread: str, capsys: pytest.CaptureFixture[str]) -> Any:
    assert run(["show", thread, "-d", backend.url, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def _lines(start: str, lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith(start)]


def _named(notes: str, checkpoint_id: str | None) -> bool:
    """Whether the notes name this checkpoint by its short id."""
    words = [word for word in notes.replace(",", "").split() if len(word) >= 4]
    return any((checkpoint_id or "").rpartition("-")[2].startswith(word) for word in words)
