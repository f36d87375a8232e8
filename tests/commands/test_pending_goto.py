"""What commands say about a Command's goto that no step has taken in; `tests/twins/test_goto.py` compares with runs."""

import re
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from ckpt_cli.app import run
from ckpt_cli.commands.graph import graph
from ckpt_cli.commands.resume import resume
from ckpt_cli.commands.trace import trace
from ckpt_cli.output.line import Page, plain
from ckpt_cli.output.text import graph as graph_text
from ckpt_cli.output.text import trace as trace_text
from ckpt_cli.output.text.resume import render
from tests.commands.asking import at
from tests.twins.goto_threads import Mood, build, make, on

LEFT = "the goto of a Command that no step has used yet is not copied: b"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with all the threads."""
    with closing(sqlite3.connect(tmp_path / "t.sqlite", check_same_thread=False)) as database:
        make(SqliteSaver(database))
    return tmp_path / "t.sqlite"


def said(path: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command prints and says."""
    capsys.readouterr()
    run([*words, "-d", str(path)])
    printed = capsys.readouterr()
    return printed.out + printed.err


@pytest.mark.parametrize(
    "words",
    [["fork", "@"], ["fork", "@", "--to", "new"], ["rollback", "@"], ["edit", "--set", "n=9"]],
    ids=["fork", "fork --to", "rollback", "edit"],
)
def test_a_copy_says_what_it_leaves_behind(path: Path, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    """Values and goto of the Command, and what the goto started; nothing else runs next."""
    verb, *rest = words
    text = said(path, capsys, verb, "fails with values", *rest, "--dry-run")
    assert "values of a Command that no step has used yet are not copied: n" in text
    assert LEFT in text and "left behind: b (failed), which a Command's goto started" in text
    assert "nothing runs next" in text


def test_pending_writes_that_are_taken_along_are_not_left(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A copy with its pending writes has the goto, and its task."""
    text = said(path, capsys, "fork", "asks", "@", "--to", "new", "--with-pending", "--dry-run")
    assert "next: b" in text and LEFT not in text


def test_an_edit_does_not_lose_what_a_goto_has_finished(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is refused; with --rerun the plan names it."""
    words = ["edit", "finished beside a question", "--set", "n=9", "--dry-run"]
    assert "d finished, which a Command's goto started" in said(path, capsys, *words)
    assert "left behind: d (finished)" in said(path, capsys, *words, "--rerun")


def test_replay_says_what_commit_does_not_keep(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The task that a goto started and that finished is among the tasks; `--commit` leaves it behind and says so."""
    words = ["replay", "finished beside a question", "--reducer", "log=append"]
    assert "d\tfinished\tkept" in said(path, capsys, *words)
    assert "left behind: d (finished)" in said(path, capsys, *words, "--commit", "--dry-run")


@pytest.mark.parametrize(("answer", "due"), [("no", ["b"]), ("yes", [])])
def test_commit_must_know_whether_a_node_is_deferred(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], answer: str, due: list[str]
) -> None:
    """If nothing shows it, nothing is written; what a person says decides what runs next."""
    path = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as database:
        make(SqliteSaver(database))
        for table in ("writes", "checkpoints"):
            database.execute(f"DELETE FROM {table} WHERE thread_id != 'killed in a node''s first run'")
        database.commit()
    words = ["replay", "killed in a node's first run", "--commit", "--yes"]
    assert "add --deferred b=no, or =yes" in said(path, capsys, *words)
    shown = said(path, capsys, *words, "--deferred", f"b={answer}")
    assert ("next: b" in shown) == bool(due) and ("nothing runs next" in shown) == (not due)


def test_a_waiting_thread_is_not_deleted_as_done(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`delete --status done` leaves it, and `resume` answers it."""
    said(path, capsys, "delete", "--status", "done", "--yes")
    assert "asks" in said(path, capsys, "threads", "--status", "waiting")
    assert "nothing waits" not in said(path, capsys, "resume", "asks", "--value", "yes", "--yes")


def test_trace_names_the_goto_that_the_next_run_follows(path: Path) -> None:
    """At the checkpoint where it waits, and at no step of a run that followed it."""
    for thread_id, words in (
        ("asks", "goto b"),
        ("fails with values", "n, goto b"),
        ("killed in a known node", "goto b"),
    ):
        view = at(path, trace, thread_id, steps=True)
        *earlier, last = view.steps
        assert [step.command for step in earlier] == [None] * len(earlier) and last.made is None
        shown = [plain(line) for line in trace_text.render(view, Page(120, 0.0))]
        assert [line for line in shown if f"pending Command: {words}" in line] == [
            line for line in shown if "(Command input)" in line
        ]
    with closing(sqlite3.connect(path, check_same_thread=False)) as database:
        graph = build(SqliteSaver(database), Mood())
        graph.invoke(None, on("killed in a known node"))
        assert graph.get_state(on("killed in a known node")).values["log"][-1] == "b"
    assert [step.command for step in at(path, trace, "killed in a known node", steps=True).steps] == [None] * 4


@pytest.mark.parametrize("is_hint", [False, True])
@pytest.mark.parametrize("thread_id", ["fails", "fails with values"])
def test_after_the_commands_that_resume_names_the_failed_node_runs(
    path: Path, capsys: pytest.CaptureFixture[str], thread_id: str, is_hint: bool
) -> None:
    """Of a failed task that a goto started: no command is named that loses the goto."""
    if is_hint:
        named = re.findall(
            r"`ckpt ([^`]+)`", said(path, capsys, "resume", thread_id, "--value", "1").replace("\n", " ")
        )
    else:
        named = re.findall(r"ckpt (.+)", "\n".join(map(plain, render(at(path, resume, thread_id), Page(200, 0)))))
    assert named[0].startswith("replay")
    for words in named:
        said(path, capsys, *shlex.split(words), *(["--yes"] if words.startswith("fork") else []))
    with closing(sqlite3.connect(path, check_same_thread=False)) as database:
        build(SqliteSaver(database), mood := Mood()).invoke(None, on(thread_id))
    assert mood.ran == ["b"]


def test_the_rows_of_log_and_tree_show_a_pending_command(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its channels and its goto, beside the head; the thread whose next step took it in shows none."""
    for verb in ("log", "tree"):
        assert "pending Command: n, goto b" in said(path, capsys, verb, "fails with values")
        assert "pending Command: log" in said(path, capsys, verb, "the end")
        assert "pending Command" not in said(path, capsys, verb, "Sends are replaced")


def test_a_drawn_graph_does_not_say_that_a_killed_node_never_ran(path: Path) -> None:
    """The node b ran and left nothing; only that no run of it is stored is so."""
    text = "\n".join(map(plain, graph_text.render(at(path, graph, ["killed in a node's first run"]), Page(100, 0))))
    assert "b  no run stored" in text and "not run" not in text
