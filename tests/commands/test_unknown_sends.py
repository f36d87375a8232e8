"""A Send to a node that the graph doesn't have: LangGraph ignores it, and what is stored doesn't show that."""

import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Send

from ckpt_cli.app import run
from ckpt_cli.commands.tree import tree
from tests.commands.asking import at
from tests.commands.test_left_alone import drawn

ON: Any = {"configurable": {"thread_id": "t"}}
IF_THERE = "would run next if the graph has this node"


class State(TypedDict, total=False):
    """A list that grows."""

    out: Annotated[list[str], operator.add]


def worked(_: Any) -> dict[str, list[str]]:
    """What the worker returns."""
    return {"out": ["worked"]}


def sending(saver: SqliteSaver, *, has_worker: bool, work: Any = worked, **options: Any) -> Any:
    """A graph whose first node sends to a worker, which may be missing."""
    graph = StateGraph(State)
    graph.add_node("plan", lambda _: {"out": ["planned"]})
    if has_worker:
        graph.add_node("work", work)
    graph.add_edge(START, "plan")
    graph.add_conditional_edges("plan", lambda _: [Send("work", "a")], ["work"] if has_worker else None)
    return graph.compile(checkpointer=saver, **options)


def test_a_send_to_a_node_that_never_ran_runs_only_if_the_graph_has_it(tmp_path: Path) -> None:
    """LangGraph ends the run without a word; once the node has run, nothing is in doubt."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        missing = sending(saver, has_worker=False)
        assert missing.invoke({"out": []}, ON) == missing.invoke(None, ON) == {"out": ["planned"]}
        assert missing.get_state(ON).next == ()
        assert IF_THERE in " ".join(drawn(at(path, tree, "t")))
        sending(saver, has_worker=True).invoke(None, ON)
        assert "would run next" not in " ".join(drawn(at(path, tree, "t")))
        sending(saver, has_worker=True, interrupt_before=["work"]).invoke({"out": []}, ON)
    said = " ".join(drawn(at(path, tree, "t")))
    assert "would run next" in said and IF_THERE not in said


@pytest.mark.parametrize("words", [["rollback", "t", "HEAD"], ["edit", "t", "--set", 'out=["x"]', "--rerun"]])
def test_a_node_that_ran_on_another_branch_is_in_no_doubt(tmp_path: Path, words: list[str]) -> None:
    """A step that failed leaves no trace in a sibling's or a child's state; the graph runs the node there."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        sending(saver, has_worker=True, interrupt_before=["work"]).invoke({"out": []}, ON)
        assert IF_THERE in " ".join(drawn(at(path, tree, "t")))
        with pytest.raises(ZeroDivisionError):
            sending(saver, has_worker=True, work=lambda _: 1 / 0).invoke(None, ON)
        assert run([*words, "-d", str(path), "--yes"]) == 0
        said = " ".join(drawn(at(path, tree, "t")))
        assert "○ work" in said and "would run next" in said and IF_THERE not in said
        assert "worked" in sending(saver, has_worker=True).invoke(None, ON)["out"]
