"""Finished writes that LangGraph can't apply: the next run raises, and nothing promises that they are applied."""

import operator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.errors import InvalidUpdateError
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages

from ckpt_cli.app import run
from ckpt_cli.commands.replay import replay
from ckpt_cli.commands.show import show
from tests.commands.asking import at
from tests.commands.test_left_alone import drawn

ON: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    """Messages, a channel without a reducer, and a number that grows."""

    messages: Annotated[list[Any], add_messages]
    last: str
    total: Annotated[int, operator.add]
    n: int


def agent(saver: SqliteSaver, channel: str) -> Any:
    """Two nodes side by side; in the fifth run they write what their channel can't take."""

    def one(state: State) -> State:
        fourth = [HumanMessage("said", id="h"), AIMessage("said", id=f"a{state['n']}")]
        written: Any = {
            "messages": [RemoveMessage(id="gone")] if state["n"] == 4 else fourth,
            "last": "one",
            "total": "text" if state["n"] == 4 else 1,
        }
        return State(**{channel: written[channel]})  # type: ignore[typeddict-item]

    def two(state: State) -> State:
        return {"last": "two"} if channel == "last" and state["n"] == 4 else {}

    graph = StateGraph(State)
    for node in (one, two):
        graph.add_node(node)
        graph.add_edge(START, node.__name__)
    return graph.compile(checkpointer=saver)


@pytest.mark.parametrize("channel", ["messages", "last", "total"])
def test_what_the_next_run_cant_apply(channel: str, tmp_path: Path) -> None:
    """`replay` says that the run raises, for which channel; no other command promises more than the attempt."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = agent(saver, channel)
        for n in range(4):
            app.invoke({"n": n}, ON)
        for given in ({"n": 4}, None):
            with pytest.raises((ValueError, TypeError, InvalidUpdateError)):
                app.invoke(given, ON)
    view = at(path, replay, "t")
    assert view.unfit == [channel]
    said = " ".join(" ".join(drawn(view)).split())
    assert f"all tasks have finished; applying the writes to {channel} raises an error" in said
    shown = " ".join(drawn(at(path, show, "t")))
    assert "the next run begins by applying the writes" in shown


KINDS: dict[str, tuple[Any, Any, Any]] = {
    "text": ("s", "x", "y"),
    "equal texts": ("s", "x", "x"),
    "list": (["s"], ["x"], ["y"]),
    "dict": ({"s": 1}, {"x": 1}, {"y": 1}),
    "set": ({"s"}, {"x"}, {"y"}),
    "int": (1, 2, 3),
}


@pytest.mark.parametrize("kind", KINDS)
def test_several_writes_to_what_may_be_a_last_value_are_refused(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One recorded input fits a last value and a reducer that joins; LangGraph makes no state of these writes.

    `replay` doesn't promise that they are applied.
    """
    first, one, two = KINDS[kind]
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = StateGraph(TypedDict("Plain", {"k": object}))  # type: ignore[misc]
        graph.add_node("one", lambda _: {"k": one})
        graph.add_node("two", lambda _: {"k": two})
        graph.add_edge(START, "one")
        graph.add_edge(START, "two")
        app: Any = graph.compile(checkpointer=saver)
        for given in ({"k": first}, None):
            with pytest.raises(InvalidUpdateError):
                app.invoke(given, ON)
    said = " ".join(" ".join(drawn(at(path, replay, "t"))).split())
    assert "their writes would be applied, unless this raises an error: what k does with them isn't known." in said
    assert run(["replay", "t", "--commit", "--yes", "-d", str(path)]) == 7
    assert "last value, for which several writes in a step are an error" in capsys.readouterr().err
    with SqliteSaver.from_conn_string(str(path)) as saver:
        assert len(list(saver.list(ON))) == 2


@pytest.mark.parametrize(("first", "then"), [([1], ["mail"]), (["x"], "y"), ("x", 5)])
def test_writes_that_one_of_several_reducers_cant_take_may_still_be_applied(
    first: Any, then: Any, tmp_path: Path
) -> None:
    """One step fits a last value, which takes anything, and others that can't take this: nothing is promised."""
    path = tmp_path / "t.sqlite"
    is_down = True

    def fails(_: Any) -> dict[str, Any]:
        if is_down:
            raise ValueError("down")
        return {}

    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = StateGraph(TypedDict("Plain", {"k": object, "n": int}))  # type: ignore[misc]
        graph.add_node("begin", lambda _: {"k": first})
        graph.add_node("mail", lambda _: {"k": then})
        graph.add_node("ticket", fails)
        graph.add_edge(START, "begin").add_edge("begin", "mail").add_edge("begin", "ticket")
        app: Any = graph.compile(checkpointer=saver)
        with suppress(ValueError):
            app.invoke({"n": 1}, ON)
        view = at(path, replay, "t")
        assert (view.unfit, list(view.unknown)) == ([], ["k"])
        assert "raises an error" not in " ".join(drawn(view))
        is_down = False
        assert app.invoke(None, ON)["k"] == then
