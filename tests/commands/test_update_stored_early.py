"""``ckpt update`` of a Topic whose list was stored with items of later steps."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import END, START, StateGraph

from ckpt_cli.app import run
from tests.commands.test_verify_stored_early import CONFIG, State, Waiting


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[Waiting]:
    """Stores what comes first when the list has all its items."""
    with closing(sqlite3.connect(tmp_path / "t.sqlite", check_same_thread=False)) as connection:
        saver = Waiting(connection)
        saver.lengths = dict.fromkeys(range(2, 12), 3)
        yield saver


@pytest.mark.parametrize("between", [{}, {"heard": []}])
def test_such_a_list_contradicts_no_reducer(between: State, saver: Waiting, tmp_path: Path) -> None:
    """The update adds an item as the library does, also where a node wrote an empty list between."""

    def say(state: State) -> State:
        return {**(State(heard=[f"item {state['n']}"]) if state["n"] % 3 == 1 else between), "n": state["n"] + 1}

    builder = StateGraph(State).add_node("say", say)
    builder.add_edge(START, "say").add_conditional_edges("say", lambda s: "say" if s["n"] < 8 else END, ["say", END])
    graph: Any = builder.compile(checkpointer=saver)
    heard = graph.invoke({"n": 0}, CONFIG, durability="async")["heard"]
    assert [len(one.values.get("heard", [])) for one in graph.get_state_history(CONFIG)][:7] == [3] * 7
    words = ["--values", '{"heard": ["mine"]}', "--as-node", "say", "--next", "END", "--yes"]
    assert run(["update", "t", *words, "-d", str(tmp_path / "t.sqlite")]) == 0
    assert graph.get_state(CONFIG).values["heard"] == [*heard, "mine"]
