"""``ckpt blame --history`` of a path inside values that come and go, against what the library says of each state."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.commands.blame import blame
from ckpt_cli.errors import NotFound
from ckpt_cli.history.state.paths import parse
from tests.commands.asking import at
from tests.graphs.building import on

GONE = "nothing"


class State(TypedDict, total=False):
    doc: Annotated[Any, lambda _, new: new]


def _play(path: Path, values: list[Any]) -> list[tuple[str, Any]]:
    """A thread whose channel has one value after the other; each checkpoint's id and value, oldest first."""
    with SqliteSaver.from_conn_string(str(path)) as saver:
        rest = iter(values)
        builder = StateGraph(State).add_node("work", lambda _: {"doc": next(rest)})
        graph = builder.add_edge(START, "work").compile(checkpointer=saver)
        for _ in values:
            graph.invoke({}, on("t"))
        states = [*graph.get_state_history(on("t"))][::-1]
    return [(one.config["configurable"]["checkpoint_id"], one.values.get("doc")) for one in states]


def _follow(value: Any, steps: list[Any]) -> Any:
    for step in steps:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return GONE
    return value


def _expected(states: list[tuple[str, Any]], steps: list[Any]) -> Iterator[tuple[str, Any]]:
    last = GONE
    for checkpoint_id, doc in states:
        value = _follow(doc, steps)
        if value != last:
            yield checkpoint_id, value
        last = value


def _told(path: Path, what: str) -> list[tuple[str, Any]]:
    try:
        values = at(path, blame, "t", what, history=True).values
    except NotFound:
        return []
    return [(one.since.checkpoint_id, GONE if one.path is None else one.value) for one in values]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("what", ["doc.y.z", "doc.y", "doc.y[0].z"])
def test_every_value_is_there_though_what_is_around_it_went(what: str, seed: int, tmp_path: Path) -> None:
    """An emptied list or a null in between, a missing key, or nothing in the channel at all."""
    dice, steps = random.Random(seed), parse(what)[1:]
    inside: list[Any] = [None, 3, {}, *({"z": number} for number in range(3))]
    if 0 in steps:
        inside = [None, 3, [], *([{"z": number}] for number in range(3))]
    whole = [None, {}, {"x": 1}, *({"y": one} for one in inside * 2)]
    states = _play(tmp_path / "t.sqlite", [dice.choice(whole) for _ in range(14)])
    expected = [*_expected(states, steps)]
    is_there = bool(expected) and expected[-1][1] != GONE
    assert len(expected) > 3
    assert _told(tmp_path / "t.sqlite", what) == (expected if is_there or 0 not in steps else [])


@pytest.mark.parametrize(
    ("values", "what", "expected"),
    [
        ([["a"], [], ["b"], ["c", "b"]], "doc[0]", ["c"]),
        ([["a"], [], ["b"], ["c", "b"]], "doc[1]", ["b"]),
        ([["a", "x"], ["a"], ["c", "a"]], "doc[1]", ["a"]),
        ([["a", "x"], ["a"], ["a", "c"]], "doc[1]", ["x", GONE, "c"]),
    ],
)
def test_a_position_means_the_element_that_is_there_now(
    values: list[Any], what: str, expected: list[Any], tmp_path: Path
) -> None:
    """Wherever it was before; another that was there counts if nothing was there between the two."""
    _play(tmp_path / "t.sqlite", values)
    assert [value for _, value in _told(tmp_path / "t.sqlite", what)] == expected
