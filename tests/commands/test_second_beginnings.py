"""A thread that began again: its second beginning is drawn below the first line, and isn't said to descend from it."""

from pathlib import Path
from typing import TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.commands.log import log
from ckpt_cli.commands.tree import tree
from ckpt_cli.output.line import Page, plain
from ckpt_cli.output.printer import render
from tests.commands.asking import look

_NO_PARENT = "no parent"


class _State(TypedDict, total=False):
    name: str


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two runs, the second of which did not find the first in the database."""
    database = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(database)) as saver:
        graph = StateGraph(_State).add_node("greet", lambda _: {}).add_edge(START, "greet").compile(checkpointer=saver)
        config = {"configurable": {"thread_id": "t"}}
        graph.invoke({"name": "Ada"}, config)
        saver.conn.execute("UPDATE checkpoints SET thread_id = 'away'")
        graph.invoke({"name": "Bo"}, config)
        saver.conn.execute("UPDATE checkpoints SET thread_id = 't'")
        saver.conn.commit()
    return database


@pytest.mark.parametrize("full", [False, True])
def test_the_second_beginning_says_so(path: Path, full: bool) -> None:
    """In `tree` and in `log --graph` the row of the second input has the words, the row of the first has not."""
    drawn, _ = look(path, lambda session: tree(session, "t", full=full))
    assert _with_words([plain(line) for line in render(drawn, Page(100, 0))]) == ["Bo"]
    drawn, _ = look(path, lambda session: log(session, "t", graph=True, all_steps=full))
    assert _with_words([plain(line) for line in render(drawn, Page(100, 0))]) == ["Bo"]


@pytest.mark.parametrize(("limit", "named"), [(2, []), (3, ["Bo"]), (4, ["Bo"])])
def test_older_rows_that_are_not_shown_are_below_it_too(path: Path, limit: int, named: list[str]) -> None:
    """A list that ends at the second beginning has the words: more rows would follow in its lane."""
    drawn, _ = look(path, lambda session: log(session, "t", graph=True, all_steps=True, limit=limit))
    assert _with_words([plain(line) for line in render(drawn, Page(100, 0))]) == named


def _with_words(lines: list[str]) -> list[str]:
    return [name for line in lines for name in ("Ada", "Bo") if _NO_PARENT in line and name in line]
