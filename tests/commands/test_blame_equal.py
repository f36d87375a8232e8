"""Removed elements of a list that had equal ones: `blame --reverse` doesn't say which of them went."""

import random
import re
from pathlib import Path
from typing import Annotated, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.commands.blame import blame
from tests.commands.asking import at
from tests.graphs.building import on


def last_three(old: list[str] | None, new: list[str]) -> list[str]:
    return [*(old or []), *new][-3:]


class State(TypedDict, total=False):
    log: Annotated[list[str], last_three]


def _place(path: str) -> int:
    return int(re.findall(r"\[(\d+)\]", path)[0])


@pytest.mark.parametrize("seed", range(4))
def test_a_place_that_is_said_is_true(seed: int, tmp_path: Path) -> None:
    """Of a list that keeps its last three, the first elements go: they are named, or are among those that may be."""
    dice = random.Random(seed)
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        node = StateGraph(State).add_node("a", lambda _: {"log": [dice.choice("pqr")]})
        graph = node.add_edge(START, "a").compile(checkpointer=saver)
        for _ in range(12):
            graph.invoke({"log": [dice.choice("pqr")]}, on("t"))
        states = {one.config["configurable"]["checkpoint_id"]: one for one in graph.get_state_history(on("t"))}
    told, doubtful = 0, 0
    for line in at(path, blame, "t", "log", reverse=True).lines:
        if line.replaced or line.gone is None:
            continue
        parent = states[line.gone.checkpoint_id].parent_config
        assert parent is not None
        old, new = (states[i].values["log"] for i in (parent["configurable"]["checkpoint_id"], line.gone.checkpoint_id))
        dropped = set(range(len(old) + 1 - len(new)))
        assert dropped & {_place(line.path), *map(_place, line.elsewhere)}, (old, new, line)
        assert all(old[_place(other)] == line.value for other in line.elsewhere)
        told, doubtful = told + 1, doubtful + bool(line.elsewhere)
    assert told > doubtful > 0


def test_the_steps_at_which_one_of_equal_elements_came_are_named(tmp_path: Path) -> None:
    """A few steps are all named; of many, the last five, with a word about those before."""
    path, whys = tmp_path / "t.sqlite", list[str]()
    with SqliteSaver.from_conn_string(str(path)) as saver:
        node = StateGraph(State).add_node("a", lambda _: {"log": ["q"]})
        graph = node.add_edge(START, "a").compile(checkpointer=saver)
        for _ in range(6):
            graph.invoke({"log": ["p", "p"]}, on("t"))
            whys += [line.since.why for line in at(path, blame, "t", "log").lines if line.since is not None]
    said = {why.partition("it can't be distinguished from equal elements: it came at step ")[2] for why in whys}
    assert {"0 or 3", "0, 3, 6, 9 or 12", "3, 6, 9, 12 or 15, or earlier"} <= said
