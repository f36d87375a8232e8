"""Items that a reducer drops if the list has them: their class and the graph's function say which are equal."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.commands.replay import replay
from ckpt_cli.commands.verify import verify
from ckpt_cli.session import Session
from tests.commands.asking import at


@dataclass
class Source:
    """An object, equal to another with the same fields."""

    page: int
    seen: str


def _all_new(old: list[Any], new: list[Any]) -> list[Any]:
    return old + [item for item in new if item not in old]


def _once(old: list[Any], new: list[Any]) -> list[Any]:
    return list(dict.fromkeys([*old, *new]))


CASES: dict[str, tuple[Callable[[Any, Any], Any], list[list[Any]]]] = {
    "objects": (_all_new, [[Source(1, "a")], [Source(1, "a"), Source(2, "b")], [Source(2, "b")]]),
    "an item twice, kept": (_all_new, [["a", "a"], ["b", "b"], ["b"]]),
    "an item twice, dropped": (_once, [["a", "a"], ["b", "b"], ["b"]]),
}


@pytest.mark.parametrize("name", CASES)
def test_no_honest_step_differs_where_the_named_reducer_leaves_the_value_open(tmp_path: Path, name: str) -> None:
    """`replay --to` and `verify` say `unknown` of a step that "append if new" doesn't decide."""
    reducer, writes = CASES[name]
    left = list(writes)

    class State(TypedDict, total=False):
        items: Annotated[list[Any], reducer]
        turn: int

    graph = StateGraph(State)
    graph.add_node("work", lambda _: {"items": left.pop(0)})
    graph.add_edge(START, "work")
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        app = graph.compile(checkpointer=saver)
        for turn in range(len(writes)):
            app.invoke({"turn": turn}, {"configurable": {"thread_id": "t"}})
    named = at(tmp_path / "t.sqlite", replay, "t", to="@", reducer=["items=new"])
    assert {str(step.verdict) for step in named.steps} == {"agrees", "unknown"}
    with closing(Session(str(tmp_path / "t.sqlite"))) as session:
        [thread] = verify(session, reducer=["items=new"]).threads
        assert {*thread.verdicts} == {"agrees", "unknown"}
        assert {one.why for one in thread.findings} == {"what append if new makes of such values isn't known"}
