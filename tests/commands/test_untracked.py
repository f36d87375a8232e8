"""A channel of which LangGraph stores no value: plans say that it doesn't read what they store."""

import json
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import EphemeralValue, UntrackedValue
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run

ON: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    """One channel of each kind that may have no value at a later checkpoint."""

    kept: int
    untracked: Annotated[int, UntrackedValue]
    once: Annotated[int, EphemeralValue]


def agent(saver: SqliteSaver, seen: list[State]) -> Any:
    """A node that writes all channels, one that reads nothing, and one that runs after the pause."""
    graph = StateGraph(State)
    graph.add_node("write", lambda _: {"kept": 1, "untracked": 5, "once": 3})
    graph.add_node("wait", lambda _: {"kept": 2})
    graph.add_node("read", lambda state: seen.append(state) or {})
    graph.add_edge(START, "write")
    graph.add_edge("write", "wait")
    graph.add_edge("wait", "read")
    return graph.compile(checkpointer=saver, interrupt_before=["read"])


UPDATE = ["update", "t", "--as-node", "wait"]


@pytest.mark.parametrize(
    ("change", "is_named"),
    [
        (["edit", "t", "--set", "untracked=7"], True),
        (["edit", "t", "--set", "kept=7", "--set", "once=7"], False),
        ([*UPDATE, "--values", '{"untracked": 7}', "--reducer", "untracked=last"], True),
        ([*UPDATE, "--values", '{"kept": 7}'], False),
    ],
)
def test_what_langgraph_starts_empty(
    change: list[str], is_named: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The plan names an UntrackedValue, which the real graph then reads empty, and no other channel."""
    path, seen = tmp_path / "t.sqlite", list[State]()
    with SqliteSaver.from_conn_string(str(path)) as saver:
        agent(saver, seen).invoke({"kept": 0}, ON)
    assert run([*change, "--yes", "-d", str(path)]) == 0
    assert ("a step wrote untracked" in " ".join(capsys.readouterr().out.split())) is is_named
    with SqliteSaver.from_conn_string(str(path)) as saver:
        agent(saver, seen).invoke(None, ON)
    (state,) = seen
    assert "untracked" not in state
    assert state["kept"] == (7 if "kept" in " ".join(change) else 2)
    assert ("once" in state) is ("once=7" in change)


def test_no_value_as_before_is_no_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`show` marks what the step changed, and not a channel that was written to and has no value in either state."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        agent(saver, []).invoke({"kept": 0}, ON)
    assert run(["show", "t", "@~1", "-d", str(path), "--json"]) == 0
    channels = json.loads(capsys.readouterr().out)["channels"]
    assert {name: channels[name]["changed"] for name in State.__annotations__} == {
        "kept": True,
        "untracked": False,
        "once": True,
    }
