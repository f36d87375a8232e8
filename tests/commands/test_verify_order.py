"""``ckpt verify`` lists a thread's channels in the same order in each run."""

from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from tests.commands.test_verify_honest import verified

NAMES = [f"delta{number}" for number in range(8)]


def _joined(old: list[str], writes: list[list[str]]) -> list[str]:
    return [*old, *(item for write in writes for item in write)]


def test_delta_channels_are_listed_in_order(tmp_path: Path) -> None:
    """Whichever way the names hash, and whether or not their values are stored."""
    kinds: Any = {name: Annotated[list[str], DeltaChannel(_joined, snapshot_frequency=2)] for name in NAMES}
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        builder = StateGraph(TypedDict("State", kinds))  # type: ignore[operator]
        builder.add_node("work", lambda _: {name: [name] for name in NAMES})
        graph: Any = builder.add_edge(START, "work").compile(checkpointer=saver)
        for _ in range(5):
            graph.invoke({name: ["in"] for name in NAMES}, {"configurable": {"thread_id": "t"}})
    assert [one.channel for one in verified(str(tmp_path / "t.sqlite"))[1][0].channels] == NAMES
