"""A node that may be deferred and has never run: after a change, LangGraph still loads the thread and runs on."""

import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from ckpt_cli.app import run


class State(TypedDict, total=False):
    """A number that grows."""

    x: Annotated[int, operator.add]


def on(thread: str) -> Any:
    """The config of a thread."""
    return {"configurable": {"thread_id": thread}}


def asking(saver: SqliteSaver, *, defer: bool, join: bool = False) -> Any:
    """A node that asks and one that doesn't; another one runs after both, or after all others if it is deferred."""
    graph = StateGraph(State)
    graph.add_node("plan", lambda _: {"x": 1})
    graph.add_node("ask", lambda _: {"x": interrupt("?")})
    graph.add_node("audit", lambda _: {"x": 2})
    graph.add_node("collect", lambda _: {"x": 100}, defer=defer)
    graph.add_edge(START, "plan")
    for node in ("ask", "audit"):
        graph.add_edge("plan", node)
    for start in (["ask", "audit"],) if join else ("ask", "audit"):
        graph.add_edge(start, "collect")
    return graph.compile(checkpointer=saver)


def waiting(path: Path, *, finished: bool, **options: bool) -> None:
    """A thread that waits for an answer, and perhaps another one that has finished."""
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = asking(saver, **options)
        if finished:
            graph.invoke({"x": 0}, on("finished"))
            graph.invoke(Command(resume=5), on("finished"))
        graph.invoke({"x": 0}, on("t"))


CHANGES = {
    "update": ["update", "t", "--values", '{"x": 7}', "--as-node", "audit", "--next", "collect", "--reducer", "x=sum"],
    "commit": ["replay", "t", "--commit", "--reducer", "x=sum"],
}


@pytest.mark.parametrize("finished", [False, True], ids=["alone", "another thread has finished"])
@pytest.mark.parametrize("defer", [False, True], ids=["at once", "deferred"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_node_that_never_ran_runs_after_a_change(tmp_path: Path, change: str, defer: bool, finished: bool) -> None:
    """The library loads the stored trigger, whether or not the node is deferred, and runs the node."""
    path = tmp_path / "t.sqlite"
    waiting(path, finished=finished, defer=defer)
    assert run([*CHANGES[change], "-d", str(path), "--yes"]) == 0
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = asking(saver, defer=defer)
        x = graph.get_state(on("t")).values["x"]
        assert graph.get_state(on("t")).next == ("collect",)
        assert graph.invoke(None, on("t")) == {"x": x + 100}


def test_a_node_beside_another_is_not_promised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If another node runs next, only a node that isn't deferred runs with it; the plan says that nothing shows it."""
    path = tmp_path / "t.sqlite"
    waiting(path, finished=False, defer=True)
    words = ["--as-node", "plan", "--next", "audit,collect", "--values", '{"x": 1}', "--reducer", "x=sum"]
    assert run(["update", "t", *words, "-d", str(path), "--yes"]) == 0
    assert "unless it is deferred, collect runs next too" in capsys.readouterr().out
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = asking(saver, defer=True)
        assert graph.get_state(on("t")).next == ("audit",)
        assert graph.invoke(None, on("t")) == {"x": 104}


@pytest.mark.parametrize("defer", [False, True], ids=["at once", "deferred"])
def test_a_join_that_never_was_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], defer: bool) -> None:
    """No stored form of a join fits both kinds of nodes: nothing is written, and the thread runs on."""
    path = tmp_path / "t.sqlite"
    waiting(path, finished=False, defer=defer, join=True)
    assert run(["replay", "t", "-d", str(path)]) == 0
    assert run([*CHANGES["commit"], "-d", str(path), "--yes"]) != 0
    assert "add --deferred collect=no, or =yes" in capsys.readouterr().err
    assert run([*CHANGES["commit"], "--deferred", "collect", "-d", str(path), "--yes"]) == 2
    with SqliteSaver.from_conn_string(str(path)) as saver:
        assert asking(saver, defer=defer, join=True).invoke(Command(resume=5), on("t")) == {"x": 108}


@pytest.mark.parametrize("named", [False, True], ids=["another thread", "--deferred"])
@pytest.mark.parametrize("defer", [False, True], ids=["at once", "deferred"])
def test_a_join_is_known_from_another_thread_or_a_person(tmp_path: Path, defer: bool, named: bool) -> None:
    """Another thread of the graph or a person shows the form of the join; the library's own END leaves the same."""
    option = ["--deferred", f"collect={'yes' if defer else 'no'}"] if named else []
    paths = tmp_path / "mine.sqlite", tmp_path / "theirs.sqlite"
    stored = []
    for path in paths:
        waiting(path, finished=not named, defer=defer, join=True)
        with SqliteSaver.from_conn_string(str(path)) as saver:
            graph = asking(saver, defer=defer, join=True)
            if path == paths[0]:
                assert run([*CHANGES["commit"], *option, "-d", str(path), "--yes"]) == 0
            else:
                graph.update_state(on("t"), None, as_node="__end__")
            assert graph.get_state(on("t")).next == ()
            stored.append(saver.get_tuple(on("t")).checkpoint["channel_values"])  # type: ignore[union-attr]
    assert stored[0] == stored[1]


def routing(saver: SqliteSaver, *, defer: bool) -> Any:
    """A node that goes on to one of two nodes, of which one may be deferred."""

    class Routed(TypedDict, total=False):
        x: Annotated[int, operator.add]
        to: str

    graph = StateGraph(Routed)
    graph.add_node("plan", lambda _: {"x": 1})
    graph.add_node("usual", lambda _: {"x": 10})
    graph.add_node("rare", lambda _: {"x": 100}, defer=defer)
    graph.add_edge(START, "plan")
    graph.add_conditional_edges("plan", lambda state: state.get("to", "usual"), ["usual", "rare"])
    return graph.compile(checkpointer=saver)


@pytest.mark.parametrize("known", [False, True], ids=["never ran", "ran in another thread"])
@pytest.mark.parametrize("defer", [False, True], ids=["at once", "deferred"])
def test_a_later_update_ends_what_an_earlier_one_made_due(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], defer: bool, known: bool
) -> None:
    """Only a deferred node stays due; where nothing shows which it is, ckpt asks instead of storing a wrong state."""
    ours, theirs = tmp_path / "ours.sqlite", tmp_path / "theirs.sqlite"
    for path in (ours, theirs):
        with SqliteSaver.from_conn_string(str(path)) as saver:
            graph = routing(saver, defer=defer)
            if known:
                graph.invoke({"x": 0, "to": "rare"}, on("other"))
            graph.invoke({"x": 0}, on("t"), interrupt_before=["usual"])
    with SqliteSaver.from_conn_string(str(theirs)) as saver:
        graph = routing(saver, defer=defer)
        graph.update_state(on("t"), {"x": 1, "to": "rare"}, as_node="plan")
        graph.update_state(on("t"), {"x": 1, "to": "usual"}, as_node="plan")
        wanted, end = graph.get_state(on("t")).next, graph.invoke(None, on("t"))["x"]
    words = ["update", "t", "--values", '{"x": 1}', "--as-node", "plan", "--reducer", "x=sum", "--yes", "-d", str(ours)]
    assert run([*words, "--next", "rare"]) == 0
    capsys.readouterr()
    code = run([*words, "--next", "usual"])
    assert code == (0 if known else 7)
    if not known:
        assert "add --deferred rare=no, or =yes" in capsys.readouterr().err
        assert run([*words, "--next", "usual", "--deferred", f"rare={'yes' if defer else 'no'}"]) == 0
    assert ("rare is deferred and still due" in capsys.readouterr().out) is (defer and "rare" in wanted)
    with SqliteSaver.from_conn_string(str(ours)) as saver:
        graph = routing(saver, defer=defer)
        assert graph.get_state(on("t")).next == wanted
        assert graph.invoke(None, on("t"))["x"] == end
