"""Rows of ``ckpt log`` and ``ckpt tree`` on a terminal that has no room for a whole row."""

from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from ckpt_cli.commands.log import log
from ckpt_cli.commands.tree import tree
from ckpt_cli.output.line import Page, plain
from ckpt_cli.output.printer import render
from tests import golden
from tests.commands.asking import look

ON: Any = {"configurable": {"thread_id": "t"}}
_NODE = "check_the_stock_of_the_warehouse"


class State(TypedDict, total=False):
    order: dict[str, int]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A thread with a single channel, and a node of a long name that failed, asked and finished, and asks again."""
    failures = [ValueError("x")]

    def check(_: State) -> Any:
        if failures:
            raise failures.pop()
        interrupt("how many?")
        return {"order": {"number": 1043, "pieces": 2}}

    path, builder = tmp_path / "t.sqlite", StateGraph(State)
    builder.add_node(_NODE, check)
    builder.add_edge(START, _NODE)
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = builder.compile(checkpointer=saver)
        with pytest.raises(ValueError, match="x"):
            graph.invoke({"order": {"number": 1042}}, ON)
        graph.invoke(None, ON)
        graph.invoke(Command(resume=3), ON)
        graph.invoke({"order": {"number": 1044}}, ON)
    return path


def _rows(path: Path, verb: Any, width: int) -> list[str]:
    view, _ = look(path, lambda session: verb(session, "t"))
    return [plain(line) for line in render(view, Page(width, golden.NOW)) if " order" in plain(line)]


@pytest.mark.parametrize("verb", [log, tree])
def test_a_cut_change_does_not_look_like_further_changes(path: Path, verb: Any) -> None:
    """At no usual width, as no step changed a second channel."""
    for width in range(60, 130):
        rows = _rows(path, verb, width)
        assert len(rows) == 3
        assert not [row for row in rows if "… …" in row.partition("order")[2].partition("  ")[0]], (width, rows)
        assert not [row for row in rows if "also" in row], (width, rows)


def test_a_row_is_not_cut_for_the_marks_of_another_row(path: Path) -> None:
    """In `tree` the head's row has room for its change where its own mark is short."""
    for width in range(70, 90):
        [head] = [row for row in _rows(path, tree, width) if row.endswith("  @")]
        assert "order {2 keys} → {" in head and "…" not in head, (width, head)
