"""What a plan promises of a subgraph with its own memory, against a run with an input and one without."""

import json
from operator import add
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run
from tests.graphs.building import on


class State(TypedDict, total=False):
    """What the graph counts, and what its subgraph remembers."""

    n: int
    memory: Annotated[list[int], add]


def graph(saver: Any) -> Any:
    """``count``, then a subgraph that remembers each number it has seen."""
    inner = StateGraph(State)
    inner.add_node("note", lambda s: {"memory": [s["n"]]})
    inner.add_edge(START, "note")
    builder = StateGraph(State)
    builder.add_node("count", lambda s: {"n": s["n"] + 1})
    builder.add_node("sub", inner.compile(checkpointer=True))
    builder.add_edge(START, "count")
    builder.add_edge("count", "sub")
    return builder.compile(checkpointer=saver)


def remembered(saver: Any) -> list[int]:
    """The newest memory of the subgraph."""
    [newest] = saver.list({"configurable": {"thread_id": "t", "checkpoint_ns": "sub"}}, limit=1)
    memory: list[int] = newest.checkpoint["channel_values"]["memory"]
    return memory


@pytest.mark.parametrize("given", [None, {"n": 50}], ids=["no input", "input"])
@pytest.mark.parametrize("step", [2, 4])
def test_the_older_memory_is_promised_only_to_a_run_without_input(
    step: int, given: dict[str, int] | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Behind a finished turn nothing runs without an input, so nothing is promised."""
    path = str(tmp_path / "t.sqlite")
    with SqliteSaver.from_conn_string(path) as saver:
        for n in (10, 20, 30):
            graph(saver).invoke({"n": n, "memory": []}, on("t"))
    capsys.readouterr()
    assert run(["rollback", "t", f"step:{step}", "-d", path, "--yes", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    promised = [note for note in plan["notes"] if "the memory that it had then" in note]
    with SqliteSaver.from_conn_string(path) as saver:
        before = graph(saver).get_state(on("t")).next
        assert bool(promised) == bool(before) == (step == 4)
        assert all("and no input" in note for note in promised)
        if before or given:
            graph(saver).invoke(given, plan["config"])
            assert (31 in remembered(saver)) == (given is not None)
