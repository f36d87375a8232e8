"""What ``update`` says is unknown is unknown to the whole thread: unfinished steps and updates count too."""

import operator
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Send, interrupt

from ckpt_cli.app import run

ON: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    """A list that grows, a value, and a value that only an unfinished step wrote."""

    log: Annotated[list[str], operator.add]
    n: int
    got: str


def fail_after_others(saver: SqliteSaver) -> Callable[[State], State]:
    """A node that fails when the writes of the others are stored; else LangGraph may drop them."""

    def fail(_: State) -> State:
        while {"got", "__interrupt__"} - {channel for _, channel, _ in saver.get_tuple(ON).pending_writes or ()}:
            time.sleep(0.01)
        raise RuntimeError("down")

    return fail


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A step in which a node has finished, one waits and one failed."""
    builder = StateGraph(State)
    builder.add_node("quiet", lambda _: {"got": "x"})
    builder.add_node("ask", lambda _: {"log": [interrupt("?")]})
    builder.add_node("end", lambda _: {"log": ["end"]})
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver, pytest.raises(RuntimeError):
        builder.add_node("boom", fail_after_others(saver))
        for one, other in ((START, "quiet"), (START, "ask"), (START, "boom"), ("quiet", "end")):
            builder.add_edge(one, other)
        builder.compile(checkpointer=saver).invoke({"n": 1}, ON)
    return tmp_path / "t.sqlite"


def said(path: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The plan of an update, or why it is refused."""
    run(["update", "t", *words, "-d", str(path), "--dry-run"])
    printed = capsys.readouterr()
    return printed.out + printed.err


@pytest.mark.parametrize("rev", ["@", "step:-1"])
def test_a_node_of_an_unfinished_step_is_known(rev: str, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its run is recorded if it finished; if it failed, it is at least no unknown node."""
    assert "as quiet: then end, as in its only recorded run" in said(
        path, capsys, rev, "--as-node", "quiet", "--values", "{}"
    )
    assert "no run of boom that finished" in said(path, capsys, rev, "--as-node", "boom", "--values", "{}")
    next_boom = said(path, capsys, rev, "--as-node", "quiet", "--values", "{}", "--next", "boom")
    assert "never run" not in next_boom


def test_a_channel_of_an_unfinished_step_is_known(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only its reducer isn't; a channel that no row names has a list of the others."""
    unproven = said(path, capsys, "--as-node", "quiet", "--values", '{"got": "y"}')
    assert "the reducer of channel 'got' is unknown" in unproven
    unknown = said(path, capsys, "--as-node", "quiet", "--values", '{"gto": "y"}')
    assert "no channel 'gto'" in unknown and "known in this thread; these are:\n  got\n" in unknown


def test_updates_show_reducers(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An update that the library recorded is a step like others."""
    builder = StateGraph(State)
    builder.add_node("end", lambda _: {"log": ["end"]})
    builder.add_edge(START, "end")
    other: Any = {"configurable": {"thread_id": "u"}}
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = builder.compile(checkpointer=saver)
        app.invoke({"log": ["in"]}, other)
        for word in ("a", "b"):
            app.update_state(other, {"log": [word], "n": len(word)}, as_node="end")
    run(
        ["update", "u", "--values", '{"log": ["c"]}', "--as-node", "end", "--next", "END", "-d", str(path), "--dry-run"]
    )
    printed = capsys.readouterr()
    assert "log append (4 of 4 steps)" in printed.out + printed.err


def test_a_node_that_another_call_of_the_subgraph_reached_is_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two Sends call one subgraph; ``update_state`` takes the second node in the call that hasn't reached it, too."""
    inner = StateGraph(State)
    inner.add_node("ask_lang", lambda s: {"n": s["n"] and interrupt("language?")})
    inner.add_node("ask_time", lambda _: {"got": interrupt("time?")})
    inner.add_edge(START, "ask_lang").add_edge("ask_lang", "ask_time")
    outer = StateGraph(State).add_node("plan", lambda _: {"n": 2}).add_node("one", inner.compile())
    outer.add_edge(START, "plan").add_conditional_edges("plan", lambda _: [Send("one", {"n": n}) for n in (0, 1)])
    path = tmp_path / "s.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = outer.compile(checkpointer=saver)
        graph.invoke({"n": 2}, ON)
        tasks = graph.get_state(ON, subgraphs=True).tasks
        [late] = [task.state for task in tasks if task.state.next == ("ask_lang",)]
        ns = ["--ns", late.config["configurable"]["checkpoint_ns"], "--values", "{}"]
        refused = said(path, capsys, *ns, "--as-node", "ask_tine")
        assert "in this subgraph" in refused and "did you mean ask_time?" in refused
        assert "no run of ask_time that finished" in said(path, capsys, *ns, "--as-node", "ask_time")
        assert "never run" not in said(path, capsys, *ns, "--as-node", "ask_lang", "--next", "ask_time")
        graph.update_state(late.config, {}, as_node="ask_time")
