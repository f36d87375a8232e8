"""`blame` believes a reducer that is named, remembered or learned as `verify` does it: what it makes is the node's."""

from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel, Topic
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from ckpt_cli.commands.blame import blame
from ckpt_cli.errors import PayloadCorrupt
from tests.commands.asking import at
from tests.commands.test_blame import extend
from tests.graphs.building import on


class _State(TypedDict, total=False):
    n: int
    seen: Annotated[set[str], lambda old, new: {*(old or ()), *new}]
    jobs: Annotated[str, Topic(str)]
    story: Annotated[list[str], DeltaChannel(extend)]
    best: Annotated[int, lambda old, new: max(old or 0, new) ** 2]


def _give(state: _State) -> Any:
    n = state.get("n", 0) + 1
    return {"n": n, "seen": {f"e{n}"}, "jobs": f"j{n}", "story": [f"s{n}"], "best": n}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Three rounds of a node that writes, and of one that doesn't."""
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        builder = StateGraph(_State).add_node("give", _give).add_node("rest", lambda _: {}).add_edge(START, "give")
        builder.add_edge("give", "rest").add_conditional_edges("rest", lambda state: "give" if state["n"] < 3 else END)
        builder.compile(checkpointer=saver).invoke({"n": 0}, on("t"))
    return tmp_path / "t.sqlite"


def _past(path: Path, channel: str, **options: Any) -> list[tuple[int, str, str | None]]:
    values = at(path, blame, "t", channel, history=True, **options).values
    return [(one.since.step, one.since.by, one.since.node) for one in values]


def test_what_a_learned_reducer_makes_is_the_nodes(path: Path) -> None:
    """Each value of a set that grows, though no write is the whole set; not of a reducer that no step shows."""
    assert _past(path, "seen") == [(step, "node", "give") for step in (1, 3, 5)]
    assert [by for _, by, _ in _past(path, "best")] == ["node", "", ""]


def test_a_topic_empties_itself(path: Path) -> None:
    """No node is in doubt for it."""
    filled = [(step, "node", "give") for step in (1, 3, 5)]
    emptied = [(step, "channel", None) for step in (2, 4, 6)]
    assert _past(path, "jobs") == sorted([*filled, *emptied])
    lines = at(path, blame, "t", "jobs", reverse=True).lines
    assert [(one.value, one.gone.step, one.gone.by) for one in lines] == [
        (f"j{step // 2}", step, "channel") for step in (2, 4, 6)
    ]


def test_a_delta_channel_is_followed_by_a_named_reducer(path: Path) -> None:
    """No stored value proves one; without a name the error says how to give it."""
    with pytest.raises(PayloadCorrupt, match="no reducer is proved") as error:
        at(path, blame, "t", "story")
    assert "--reducer story=NAME" in error.value.hint
    lines = at(path, blame, "t", "story", reducer=["story=append"]).lines
    assert [(one.value, one.since.step, one.since.node) for one in lines] == [
        ("s1", 1, "give"),
        ("s2", 3, "give"),
        ("s3", 5, "give"),
    ]
    assert _past(path, "story", reducer=["story=append"]) == [(step, "node", "give") for step in (1, 3, 5)]
    with pytest.raises(PayloadCorrupt, match="sum can't give it"):
        at(path, blame, "t", "story", reducer=["story=sum"])
