"""`blame` of an item that is stored with a step, and that the step's writes don't have."""

from contextlib import closing, suppress
from itertools import pairwise
from pathlib import Path
from typing import Annotated, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from ckpt_cli.commands.blame import blame
from ckpt_cli.errors import ChannelNotFound, PayloadCorrupt
from ckpt_cli.session import Session
from ckpt_cli.views.blame import BlameView, PastView
from tests.commands.asking import look


def _and_more(old: list[str], new: list[str]) -> list[str]:
    return [*old, *new, "by hand"]


class _State(TypedDict, total=False):
    n: int
    out: Annotated[list[str], _and_more]


def test_the_reason_names_all_that_may_have_made_it(tmp_path: Path) -> None:
    """A reducer made it here; a node that alters the list while it is stored leaves the same data."""
    with SqliteSaver.from_conn_string(str(path := tmp_path / "t.sqlite")) as saver:
        graph = StateGraph(_State).add_node("a", lambda _: {"n": 1}).add_edge(START, "a").add_edge("a", END)
        graph.compile(checkpointer=saver).invoke({"out": ["given"]}, {"configurable": {"thread_id": "t"}})
    view, _ = look(path, lambda session: blame(session, "t", "out"))
    assert isinstance(view, BlameView)
    first, second = view.lines
    assert (first.since.by, second.since.by) == ("input", "")
    assert "code that alters values in place" in second.since.why


def test_the_reason_is_the_same_where_several_tasks_wrote(tmp_path: Path) -> None:
    """Neither of two nodes wrote the item that the reducer made."""
    with SqliteSaver.from_conn_string(str(path := tmp_path / "t.sqlite")) as saver:
        graph = StateGraph(_State).add_node("a", lambda _: {"out": ["a"]}).add_node("b", lambda _: {"out": ["b"]})
        graph.add_edge(START, "a").add_edge(START, "b")
        graph.compile(checkpointer=saver).invoke({"n": 1}, {"configurable": {"thread_id": "t"}})
    view, _ = look(path, lambda session: blame(session, "t", "out"))
    assert isinstance(view, BlameView)
    given = {line.value: line.since for line in view.lines}
    assert (given["a"].node, given["b"].node) == ("a", "b")
    assert list(given["by hand"].candidates) == ["a", "b"]
    assert "code that alters values in place" in given["by hand"].why


def _last_three(old: list[str], writes: list[list[str]]) -> list[str]:
    return [*old, *(one for some in writes for one in some)][-3:]


class _Capped(TypedDict, total=False):
    out: Annotated[list[str], DeltaChannel(_last_three, snapshot_frequency=3)]


def test_a_value_that_a_later_snapshot_refutes_is_unknown(tmp_path: Path) -> None:
    """It looked like an append until the list was full: no value is named that LangGraph doesn't read there."""
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    with SqliteSaver.from_conn_string(str(path := tmp_path / "t.sqlite")) as saver:
        graph, names = StateGraph(_Capped), "abcdefgh"
        for name in names:
            graph.add_node(name, lambda _, name=name: {"out": [name]})
        graph.add_edge(START, names[0])
        for one, other in pairwise(names):
            graph.add_edge(one, other)
        agent = graph.compile(checkpointer=saver)
        agent.invoke({"out": []}, config)
        read = {state.config["configurable"]["checkpoint_id"]: state for state in agent.get_state_history(config)}
    shown = 0
    for at in read:
        with suppress(PayloadCorrupt, ChannelNotFound), closing(Session(str(path))) as session:  # it may be unknown
            view = blame(session, "t", "out", at=at, history=True)
            assert isinstance(view, PastView)
            for one in view.values:
                assert one.path is None or one.value == read[one.since.checkpoint_id].values["out"]
                shown += 1
    assert shown > 2
