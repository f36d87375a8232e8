"""`ckpt copy --follow`: what an agent writes meanwhile is copied once, until somebody stops the command."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command, interrupt

from ckpt_cli.app import run
from ckpt_cli.commands.copy import copy
from ckpt_cli.conformance.samples import everything
from ckpt_cli.parameters.selector import SelectorOptions
from ckpt_cli.queries.thread_copies import Copies
from ckpt_cli.savers.url import open_database
from ckpt_cli.session import ChangeOptions, Session
from ckpt_cli.views.copy import CopiedView, FollowView
from tests.copying.official import records, states
from tests.graphs.building import line, on
from tests.langgraph.places import places


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of the test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@contextmanager
def following(source: str, target: str, **options: Any) -> Iterator[Iterator[CopiedView]]:
    """What the command prints; taking the next row waits for it."""
    with closing(Session(None, options=ChangeOptions(yes=True), may_change=True)) as session:
        view = copy(session, source, target, follow=True, every=0.1, **options)
        assert isinstance(view, FollowView)
        with closing(view.copies):  # type: ignore[type-var]
            yield view.copies


def asking(saver: Any) -> Any:
    return line(saver, "a", "ask", nodes={"ask": lambda _: {"log": [interrupt("sure?")]}})


@pytest.mark.parametrize("kind", ["sqlite", "postgres", "mongodb"])
def test_what_is_new_is_copied_once(request: pytest.FixtureRequest, kind: str, capsys: Any) -> None:
    """New checkpoints, a new thread, a question and its answer, each in a round; a thread that goes away stays."""
    source, target = places(request, "sqlite")(), places(request, kind)()
    with source.official() as here, target.official() as there:
        graph, other = asking(here), asking(there)
        graph.invoke({"log": ["go"]}, on("old"))
        with following(source.url, target.url) as rows:
            assert next(rows).summary == "3 checkpoints and 5 writes"
            graph.invoke(Command(resume="yes"), on("old"))
            assert next(rows).summary == "1 checkpoint and 3 writes"
            graph.invoke({"log": ["go"]}, on("new"))
            assert (first := next(rows)).thread_id == "new"
            here.delete_thread("old")
            graph.invoke(Command(resume="no"), on("new"))
            assert (second := next(rows)).operation == (first.operation or 0) + 1
            assert records(there, "new", "") == records(here, "new", "")
            assert (
                states(other, "new") == states(graph, "new") and other.get_state(on("old")).values["log"][-1] == "yes"
            )
    capsys.readouterr()
    assert run(["operations", "-d", target.url, "--json"]) == 0
    assert [one["state"] for one in json.loads(capsys.readouterr().out)["operations"]] == ["done"] * 4
    assert second.state == "applied"


def test_a_thread_that_moves_while_it_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A round that the agent spoilt is tried again; only chosen threads are followed."""
    source, target = str(tmp_path / "one.sqlite"), str(tmp_path / "two.sqlite")
    around, spoilt = Copies.around, iter([True])
    with SqliteSaver.from_conn_string(source) as saver:
        graph = line(saver, "a")
        graph.invoke({"log": ["go"]}, on("t-1"))
        with following(source, target, selector=SelectorOptions(match="t-")) as rows:
            next(rows)

            def late(self: Copies, change: Any) -> None:
                if next(spoilt, False):
                    saver.conn.execute("UPDATE writes SET value = x'c0' WHERE idx = 0")
                    saver.conn.commit()
                around(self, change)

            monkeypatch.setattr(Copies, "around", late)
            graph.invoke({"log": ["go"]}, on("other"))
            graph.invoke({"log": ["go"]}, on("t-2"))
            assert next(rows)[1:3] == ("t-2", "applied")
    with closing(open_database(target, print)) as there:
        assert sorted(one.thread_id for one in there.threads()) == ["t-1", "t-2"]


def test_a_thread_that_cannot_be_copied_ends_it(tmp_path: Path, capsys: Any) -> None:
    """Other contents in the target: exit code 7, and with --skip-refused a line for it, once."""
    source, target = str(tmp_path / "one.sqlite"), str(tmp_path / "two.sqlite")
    with SqliteSaver.from_conn_string(source) as saver:
        line(saver, "a").invoke({"log": ["go"]}, on("t"))
        assert run(["copy", source, target, "--yes"]) == 0
        saver.conn.execute("UPDATE writes SET value = x'c0' WHERE idx = 0")
        saver.conn.commit()
        assert run(["copy", source, target, "--follow", "--yes"]) == 7
        assert "with other contents" in capsys.readouterr().out
        with following(source, target, skip_refused=True) as rows:
            assert next(rows).state == "refused"
            line(saver, "a").invoke({"log": ["go"]}, on("u"))
            assert next(rows)[1:3] == ("u", "applied")


def test_killed_and_stopped(tmp_path: Path) -> None:
    """Killed while an agent works, it goes on; Ctrl-C ends it with one line, and the copy is what the source is."""
    source, target = str(tmp_path / "one.sqlite"), str(tmp_path / "two.sqlite")
    words = [sys.executable, "-m", "ckpt_cli", "copy", source, target, "-f", "--every", "0.1", "--yes", "--jsonl"]
    with SqliteSaver.from_conn_string(source) as saver:
        graph = line(saver, "a", "b")
        graph.invoke({"log": ["go"]}, on("t"))
        for _ in range(2):
            process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
            assert process.stdout is not None and json.loads(process.stdout.readline())["state"] == "applied"
            for number in range(5):
                graph.invoke({"log": [number]}, on(f"t-{number}"))
            process.kill()
            process.wait()
            process.stdout.close()
            graph.invoke({"log": ["between"]}, on("t"))
        with subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # which a job in the background ignores
        ) as process:
            graph.invoke({"log": ["last"]}, on("t"))
            deadline = time.monotonic() + 60
            while _contents(target) != _contents(source) and time.monotonic() < deadline:
                time.sleep(0.1)
            os.kill(process.pid, signal.SIGINT)
            _, err = process.communicate()
    assert process.returncode == 130 and "stopped; " in err.splitlines()[-1]
    assert _contents(target) == _contents(source)


def _contents(database: str) -> object:
    with closing(open_database(database, print)) as saver:
        return everything(saver)
