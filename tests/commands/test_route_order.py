"""Recorded routes: two edges, whose writes LangGraph stores in an order of each process's own; numbers of Sends."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Send

from ckpt_cli.app import run

SEEDS = 6


class State(TypedDict, total=False):
    """A number."""

    n: int


def agent(saver: SqliteSaver) -> Any:
    """A node that leads to two others."""
    graph = StateGraph(State).add_node("market", lambda _: {"n": 1})
    for name in ("risk", "strategy"):
        graph.add_node(name, lambda _: None).add_edge("market", name)
    return graph.add_edge(START, "market").compile(checkpointer=saver)


def go(path: str, thread_id: str) -> None:
    """One run."""
    with SqliteSaver.from_conn_string(path) as saver:
        agent(saver).invoke({"n": 0}, {"configurable": {"thread_id": thread_id}})


@pytest.mark.parametrize("threads", [["t"] * SEEDS, [f"t{n}" for n in range(SEEDS)]], ids=["one", "several"])
def test_it_is_one_route(threads: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All runs took it, in one thread or in several, so nobody is asked which."""
    path = tmp_path / "t.sqlite"
    for seed, thread_id in enumerate(threads):
        script = f"from {__name__} import go; go({str(path)!r}, {thread_id!r})"
        subprocess.run([sys.executable, "-c", script], check=True, env=os.environ | {"PYTHONHASHSEED": str(seed)})
    with SqliteSaver.from_conn_string(str(path)) as saver:
        orders = {
            tuple(channel for _, channel, _ in one.pending_writes or () if channel.startswith("branch:to:"))
            for one in saver.list(None)
        }
    assert len({order for order in orders if len(order) == 2}) == 2  # as this test needs it
    words = ["--as-node", "market", "--values", '{"n": 9}', "--reducer", "n=last", "--dry-run", "-d", str(path)]
    assert run(["update", threads[-1], *words]) == 0
    said = capsys.readouterr().out
    assert "then risk, strategy, as in" in said or "then strategy, risk, as in" in said


def test_routes_that_differ_in_the_number_of_sends_say_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They have the same option, once for each Send, so the number tells them apart."""
    path = str(tmp_path / "t.sqlite")
    graph = StateGraph(State).add_node("split", lambda _: None).add_node("work", lambda _: None)
    graph.add_edge(START, "split")
    graph.add_conditional_edges("split", lambda state: [Send("work", {})] * state["n"], ["work"])
    with SqliteSaver.from_conn_string(path) as saver:
        for number in (1, 3, 3):
            graph.compile(checkpointer=saver).invoke({"n": number}, {"configurable": {"thread_id": "t"}})
    assert run(["update", "t", "step:0", "--as-node", "split", "--values", '{"n": 2}', "--dry-run", "-d", path]) == 2
    said = capsys.readouterr().err
    assert "--next work=JSON  (3 Sends, as in 2 of 3 runs)\n  --next work=JSON  (as in 1 of 3 runs)\n" in said
