"""Reducers that a person names once for a database: remembered beside tags, used, listed, forgotten."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from ckpt_cli.app import run
from tests.graphs.scored import Best, scored
from tests.operations.databases import dump
from tests.operations.old_logs import take_back_to
from tests.test_completion import complete

Ckpt = Callable[..., Any]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database of two threads whose reducer ckpt doesn't know, and a folder for its operation log."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "scores.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        for name in ("mine", "other"):
            scored(SqliteSaver(connection), name, 0.9, 0.2, schema=Best)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


@pytest.fixture
def ckpt(path: Path, capsys: pytest.CaptureFixture[str]) -> Ckpt:
    """Runs a command line; gives its JSON if it succeeds, else its exit code and stderr."""

    def go(*words: str, at: Path = path) -> Any:
        capsys.readouterr()
        code = run([*words, "-d", str(at), "--json"])
        caught = capsys.readouterr()
        return json.loads(caught.out) if code == 0 else (code, caught.err)

    return go


UPDATE = ["--values", '{"score": 0.5}', "--as-node", "judge"]
LAST = ["--reducer", "score=last"]


def test_a_reducer_is_remembered_used_listed_and_forgotten(ckpt: Ckpt, path: Path) -> None:
    """By update once it is applied; then for every thread, unless another one is named; the database gets no row."""
    code, refusal = ckpt("update", "mine", *UPDATE, "--dry-run")
    assert (code, "--remember" in refusal, "ckpt edit mine --set score=JSON" in refusal) == (7, True, True)
    plan = ckpt("update", "mine", *UPDATE, *LAST, "--remember", "--dry-run")
    assert "remembers for this database: score last value" in plan["notes"]
    assert ckpt("info")["reducers"] == {}
    assert ckpt("update", "mine", *UPDATE, *LAST, "--remember", "--yes")["applied"] is True
    assert ckpt("info")["reducers"] == ckpt("operations")["reducers"] == {"score": "last value"}
    before = dump(path)
    assert "reducers: score last value (remembered)" in ckpt("update", "other", *UPDATE, "--dry-run")["notes"]
    said = ckpt("update", "other", *UPDATE, "--reducer", "score=sum", "--dry-run")["notes"]
    assert "reducers: score sum (as you say)" in said
    text = ckpt(
        "update",
        "other",
        "--values",
        '{"score": 1}',
        "--as-node",
        "judge",
        "--reducer",
        "score=set",
        "--remember",
        "--yes",
    )
    assert text[0] == 2 and ckpt("info")["reducers"] == {"score": "last value"}
    assert ckpt("operations", "--forget-reducer", "score", "--forget-reducer", "scores")[0] == 4
    assert ckpt("operations", "--forget-reducer", "score")["reducers"] == {}
    assert ckpt("update", "other", *UPDATE, "--dry-run")[0] == 7
    assert dump(path) == before


def test_a_misspelled_channel_is_named(ckpt: Ckpt) -> None:
    """The plan says that a named reducer isn't used where the thread has no such channel; not of a remembered one."""
    misspelled = ["--reducer", "scores=last"]
    said = "this thread has no channel scores: what --reducer says of it isn't used"
    assert said in ckpt("update", "mine", *UPDATE, *LAST, *misspelled, "--remember", "--yes")["notes"]
    assert not any("isn't used" in note for note in ckpt("update", "other", *UPDATE, "--dry-run")["notes"])


def test_replay_remembers_without_a_change_and_judges_by_it(ckpt: Ckpt, path: Path) -> None:
    """A look with --remember writes the log's file alone, with --dry-run nothing; a step then differs, as if named."""
    before = path.read_bytes()
    state = path.parent / "state"
    assert {step["verdict"] for step in ckpt("replay", "mine", "--to", "@")["steps"]} == {"agrees", "unknown"}
    ckpt("replay", "mine", "--to", "@", *LAST, "--remember", "--dry-run")
    assert not state.exists()
    ckpt("replay", "mine", *LAST, "--remember")
    view = ckpt("replay", "other", "--to", "@")
    assert view["reducers"][0] == "score last value (remembered)"
    assert [step["otherwise"] for step in view["steps"] if step["verdict"] == "differs"] == [["score"]]
    assert "not what last value makes" in [step["why"] for step in view["steps"]][-1]
    assert path.read_bytes() == before
    assert ckpt("replay", "mine", "--remember")[0] == 2
    assert complete("bash", "ckpt operations --forget-reducer ", CKPT_DB=str(path)) == ["score"]
    assert complete("fish", "ckpt update mine --reducer ", CKPT_DB=str(path)) == ["given=", "score="]
    assert "score=append" in complete("fish", "ckpt update mine --reducer score=", CKPT_DB=str(path))


def test_a_moved_database_keeps_its_reducers_and_a_copy_has_none(ckpt: Ckpt, path: Path) -> None:
    """As with tags: the log is found by its witnesses."""
    ckpt("replay", "mine", *LAST, "--remember")
    copy, moved = path.with_name("copy.sqlite"), path.with_name("moved.sqlite")
    shutil.copy(path, copy)
    assert ckpt("info", at=copy)["reducers"] == {}
    assert ckpt("operations", "--forget-reducer", "score", at=copy)[0] == 7
    copy.unlink()
    path.rename(moved)
    assert ckpt("info", at=moved)["reducers"] == {"score": "last value"}


def test_a_log_of_an_earlier_version_remembers_from_its_next_write(ckpt: Ckpt, path: Path) -> None:
    """Reading leaves it as it is: it has no reducers, and its tags stay."""
    ckpt("tag", "mine", "@", "good")
    log = Path(ckpt("operations")["log"])
    take_back_to(2, log)
    before = log.read_bytes()
    assert (ckpt("info")["reducers"], ckpt("operations", "--forget-reducer", "score")[0]) == ({}, 4)
    assert log.read_bytes() == before
    ckpt("replay", "mine", *LAST, "--remember")
    assert ckpt("info")["reducers"] == {"score": "last value"}
    assert [tag["name"] for tag in ckpt("tag", "--list")["tags"]] == ["good"]


def test_a_remembered_reducer_that_does_not_fit_says_how_to_forget_it(ckpt: Ckpt) -> None:
    """Otherwise a person couldn't know why a reducer counts that this command didn't name."""
    ckpt("replay", "mine", "--reducer", "score=dict", "--remember")
    code, refusal = ckpt("update", "other", *UPDATE, "--dry-run")
    assert (code, "ckpt operations --forget-reducer score" in refusal) == (2, True)
