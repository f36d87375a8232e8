"""``ckpt bisect --where`` on a delta channel, which most checkpoints don't store."""

import json
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from ckpt_cli.app import run
from tests.commands.test_unproven_cases import appended, capped

ON: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    """A list that grows, and one that keeps its last six items."""

    log: Annotated[list, DeltaChannel(appended, snapshot_frequency=4)]
    recent: Annotated[list, DeltaChannel(capped, snapshot_frequency=4)]
    n: int


@pytest.mark.parametrize(
    ("where", "good", "bad"),
    [
        ("len(log) >= 2", 1, 11),
        ("len(log) >= 7", 1, 11),
        ("'c5' in log", 1, 11),
        ("'c8' in values['log']", 1, 11),
        ("'c6' in recent", 4, 8),
    ],
)
def test_the_first_bad_step_is_that_of_the_graph(
    where: str, good: int, bad: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A value is rebuilt as `get` does; a checkpoint at which it isn't known is skipped, and not called good."""
    path = tmp_path / "t.sqlite"
    builder = StateGraph(State)
    builder.add_node("work", lambda s: {"log": [f"c{s['n']}"], "recent": [f"c{s['n']}"], "n": s["n"] + 1})
    builder.add_edge(START, "work")
    builder.add_conditional_edges("work", lambda s: "work" if s["n"] < 11 else END, ["work", END])
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = builder.compile(checkpointer=saver)
        graph.invoke({"n": 0}, ON)
        history = [(s.metadata["step"], {"values": s.values, **s.values}) for s in graph.get_state_history(ON)]
    true = min(step for step, values in history if step >= 0 and eval(where, {}, values))
    ends = ["--good", f"step:{good}", "--bad", f"step:{bad}"]
    assert run(["bisect", "t", *ends, "--where", where, "--json", "-d", str(path)]) == 0
    view = json.loads(capsys.readouterr().out)
    assert true in [one["step"] for one in view["first_bad"]]
    assert len(view["first_bad"]) == 1 or "recent" in where
    all_bad = {step for step, values in history if eval(where, {}, values)}
    judged = {one["step"]: one["verdict"] for one in view["tested"] if one["verdict"] != "skip"}
    assert {step for step, verdict in judged.items() if verdict == "bad"} == all_bad & judged.keys()
