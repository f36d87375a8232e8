"""Money, time spans and bytes that `operator.add` adds up, and first values, which show no reducer."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from decimal import Decimal
from operator import add, xor
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run
from ckpt_cli.values.node import Form, Node, Opened
from ckpt_cli.values.sums import sum_of
from tests.commands.test_verify_honest import verified
from tests.graphs.building import on

SPENT: dict[str, Any] = {"fee": Decimal("1.10"), "time": timedelta(minutes=1, microseconds=5), "raw": b"ab", "on": True}
TYPED = {
    "fee": {"$type": "decimal.Decimal", "$value": "2.50"},
    "time": {"$type": "datetime.timedelta", "$args": [0, 90]},
    "raw": {"$bytes": "Yw=="},
    "on": True,
}
MORE = {"fee": Decimal("2.50"), "time": timedelta(seconds=90), "raw": b"c", "on": True}


class State(TypedDict, total=False):
    """What each run adds up."""

    q: str
    fee: Annotated[Decimal, add]
    time: Annotated[timedelta, add]
    raw: Annotated[bytes, add]
    on: Annotated[bool, xor]


class Made(NamedTuple):
    """A database, its graph, and the connection of its saver."""

    path: Path
    graph: Any


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Made]:
    """A graph whose node spends."""
    path = tmp_path / "t.sqlite"
    builder = StateGraph(State)
    builder.add_node("spend", lambda _: SPENT)
    builder.add_edge(START, "spend")
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        yield Made(path, builder.compile(checkpointer=SqliteSaver(connection)))


def update(made: Made, thread: str, channels: list[str]) -> int:
    """The exit code of an update of these channels."""
    values = json.dumps({channel: TYPED[channel] for channel in channels})
    words = ["update", thread, "--as-node", "spend", "--next", "__end__", "--values", values]
    return run([*words, "-d", str(made.path), "--yes"])


def test_sums_are_those_of_the_library(made: Made) -> None:
    """`verify` knows the reducers, and an update adds up what `update_state` does."""
    channels = ["fee", "time", "raw"]
    for thread in ("t", "twin"):
        for _ in range(10):
            made.graph.invoke({"q": "more"}, on(thread))
    made.graph.update_state(on("twin"), {channel: MORE[channel] for channel in channels}, as_node="spend")
    [thread] = verified(str(made.path), threads=["t"])[1]
    reducers = {one.channel: one.evidence for one in thread.channels}
    assert {one.channel for one in thread.findings} <= {"on"}  # a toggle isn't tried
    assert [reducers[channel].partition(" (")[0] for channel in channels] == ["sum", "sum", "append"]
    assert update(made, "t", channels) == 0
    state, twin = (made.graph.get_state(on(thread)).values for thread in ("t", "twin"))
    assert state == twin


@pytest.mark.parametrize("channel", SPENT)
def test_first_values_show_no_reducer(made: Made, channel: str, capsys: pytest.CaptureFixture[str]) -> None:
    """However many threads wrote to a channel once, none shows what it does with a value that it has."""
    for number in range(10):
        made.graph.invoke({"q": "once"}, on(f"t{number}"))
    assert update(made, "t3", [channel]) == 7
    assert "--reducer" in capsys.readouterr().err
    assert made.graph.get_state(on("t3")).values[channel] == SPENT[channel]
    made.graph.update_state(on("t3"), {channel: MORE[channel]}, as_node="spend")
    assert made.graph.get_state(on("t3")).values[channel] != MORE[channel]


@pytest.mark.parametrize("first", ["1E+2", "1.50", "123456789012345678901234567890.12345"])
def test_a_channel_of_decimals_begins_with_zero(made: Made, first: str) -> None:
    """LangGraph adds the first write to `Decimal()`, which spells and rounds it: each step is explained by a sum."""
    for number in range(10):
        made.graph.invoke({"q": "more", "fee": Decimal(first if number == 0 else number)}, on("t"))
    [thread] = verified(str(made.path), threads=["t"])[1]
    reducers = {one.channel: one.evidence for one in thread.channels}
    assert reducers["fee"].startswith("sum (") and "fee" not in {one.channel for one in thread.findings}


def test_a_span_that_cannot_be_read_has_no_sum() -> None:
    """It isn't taken for a span of nothing."""
    span = Node(Opened("datetime", "timedelta", Form.ARGS, [0, 5, 0]))
    assert sum_of([span, Node(Opened("datetime", "timedelta", Form.KWARGS, {"seconds": 9}))]).state == [0, 14, 0]
    for other in (Form.BROKEN, Form.OPAQUE):
        with pytest.raises(ValueError, match="no sum"):
            sum_of([span, Node(Opened("datetime", "timedelta", other, None))])
