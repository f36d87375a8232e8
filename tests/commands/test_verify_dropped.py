"""``ckpt verify`` and an input that drops what a finished task wrote: a delta channel is stored whole there."""

from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from ckpt_cli.commands.replay import replay
from ckpt_cli.session import Session
from tests.commands.test_verify_honest import verified

CONFIG: Any = {"configurable": {"thread_id": "t"}}


def _all(old: list[str], writes: list[list[str]]) -> list[str]:
    return [*(old or []), *(item for write in writes for item in write)]


class Delta(TypedDict, total=False):
    """A delta channel that each input writes too."""

    log: Annotated[list[str], DeltaChannel(_all, snapshot_frequency=5)]


def _record(saver: SqliteSaver) -> None:
    """Six turns, each of which ends with a question that the next input leaves unanswered."""
    graph: Any = StateGraph(Delta)
    graph.add_node("a", lambda _: {"log": ["a"]}).add_node("b", lambda _: {"log": ["b"]})
    graph.add_node("ask", lambda _: {"log": [interrupt("?")]})
    graph.add_edge(START, "a").add_edge("a", "b").add_edge("a", "ask")
    agent = graph.compile(checkpointer=saver)
    for turn in range(6):
        agent.invoke({"log": [f"turn {turn}"]}, CONFIG)
    assert agent.get_state(CONFIG).values["log"].count("b") == 1  # the last one: the inputs dropped the others


def _forge(saver: SqliteSaver) -> None:
    """Lose an item of the third value that an input stored."""
    stored = [one for one in saver.list(CONFIG) if "log" in one.checkpoint["channel_values"]]
    checkpoint = stored[2].checkpoint
    assert stored[2].metadata["source"] == "input"
    checkpoint["channel_values"]["log"] = _DeltaSnapshot(checkpoint["channel_values"]["log"].value[1:])
    kind, data = saver.serde.dumps_typed(checkpoint)
    sql = "UPDATE checkpoints SET type = ?, checkpoint = ? WHERE checkpoint_id = ?"
    saver.conn.execute(sql, (kind, data, checkpoint["id"]))
    saver.conn.commit()


@pytest.mark.parametrize("is_forged", [False, True])
def test_a_value_that_an_input_stored(is_forged: bool, tmp_path: Path) -> None:
    """It is what the writes before make of it: what the input brings comes in the next step, what it drops in none."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        _record(saver)
        if is_forged:
            _forge(saver)
    [thread] = verified(str(path))[1]
    with closing(Session(str(path))) as session:
        played = [step for step in replay(session, "t", to="@").steps if step.verdict != "agrees"]
    assert [(one.verdict, one.channel) for one in thread.findings] == ([("unknown", "log")] if is_forged else [])
    assert {step.why for step in played} == {f"log: {one.why}" for one in thread.findings}
    assert len(played) == (2 if is_forged else 0)  # the stretch that ends with the value, and the one that begins there
