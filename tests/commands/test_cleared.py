"""A channel that a step empties (topic, ephemeral value, any value) is cleared in `log`, as the library shows."""

from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import AnyValue, EphemeralValue, Topic
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.commands.log import log
from tests.commands.asking import at
from tests.graphs.building import on


class Fleeting(TypedDict, total=False):
    """Channels that LangGraph empties, and one that it doesn't."""

    n: int
    eph: Annotated[str, EphemeralValue]
    top: Annotated[list[str], Topic(str)]
    kept: Annotated[list[str], Topic(str, accumulate=True)]
    any: Annotated[str, AnyValue]


@pytest.mark.parametrize("durability", ["sync", "exit"])
def test_log_of_a_channel_has_each_step_that_emptied_it(tmp_path: Path, durability: Any) -> None:
    """Also a step that wrote nothing, and the first step of the next run; never a channel that keeps its value."""
    path, builder, last = tmp_path / "t.sqlite", StateGraph(Fleeting), START
    wrote = {"eph": "e", "top": ["t"], "kept": ["k"], "any": "a"}
    written = {"one": wrote, "two": {"n": 1}, "three": wrote, "four": None, "five": wrote}
    for node, values in written.items():
        builder.add_node(node, lambda _, values=values: values)
        builder.add_edge(last, node)
        last = node
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = builder.compile(checkpointer=saver)
        for n in range(2):
            graph.invoke({"n": n}, on("t"), durability=durability)
        history = [(s.config["configurable"]["checkpoint_id"], s.values) for s in graph.get_state_history(on("t"))]
    emptied = set[str]()
    for channel in ("n", *wrote):
        steps = at(path, log, "t", limit=0, channel=[channel]).steps
        said = [s.checkpoint_id for s in steps for change in s.changes if change.kind == "cleared"]
        emptied |= {channel} if said else set()
        assert said == [i for (i, now), (_, was) in pairwise(history) if was.get(channel) and not now.get(channel, 0)]
    assert emptied == ({"eph", "top", "any"} if durability == "sync" else set())
