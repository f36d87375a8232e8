"""``ckpt blame`` of a value that is stored before any write of it."""

import operator
import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import Topic
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.commands.blame import blame
from tests.commands.asking import at
from tests.commands.planted import ON, Tables
from tests.commands.test_verify_stored_early import Waiting


class State(TypedDict, total=False):
    topic: Annotated[list[str], Topic(str, accumulate=True)]
    n: Annotated[int, operator.add]


@pytest.mark.parametrize("writes", [["work"], ["quiet", "work"]])
def test_who_wrote_it_in_the_next_step_is_among_the_candidates(writes: list[str], tmp_path: Path) -> None:
    """The topic is stored as if it was encoded while the next step extended its list, which does happen."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        builder = StateGraph(State)
        for name in ("quiet", "work"):
            written: Any = {"n": 1, **({"topic": name} if name in writes else {})}
            builder.add_node(name, lambda _, written=written: written)
        builder.add_edge(START, "quiet").add_edge("quiet", "work").compile(checkpointer=saver).invoke({"n": 0}, ON)
    tables = Tables(path)
    quiet = next(one for one in tables.steps() if one.metadata["step"] == 1)
    quiet.body["channel_values"]["topic"] = writes
    tables.put(quiet)
    tables.close()
    line = at(path, blame, "t", "topic").lines[-1]
    assert (line.value, line.since.step, line.since.by) == ("work", 1, "")
    assert "work" in line.since.candidates
    assert "the next step wrote it" in line.since.why


def test_who_wrote_it_some_steps_later_is_among_the_candidates(tmp_path: Path) -> None:
    """As above, with other nodes between: the checkpoint was encoded when a later step had extended the list."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        builder = StateGraph(State)
        names = ["begin", "one", "two", "three", "work", "last"]
        for name in names:
            written: Any = {"n": 1, **({"topic": name} if name in ("begin", "work") else {})}
            builder.add_node(name, lambda _, written=written: written)
        for one, other in pairwise([START, *names]):
            builder.add_edge(one, other)
        builder.compile(checkpointer=saver).invoke({"n": 0}, ON, durability="sync")
    tables = Tables(path)
    for early in [one for one in tables.steps() if one.metadata["step"] in (2, 3, 4)]:
        early.body["channel_values"]["topic"] = ["begin", "work"]
        tables.put(early)
    tables.close()
    line = at(path, blame, "t", "topic").lines[-1]
    assert (line.value, line.since.step, line.since.by) == ("work", 2, "")
    assert line.since.candidates == ["one", "work"]
    assert "step 5 wrote it" in line.since.why


@pytest.mark.parametrize("words", [["mash", "boil", "lager"], ["hot", "hot", "hot"]], ids=["others", "equals"])
def test_who_wrote_each_item_is_among_its_candidates(words: list[str], tmp_path: Path) -> None:
    """Three nodes in a row write an item each, and the first checkpoint was encoded when all had."""
    path = tmp_path / "t.sqlite"
    nodes = ["mash", "boil", "lager"]
    with SqliteSaver.from_conn_string(str(path)) as saver:
        builder = StateGraph(State)
        for name, word in zip(nodes, words, strict=True):
            builder.add_node(name, lambda _, word=word: {"topic": [word]})
        for one, other in pairwise([START, *nodes]):
            builder.add_edge(one, other)
        builder.compile(checkpointer=saver).invoke({"n": 0}, ON, durability="sync")
    tables = Tables(path)
    for early in [one for one in tables.steps() if one.metadata["step"] in (1, 2)]:
        early.body["channel_values"]["topic"] = words
        tables.put(early)
    tables.close()
    lines = at(path, blame, "t", "topic").lines
    assert (lines[0].since.node, [line.since.by for line in lines[1:]]) == ("mash", ["", ""])
    assert [node in line.since.candidates for node, line in zip(nodes[1:], lines[1:], strict=True)] == [True, True]


def _extend(old: list[str], new: list[str]) -> list[str]:
    old.extend(new)
    return old


def _update(old: dict[str, int], new: dict[str, int]) -> dict[str, int]:
    old.update(new)
    return old


class InPlace(TypedDict, total=False):
    n: int
    heard: Annotated[list[str], _extend]
    last: Annotated[dict[str, int], _update]


def test_who_wrote_what_a_reducer_altered_in_place(tmp_path: Path) -> None:
    """The first checkpoint is stored when 40 steps have altered its list and its dict."""
    with closing(sqlite3.connect(tmp_path / "t.sqlite", check_same_thread=False)) as connection:
        saver = Waiting(connection)
        saver.lengths = {1: 40}
        builder, nodes = StateGraph(InPlace), [f"node{number}" for number in range(40)]
        for name in nodes:
            builder.add_node(name, lambda _, name=name: {"heard": [name], "last": {name: 1, "any": int(name[4:])}})
        for one, other in pairwise([START, *nodes]):
            builder.add_edge(one, other)
        builder.compile(checkpointer=saver).invoke({"n": 0}, {**ON, "recursion_limit": 50}, durability="async")
    for channel in ("heard", "last"):
        lines = at(tmp_path / "t.sqlite", blame, "t", channel).lines
        assert len(lines) == {"heard": 40, "last": 41}[channel]
        for line in lines:
            node = str(line.value) if channel == "heard" else line.path.rpartition(".")[2].replace("any", "node39")
            assert line.since.step == 1
            assert node in (line.since.node, *line.since.candidates)


def test_equal_items_of_two_turns(tmp_path: Path) -> None:
    """Each turn's input was encoded when both nodes had run: who wrote an item is a candidate, and no name is empty."""
    path, nodes = tmp_path / "t.sqlite", ["greet", "bill"]
    with SqliteSaver.from_conn_string(str(path)) as saver:
        builder = StateGraph(State)
        for name in nodes:
            builder.add_node(name, lambda _, name=name: {"topic": [name]})
        app = builder.add_edge(START, "greet").add_edge("greet", "bill").compile(checkpointer=saver)
        for _ in range(2):
            app.invoke({"n": 0}, ON, durability="sync")
    tables = Tables(path)
    for early in [one for one in tables.steps() if one.metadata["step"] in (1, 3, 4, 5)]:
        early.body["channel_values"]["topic"] = nodes if early.metadata["step"] == 1 else nodes * 2
        tables.put(early)
    tables.close()
    lines = at(path, blame, "t", "topic").lines
    assert [line.value in line.since.candidates or line.value == line.since.node for line in lines] == [True] * 4
    assert all(all(line.since.candidates) for line in lines)
