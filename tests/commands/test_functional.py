"""Threads of the functional API: what can't be done there, and what is named instead."""

import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import entrypoint
from langgraph.types import Command, interrupt

from ckpt_cli.app import run
from ckpt_cli.commands.replay import replay
from ckpt_cli.output.line import Page, plain
from ckpt_cli.output.text.replay import render
from tests import golden
from tests.commands.asking import at
from tests.cross.pending import flow
from tests.graphs.building import on

GIVEN = ["--values", '{"x": 1}', "--reducer", "x=last"]


def test_a_functional_thread_is_refused_with_a_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From its first checkpoint on, with commands that work there."""
    path = tmp_path / "flow.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        _refuse_steps(path, SqliteSaver(connection), capsys)


def _refuse_steps(path: Path, saver: SqliteSaver, capsys: pytest.CaptureFixture[str]) -> None:
    @entrypoint(checkpointer=saver)
    def flow(given: int, *, previous: int | None = None) -> int:
        return given + (previous or 0) + (interrupt("sure?") if given == 1 else 0)

    flow.invoke(1, on("asks"))
    flow.invoke(2, on("saved"))
    for thread in ("asks", "saved"):
        for words in (["replay", thread, "--commit"], ["update", thread, "--as-node", "flow", "--next", "END", *GIVEN]):
            assert run([*words, "-d", str(path)]) == 6
            caught = capsys.readouterr()
            assert "not of the functional API (@entrypoint)" in caught.err
            assert "`ckpt edit` changes what was saved, `ckpt resume` answers a question" in caught.err
    assert run(["edit", "saved", "--set", "__previous__=40", "--yes", "-d", str(path)]) == 0
    assert flow.invoke(2, on("saved")) == 42
    assert run(["resume", "asks", "--value", "5", "--yes", "-d", str(path)]) == 0
    assert flow.invoke(None, on("asks")) == 6


def test_a_replay_gives_the_tasks_and_says_what_it_can_not_compute(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who waits and who failed is shown, as the library's next run finds it; the state after it is named as unknown."""
    path = tmp_path / "flow.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:

        @entrypoint(checkpointer=SqliteSaver(connection))
        def flow(given: int) -> int:
            if given == 0:
                raise ValueError("no")
            return given + (interrupt("sure?") if given == 1 else 0)

        with suppress(ValueError):
            flow.invoke(0, on("failed"))
        flow.invoke(1, on("waiting"))
        flow.invoke(2, on("done"))
        due = {thread: flow.get_state(on(thread)).next for thread in ("failed", "waiting", "done")}
    for thread, nodes in due.items():
        assert run(["replay", thread, "--json", "-d", str(path)]) == 0
        view, said = json.loads((caught := capsys.readouterr()).out), caught.err
        tasks = [(task["node"], task["status"], task["again"]) for task in view["tasks"]]
        assert tasks == [(node, thread, True) for node in nodes]
        assert ("not of the functional API (@entrypoint)" in view["unplayed"]) == bool(nodes)
        assert "nothing was written" not in said and (view["changes"], view["next"]) == ([], None)
        text = " ".join(plain(line) for line in render(at(path, replay, thread), Page(width=100, now=golden.NOW)))
        assert ("The state after the step can't be computed: a step can only" in text) == bool(nodes)
        assert "--commit" not in text


def test_what_was_saved_is_found_by_its_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A key of the saved value is no channel; the hint has the path that leads to it, and it changes the next run."""
    path = tmp_path / "flow.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:

        @entrypoint(checkpointer=SqliteSaver(connection))
        def count(given: int, *, previous: dict[str, int] | None = None) -> dict[str, int]:
            return {"n": given + (previous or {"n": 0})["n"]}

        count.invoke(1, on("t"))
        assert run(["edit", "t", "--set", "n=5", "-d", str(path)]) == 4
        assert "did you mean __previous__.n?" in capsys.readouterr().err
        assert run(["edit", "t", "--set", "__previous__.n=5", "--yes", "-d", str(path)]) == 0
        assert count.invoke(1, on("t")) == {"n": 6}


def test_results_of_calls_that_a_copy_takes_along_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The run of the copy doesn't make the calls that had finished, as the plan says."""
    path, ran = tmp_path / "flow.sqlite", list[str]()
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        saver = SqliteSaver(connection)
        flow(saver, ran).invoke(3, on("t"))
        assert run(["fork", "t", "@", "--to", "copy", "--with-pending", "--yes", "-d", str(path)]) == 0
        assert "taken along: main (waiting), the results of 2 calls of main\n" in capsys.readouterr().out
        ran.clear()
        assert flow(saver, ran).invoke(Command(resume="yes"), on("copy")) == [6, 8, "yes"]
    assert ran == ["main"]


def test_what_runs_next_after_a_kill_is_called_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only the input is stored, and nothing names the entrypoint, which LangGraph runs next; `threads` says no more."""
    with SqliteSaver.from_conn_string(str(path := tmp_path / "flow.sqlite")) as saver:

        @entrypoint(checkpointer=saver)
        def killed(given: int) -> int:
            return given

        killed.invoke(1, on("t"), durability="sync")
        with saver.conn as connection:
            connection.execute("DELETE FROM writes")
            connection.execute(
                "DELETE FROM checkpoints WHERE checkpoint_id > (SELECT min(checkpoint_id) FROM checkpoints)"
            )
        assert killed.get_state(on("t")).next == ("killed",)
    capsys.readouterr()
    assert run(["threads", "-d", str(path)]) == 0
    said = capsys.readouterr().out
    assert said.rstrip("\n").endswith("\tnext: unknown") and "no task is left" not in said


def test_the_entrypoint_that_an_update_acted_as_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`update_state` while it asks stores its writes under the task that asked, before the question in their order."""
    with SqliteSaver.from_conn_string(str(path := tmp_path / "flow.sqlite")) as saver:

        @entrypoint(checkpointer=saver)
        def asks(given: int) -> int:
            return given + int(interrupt("sure?"))

        asks.invoke(1, on("t"))
        asks.update_state(on("t"), 5)
        asked = list(asks.get_state_history(on("t")))[-1]
    assert [one.name for one in asked.tasks] == ["asks"]
    assert run(["show", "t", asked.config["configurable"]["checkpoint_id"], "-d", str(path)]) == 0
    said = capsys.readouterr().out
    assert "asks" in said and "unknown" not in said
