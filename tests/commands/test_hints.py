"""What ckpt says when something isn't there: whose log it read, how far it looked, which thread was meant."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run
from ckpt_cli.errors import UsageError
from ckpt_cli.output.line import Page, plain
from ckpt_cli.output.printer import render
from ckpt_cli.output.text.values import block
from ckpt_cli.parameters.statuses import StatusOption
from ckpt_cli.plans import other_threads
from ckpt_cli.values.decisions import Decision, decide
from ckpt_cli.values.questions import tool_question
from tests.commands.asking import look
from tests.commands.listing import threads
from tests.graphs.building import Bag, line, on
from tests.graphs.waiting import until_stored

Said = Callable[..., str]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "agent.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        for thread_id in ("75051d85-06e9-46c4-8001-087864221aaa", "wait-25", "wait-29"):
            line(SqliteSaver(connection), "a").invoke({"log": ["in"]}, on(thread_id))
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


@pytest.fixture
def said(path: Path, capsys: pytest.CaptureFixture[str]) -> Said:
    """Runs a command line and gives what it printed."""

    def go(*words: str, code: int = 0) -> str:
        assert run([*words, "-d", str(path)]) == code
        printed = capsys.readouterr()
        return printed.out + printed.err

    return go


def test_another_users_log(said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What somebody else did and deleted isn't called undone or unknown: their log may have it."""
    said("delete", "wait-25", "--yes")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another user"))
    assert "in this user's log (" in said("undo", code=4)
    assert "another user" in said("undo", code=4)
    missing = said("delete", "wait-25", "--forget", "--dry-run", code=4)
    assert "the log of whoever deleted it may still have it" in missing
    assert "operation logs of other users" in said("delete", "wait-29", "--forget", "--dry-run")


@pytest.mark.parametrize("length", [8, 23])
def test_a_thread_by_the_start_of_its_id(length: int, said: Said) -> None:
    """The start of an id is no id, but the thread that was meant is named whole."""
    whole = "75051d85-06e9-46c4-8001-087864221aaa"
    assert f"did you mean {whole}?" in said("show", whole[:length], code=4)


@pytest.mark.parametrize(
    "words",
    [
        ["resume", "wait-999"],
        ["resume", "wait-999", "--approve"],
        ["resume", "wait-999", "-i", "x=1", "--ns", "sub"],
        ["edit", "wait-999", "--set", "n=1"],
        ["edit", "wait-999", "--task", "a", "--set", "n=1"],
        ["update", "wait-999", "--as-node", "a", "--values", "{}"],
        ["fork", "wait-999", "@"],
        ["fork", "wait-999", "@", "--to", "copy"],
        ["rollback", "wait-999", "@"],
        ["replay", "wait-999"],
        ["tag", "wait-999", "@", "x"],
        ["writes", "wait-999"],
        ["log", "wait-999"],
        ["tree", "wait-999"],
    ],
)
def test_a_thread_that_is_not_there(words: list[str], said: Said) -> None:
    """Every verb says that there is no such thread, and speaks of no namespace that nobody named."""
    text = said(*words, code=4)
    assert "no thread 'wait-999'" in text and "did you mean wait-" in text and "namespace" not in text


def test_a_bounded_search_says_so(path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    """If a limit left threads unread, `replay` doesn't say that no recorded step shows a channel."""

    def fail(state: Any) -> Any:
        until_stored(saver)
        raise ValueError("down")

    builder = StateGraph(Bag)
    builder.add_node("first", lambda state: {"log": ["first"]})
    builder.add_edge(START, "first")
    for name, node in (("a", lambda state: {"n": 1}), ("b", fail)):
        builder.add_node(name, node)
        builder.add_edge("first", name)
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        saver = SqliteSaver(connection)
        for thread_id in ("failed-1", "failed-2"):
            with suppress(ValueError):
                builder.compile(checkpointer=saver).invoke({"log": ["in"]}, on(thread_id))
    unknown = []
    for limit in (other_threads.THREADS, 0):
        monkeypatch.setattr(other_threads, "THREADS", limit)
        assert run(["replay", "failed-1", "-d", str(path), "--json"]) == 0
        unknown.append(json.loads(capsys.readouterr().out)["unknown"]["n"])
    assert unknown[0].startswith("no step of this thread, or of one known to be of its graph, shows")
    assert unknown[1].startswith("neither this thread nor the newest 50 others, as far as they were read, show")


def test_a_thread_in_the_place_of_a_revision(said: Said) -> None:
    """`diff A B` with two threads says how to compare their heads, and that command works."""
    assert "wait-29 is a thread: wait-29:@ names its head" in said("diff", "wait-25", "wait-29", code=4)
    assert json.loads(said("diff", "wait-25", "@", "wait-29:@", "--json"))["after"]["thread_id"] == "wait-29"


def test_the_newest_operations(said: Said) -> None:
    """`operations -n 1` lists only the newest; it says nothing about what --prune forgets."""
    for thread_id in ("wait-25", "wait-29"):
        said("delete", thread_id, "--yes")
    listed = json.loads(said("operations", "-n", "1", "--json"))["operations"]
    assert [one["number"] for one in listed] == [2]
    said("operations", "-n", "1", "--prune", "--keep", "1", code=2)


def test_calls_to_decide_in_order_have_their_arguments() -> None:
    """One decision for several calls is refused with each call's number and arguments."""
    calls = [{"name": "delete_user", "args": {"name": name}} for name in ("bob", "eve")]
    rules = [{"action_name": "delete_user", "allowed_decisions": ["approve", "reject"]}]
    asked = tool_question({"action_requests": calls, "review_configs": rules})
    assert asked is not None
    with pytest.raises(UsageError) as refused:
        decide(asked, Decision("approve"))
    assert refused.value.candidates == (
        '1. delete_user {"name": "bob"}  approve/reject',
        '2. delete_user {"name": "eve"}  approve/reject',
    )


def test_a_huge_text_hides_nothing(path: Path) -> None:
    """Two lines of a text of a million characters, then its size; `--full` shows all of it."""
    text = "word " * 200_000
    assert len(list(block(text, Page(80, 0)))) == 3
    assert len(list(block(text, Page(80, 0), full=True))) > 10_000


def test_one_of_many_threads_is_one(path: Path) -> None:
    """The heading of `threads -n 1` has the singular."""
    view, _ = look(path, lambda session: threads(session, limit=1, status=[StatusOption.DONE]))
    assert "more than 1 thread ·" in plain(next(iter(render(view, Page(80, 0)))))


def test_a_file_is_no_thread(said: Said) -> None:
    """`fork --to FILE` says that it makes a thread; other names are taken without a word."""
    assert "copy.sqlite is the id of a new thread" in said("fork", "wait-25", "@", "--to", "copy.sqlite", "--dry-run")
    assert "is the id of" not in said("fork", "wait-25", "@", "--to", "copy", "--dry-run")
