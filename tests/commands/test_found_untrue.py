"""Sentences that were untrue on agents with reducers, retries and kills of their own, each held against the library."""

import operator
import re
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from ckpt_cli.app import run
from ckpt_cli.commands.log import log
from ckpt_cli.commands.replay import replay
from ckpt_cli.history.reducers.known_reducers import Reducers
from ckpt_cli.history.reducers.step_verdicts import judge
from ckpt_cli.history.reducers.verdict import Verdict
from ckpt_cli.model import Plan, WriteKey
from ckpt_cli.savers.url import open_database
from tests.commands.asking import at, look

ON: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    """A list that grows, and a number."""

    log: Annotated[list[str], operator.add]
    n: int


def chain(saver: SqliteSaver, *nodes: str) -> Any:
    """Nodes in a row; each adds its name."""
    graph = StateGraph(State)
    for place, node in enumerate(nodes):
        graph.add_node(node, lambda _, node=node: {"log": [node]})
        graph.add_edge(nodes[place - 1] if place else START, node)
    graph.add_edge(nodes[-1], END)
    return graph.compile(checkpointer=saver)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A thread with one run of three nodes."""
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        chain(saver, "a", "b", "c").invoke({"log": ["in"], "n": 0}, ON)
    return tmp_path / "t.sqlite"


def lose_the_head(path: Path) -> None:
    """Delete the head's row, as if the process had died after the writes of its step were stored."""
    with closing(open_database(str(path), print)) as saver:
        head = saver.newest("t", "", 1)[0].ref
        own = [WriteKey(write.ref, write.task_id, write.idx) for write in saver.writes_on([head])]
        saver.apply(Plan(reason="", remove=(head, *own), basis=()))


def test_a_step_that_finished_and_was_not_applied_is_not_done(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The library would end the step, and then run what follows."""
    lose_the_head(path)
    assert run(["show", "t", "-d", str(path)]) == 0
    assert run(["replay", "t", "-d", str(path)]) == 0
    out = capsys.readouterr().out
    assert "nothing: done" not in out and "nothing would run" not in out


def test_the_hint_of_a_refused_undo_leads_to_the_head_of_that_time(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """After the deletion that it names, the undo is possible."""
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = chain(saver, "a", "b", "c")
        head = app.get_state(ON).config["configurable"]["checkpoint_id"]
        assert run(["fork", "t", "step:1", "-d", str(path), "--yes"]) == 0
        with pytest.raises(RuntimeError):
            failing(saver).invoke(None, ON)
    capsys.readouterr()
    assert run(["undo", "-d", str(path), "--yes"]) == 7
    [added] = re.findall(r"`ckpt delete t --after ([\w-]+)` first, then `ckpt undo 1`", capsys.readouterr().err)
    assert run(["delete", "t", "--after", added, "-d", str(path), "--yes"]) == 0
    assert run(["undo", "1", "-d", str(path), "--yes"]) == 0
    with SqliteSaver.from_conn_string(str(path)) as saver:
        newest = saver.get_tuple(ON)
    assert newest is not None and newest.checkpoint["id"] == head


def failing(saver: SqliteSaver) -> Any:
    """The same graph, whose second node fails; the failure is stored on the checkpoint where it started."""

    def fail(_: State) -> State:
        raise RuntimeError("down")

    graph = StateGraph(State)
    graph.add_node("a", lambda _: {"log": ["a"]})
    graph.add_node("b", fail)
    graph.add_node("c", lambda _: {"log": ["c"]})
    for one, other in ((START, "a"), ("a", "b"), ("b", "c"), ("c", END)):
        graph.add_edge(one, other)
    return graph.compile(checkpointer=saver)


def test_a_retried_failure_is_no_open_one(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A node that failed and ran again has no sign of a failure in the log."""
    with SqliteSaver.from_conn_string(str(path)) as saver:
        with pytest.raises(RuntimeError):
            failing(saver).invoke({"log": ["again"]}, ON)
        chain(saver, "a", "b", "c").invoke(None, ON)
    assert run(["log", "t", "-d", str(path)]) == 0
    out = capsys.readouterr().out
    assert "b failed then" in out and "✗" not in out


def test_a_fork_shows_how_it_differs_from_its_parent(path: Path) -> None:
    """The copy is a sibling of what it copies: between it and its parent lies the step that it copied."""
    assert run(["fork", "t", "step:2", "-d", str(path), "--yes"]) == 0
    newest = look(path, lambda session: log(session, "t", everything=True))[0].steps[0]
    assert (newest.source, [change.text for change in newest.changes]) == ("fork", ["log +1 “b”"])


def test_a_reducer_is_named_with_another_that_explains_the_same(tmp_path: Path) -> None:
    """One write to an empty channel fits a last value and an append; neither is said alone."""
    path = tmp_path / "one.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        chain(saver, "a").invoke({"n": 0}, ON)
    view = at(path, replay, "t", to="@")
    assert "log last value or append (1 of 1 step)" in view.reducers


def test_a_message_that_is_not_there_can_not_be_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``add_messages`` raises a ValueError for it, so no update may do it."""
    path = tmp_path / "talk.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = StateGraph(MessagesState)
        graph.add_node("bot", lambda _: {"messages": [AIMessage("hi", id="m1")]})
        graph.add_edge(START, "bot")
        app = graph.compile(checkpointer=saver)
        app.invoke({"messages": [("user", "hello")]}, ON)
        with pytest.raises(ValueError, match="doesn't exist"):
            app.update_state(ON, {"messages": [{"role": "remove", "content": "", "id": "nope"}]})
    write = '{"messages": [{"type": "remove", "id": "nope"}]}'
    assert run(["update", "t", "--as-node", "bot", "--values", write, "-d", str(path), "--yes"]) == 2
    assert "has no message 'nope' to remove" in capsys.readouterr().err


def test_an_error_before_success_is_not_the_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A task that failed first and then finished, while another one waits, is said to have failed before."""
    fails = [True]

    def work(_: Any) -> Any:
        if fails:
            raise ValueError(fails.pop())
        return {"log": ["work"]}

    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        builder = StateGraph(State)
        builder.add_node("work", work)
        builder.add_node("ask", lambda _: {"log": [interrupt("sure?")]})
        builder.add_edge(START, "work")
        builder.add_edge(START, "ask")
        graph = builder.compile(checkpointer=saver)
        with pytest.raises(ValueError, match="True"):
            graph.invoke({"log": ["in"]}, ON)
        graph.invoke(None, ON)
    assert run(["show", "t", "-d", str(path)]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if "ValueError" in line)
    assert line.index("finished") < line.index("failed before, or in its conditional edge:") < line.index("ValueError")


def test_the_end_has_one_name(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A plan says END, as --next does, where no node follows."""
    words = ["update", "t", "--values", '{"n": 1}', "--as-node", "c", "--reducer", "n=last", "--dry-run"]
    assert run([*words, "-d", str(path)]) == 0
    out = capsys.readouterr().out
    assert "as c: then END, as in" in out and "__end__" not in out


def test_a_list_that_grew_without_a_version_has_a_hint() -> None:
    """A Topic that accumulates changes its list in place, so an async run stores later items in an earlier checkpoint.

    So a changed list is suspect. A value that no channel changes in place differs, and has no such hint.
    """
    grown = judge({"top": ["a"]}, {"top": ["a", "b"]}, {}, Reducers())
    other = judge({"top": 1}, {"top": 2}, {}, Reducers())
    assert (grown.verdict, other.verdict) == (Verdict.SUSPECT, Verdict.DIFFERS)
    assert "changes a value in place" in grown.why and "in place" not in other.why


def test_replay_names_only_reducers_of_channels_in_the_played_steps(tmp_path: Path) -> None:
    """Earlier steps are evidence for reducers, but their channels are not part of the answer."""
    path, builder = tmp_path / "t.sqlite", StateGraph(State)
    builder.add_node("a", lambda _: {"n": 1})
    builder.add_node("b", lambda _: {"log": ["b"]})
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        builder.compile(checkpointer=saver).invoke({"log": ["in"], "n": 0}, ON)
    whole, last = at(path, replay, "t", to="@").reducers, at(path, replay, "t", "@^", to="@").reducers
    assert [text.split()[0] for text in sorted(whole)] == ["log", "n"]
    assert last == [text for text in whole if text.startswith("log ")]


def test_no_order_is_said_of_an_error_and_a_question_of_one_node(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A node that asked, was answered, failed and then finished asked and failed; what is stored shows no order."""
    down = [True]

    def asks(_: State) -> State:
        interrupt("sure?")
        if down:
            raise RuntimeError(down.pop())
        return {"log": ["asked"]}

    graph = StateGraph(State)
    graph.add_node("b", asks)
    graph.add_edge(START, "b")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = graph.compile(checkpointer=saver)
        app.invoke({"log": []}, ON)
        with pytest.raises(RuntimeError):
            app.invoke(Command(resume="yes"), ON)
        app.invoke(None, ON)
    assert run(["log", "t", "-d", str(path)]) == 0
    out = capsys.readouterr().out
    assert "b asked and failed, in some order" in out and "then" not in out
