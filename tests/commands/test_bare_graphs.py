"""What runs next in graphs of bare Pregel nodes, whose channels show by no name what they trigger."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.channels import (
    AnyValue,
    EphemeralValue,
    LastValue,
    LastValueAfterFinish,
    NamedBarrierValue,
    Topic,
)
from langgraph.channels.named_barrier_value import NamedBarrierValueAfterFinish
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.pregel import NodeBuilder, Pregel

from ckpt_cli.commands.show import show
from tests.commands.asking import at
from tests.graphs.building import on

SIGNALS: dict[str, Any] = {
    "topic": Topic(str),
    "kept topic": Topic(str, accumulate=True),
    "ephemeral": EphemeralValue(str),
    "any": AnyValue(str),
    "last": LastValue(str),
    "at the end": LastValueAfterFinish(str),
    "barrier": NamedBarrierValue(str, {"L", "R"}),
    "barrier at the end": NamedBarrierValueAfterFinish(str, {"L", "R"}),
}


def graph(saver: Any, signal: str) -> Any:
    """`left`, then `right`, both write to a signal that starts `both`; `tail` runs after it."""
    is_one = not signal.startswith("barrier")
    channels = {
        "gauge": EphemeralValue(int),
        "half": EphemeralValue(str),
        "log": LastValue(str),
        "end": LastValue(str),
        "signal": SIGNALS[signal],
    }
    both = NodeBuilder().subscribe_to("signal", read=False).read_from("log").do(lambda _: "ok").write_to("log")
    nodes = {
        "left": NodeBuilder()
        .subscribe_only("gauge")
        .do(lambda _: "L")
        .write_to("half", *([] if is_one else ["signal"])),
        "right": NodeBuilder().subscribe_only("half").do(lambda _: "R").write_to("signal"),
        "both": both,
        "tail": NodeBuilder().subscribe_only("log").do(lambda _: "t").write_to("end"),
    }
    return Pregel(nodes=nodes, channels=channels, input_channels=["gauge"], output_channels=["log"], checkpointer=saver)


@pytest.mark.parametrize("durability", ["sync", "exit"])
@pytest.mark.parametrize("signal", SIGNALS)
def test_an_emptied_channel_triggers_no_node(signal: str, durability: Any, tmp_path: Path) -> None:
    """`next` is what `get_state` says at each checkpoint; where few checkpoints are stored, it may be unknown."""
    path = tmp_path / "bare.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        app = graph(SqliteSaver(connection), signal)
        for _ in range(2):
            app.invoke({"gauge": 1}, on("t"), durability=durability)
        states = [*app.get_state_history(on("t"))]
    for state in states:
        shown = at(path, show, "t", state.config["configurable"]["checkpoint_id"]).next
        assert (shown is None and durability == "exit") or sorted(shown) == sorted(state.next)
