"""Copies are streamed: the log proves rows without their values, many rows go by COPY, none changes on the way."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from ckpt_cli.app import run
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.queries.thread_copies import Copies
from ckpt_cli.savers.digests import Digest
from tests.copying.official import records
from tests.cross.backend import Backend
from tests.graphs.building import line, on
from tests.langgraph.places import places

Captured = pytest.CaptureFixture[str]
LONG = "a long text that is worth a digest " * 4


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def _fill(saver: Any, runs: int) -> None:
    graph = line(saver, "a", "b")
    for number in range(runs):
        graph.invoke({"log": [f"{LONG} {number}"]}, on("t"))


def _source(runs: int = 2) -> None:
    with SqliteSaver.from_conn_string("one.sqlite") as saver:
        _fill(saver, runs)


def test_the_log_has_digests(here: Path, capsys: Captured) -> None:
    """No long value of an added row is in the log; the undo still refuses a row that somebody changed, and no other."""
    _source()
    assert run(["copy", "one.sqlite", "two.sqlite", "--yes"]) == 0
    [path] = here.glob("state/ckpt/*/log.sqlite")
    with closing(OperationLog(path)) as log:
        changes = [one for operation in log.operations_and_parts() for one in log.changes(operation.number)]
        values = [value for one in changes for value in (one.after or {}).values()]
    assert any(isinstance(value, Digest) for value in values)
    assert all(len(value) <= 64 for value in values if isinstance(value, str | bytes))
    with sqlite3.connect("two.sqlite") as connection:
        ((name, old),) = connection.execute("SELECT checkpoint_id, checkpoint FROM checkpoints LIMIT 1").fetchall()
        connection.execute("UPDATE checkpoints SET checkpoint = x'c0' WHERE checkpoint_id = ?", (name,))
    assert run(["undo", "-d", "two.sqlite", "--yes", "--same-database"]) == 7
    assert "changed since by an agent or somebody else" in capsys.readouterr().out
    with sqlite3.connect("two.sqlite") as connection:
        connection.execute("UPDATE checkpoints SET checkpoint = ? WHERE checkpoint_id = ?", (old, name))
    assert run(["undo", "-d", "two.sqlite", "--yes", "--same-database"]) == 0
    capsys.readouterr()
    assert run(["threads", "-d", "two.sqlite", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["threads"] == []


@pytest.mark.parametrize("special", ["", "ALTER TABLE checkpoint_blobs ENABLE ROW LEVEL SECURITY"])
def test_many_rows_into_postgres(request: pytest.FixtureRequest, special: str, capsys: Captured) -> None:
    """By COPY, or by INSERT where COPY would do something else: the official saver lists the same, undo leaves none."""
    _source(25)
    target: Backend = places(request, "postgres")()
    with psycopg.connect(target.url, autocommit=True) as connection:
        connection.execute(special or "SELECT 1")
    assert run(["copy", "one.sqlite", target.url, "--yes"]) == 0, capsys.readouterr().out
    with SqliteSaver.from_conn_string("one.sqlite") as saver, target.official() as there:
        assert len(records(there, "t", "")) == 100
        assert records(there, "t", "") == records(saver, "t", "")
    assert run(["undo", "-d", target.url, "--yes"]) == 0, capsys.readouterr().out
    with psycopg.connect(target.url) as connection:
        tables = ("checkpoints", "checkpoint_writes", "checkpoint_blobs")
        counts = [connection.execute(f"SELECT count(*) FROM {table}").fetchone() for table in tables]
        assert counts == [(0,), (0,), (0,)]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_source_that_changes(
    request: pytest.FixtureRequest, kind: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """Records that are read twice and aren't what was planned refuse their thread, of which nothing is written."""
    monkeypatch.setattr("ckpt_cli.operations.change_spool._MOST", 1000)
    _source(25)
    target: Backend = places(request, kind)()
    _change_late(monkeypatch)
    run(["copy", "one.sqlite", target.url, "--yes", "--json"])
    [thread] = json.loads(capsys.readouterr().out)["threads"]
    assert (thread["state"], thread["problem"]) == ("refused", "thread 't' changed while the plan was applied")
    with closing(target.saver()) as saver:
        assert not list(saver.threads())


@pytest.mark.parametrize("kind", ["sqlite", "postgres", "mysql"])
def test_a_source_that_changes_behind_its_plan(
    request: pytest.FixtureRequest, kind: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """Records that were read once are written as they were then, and the copy says that the thread went on."""
    _source(25)
    with SqliteSaver.from_conn_string("one.sqlite") as saver:
        planned = records(saver, "t", "")
    target: Backend = places(request, kind)()
    _change_late(monkeypatch)
    assert run(["copy", "one.sqlite", target.url, "--yes"]) == 0
    assert "thread 't' went on meanwhile" in capsys.readouterr().err
    with target.official() as there:
        assert records(there, "t", "") == planned


def _change_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Change writes of the source between the plan and the transaction."""
    around = Copies.around

    def late(self: Copies, change: Callable[[], None]) -> None:
        with sqlite3.connect("one.sqlite") as connection:
            connection.execute("UPDATE writes SET value = x'c0' WHERE idx = 1")
        around(self, change)

    monkeypatch.setattr(Copies, "around", late)


@pytest.mark.parametrize(("words", "code"), [([], 8), (["--no-check"], 0)])
@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("sqlite", "UPDATE writes SET value = x'c0' WHERE idx = 1"),
        ("postgres", "UPDATE checkpoint_blobs SET blob = blob || 'x'::bytea WHERE octet_length(blob) > 64"),
        ("postgres", "UPDATE checkpoint_blobs SET type = 'json'"),
        ("postgres", "UPDATE checkpoint_writes SET blob = 'x'::bytea WHERE octet_length(blob) > 64"),
        ("mysql", "UPDATE checkpoint_blobs SET `blob` = concat(`blob`, 'x') WHERE length(`blob`) > 64"),
    ],
)
def test_what_was_written_is_read_back(
    request: pytest.FixtureRequest,
    kind: str,
    change: str,
    words: list[str],
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Captured,
) -> None:
    """A row that isn't what was written fails the copy, and the error names the undo; `--no-check` doesn't look."""
    _source()
    target: Backend = places(request, kind)()
    around = Copies.around

    def spoilt(self: Copies, work: Callable[[], None]) -> None:
        around(self, work)
        with target.official() as saver:
            there: Any = saver
            there.conn.cursor().execute(change)
            there.conn.commit()

    monkeypatch.setattr(Copies, "around", spoilt)
    assert run(["copy", "one.sqlite", target.url, "--yes", *words]) == code
    assert ("a row isn't what was written" in capsys.readouterr().err) is bool(code)


def test_blobs_that_are_there_already(
    request: pytest.FixtureRequest, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """Blobs without checkpoints count as something of a thread; a copy needs them, and doesn't write them again."""
    _source(5)
    target: Backend = places(request, "postgres")()
    assert run(["copy", "one.sqlite", target.url, "--yes", "--json"]) == 0
    rows = {row["table"]: row["rows"] for row in json.loads(capsys.readouterr().out)["rows"]}
    with psycopg.connect(target.url, autocommit=True) as connection:
        connection.execute("DELETE FROM checkpoints")
        connection.execute("DELETE FROM checkpoint_writes")
        connection.execute("DELETE FROM checkpoint_blobs WHERE ctid NOT IN (SELECT ctid FROM checkpoint_blobs LIMIT 2)")
    with closing(target.saver()) as saver:
        assert saver.moment(lambda: saver.has_rows("t"))
        assert not saver.moment(lambda: saver.has_rows("other"))
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "another log"))  # nothing is left that proves the first
    assert run(["copy", "one.sqlite", target.url, "--yes", "--json"]) == 0
    again = {row["table"]: row["rows"] for row in json.loads(capsys.readouterr().out)["rows"]}
    assert again == {**rows, "checkpoint_blobs": rows["checkpoint_blobs"] - 2}
    with SqliteSaver.from_conn_string("one.sqlite") as saver, target.official() as there:
        assert records(there, "t", "") == records(saver, "t", "")
