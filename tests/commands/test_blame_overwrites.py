"""``ckpt blame`` of an `Overwrite` that one node wrote beside another node's write in the same step."""

import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Overwrite

from ckpt_cli.commands.blame import blame
from tests.commands.asking import at
from tests.graphs.building import on


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    book: Annotated[dict[str, int], operator.or_]


WRITES: dict[str, State] = {
    "first": {"log": ["p", "q"], "book": {"p": 1, "q": 1}},
    "second": {"log": ["p"]},
    "adds": {"log": ["s"], "book": {"s": 1}},
    "resets": {"log": Overwrite(["p", "new"]), "book": Overwrite({"p": 1, "new": 1})},
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two nodes one after the other, then two in one step, of which one overwrites what the others gave."""
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        builder = StateGraph(State)
        for name, written in WRITES.items():
            builder.add_node(name, lambda _, written=written: written)
        for edge in [(START, "first"), ("first", "second"), ("second", "adds"), ("second", "resets")]:
            builder.add_edge(*edge)
        made: Any = builder.compile(checkpointer=saver).invoke({"log": []}, on("t"))
    assert (made["log"], made["book"]) == (["p", "new"], {"p": 1, "new": 1})
    return tmp_path / "t.sqlite"


def test_an_element_that_the_overwrite_has_may_be_of_its_step(path: Path) -> None:
    """It was there before the step; which of the equal ones it is, the values don't show."""
    kept, new = at(path, blame, "t", "log").lines
    assert (kept.since.by, {*kept.since.candidates}) == ("", {"first", "second", "resets"})
    assert (kept.since.step, len(kept.since.or_at)) == (3, 2)
    assert (new.since.node, new.since.step) == ("resets", 3)


def test_what_an_overwrite_leaves_out_was_removed_by_its_node(path: Path) -> None:
    """LangGraph ignores what others wrote to the channel in the step (1.2 ``channels/binop.py``)."""
    [line] = at(path, blame, "t", "book", reverse=True).lines
    assert (line.path, line.gone.by, line.gone.node) == ("book.q", "node", "resets")
