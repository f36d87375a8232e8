"""Two edges from one node, whose writes LangGraph stores in the order of a set: each process has its own."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

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
