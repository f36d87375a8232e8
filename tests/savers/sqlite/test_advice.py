"""What `stats --advise` prints for a file: each line runs in a shell as it is printed."""

import shlex
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ckpt_cli.app import run
from ckpt_cli.conformance.records import checkpoint
from ckpt_cli.model import Plan
from ckpt_cli.savers.measures import Figures, Space
from ckpt_cli.savers.sqlite import create
from ckpt_cli.savers.sqlite.saver import open_file

GIB = 1 << 30
LARGE = Figures(threads=10**6, checkpoints=10**7, writes=10**7, bytes=100 * GIB, repeated=90 * GIB)
SMALL = Figures(threads=1, checkpoints=1, writes=1, bytes=1000, repeated=0)
BESIDE = {"auto_vacuum": "none", "journal_mode": "rollback"}
HOLLOW = Space(100 * GIB, 90 * GIB, "", settings=BESIDE)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file whose name a shell would split, expand and end."""
    path = tmp_path / "an agent's $HOME; #1.sqlite"
    with closing(create(path)) as saver:
        saver.apply(Plan("records", (checkpoint("old", "1ef00000-0000-6000-8000-000000000000"),)))
    return path


def test_each_line_runs(path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """As the shell splits it: statements run in sqlite3, ckpt's own commands in ckpt; the advice is about this file."""
    with closing(open_file(path)) as saver:
        lines = [line for one in saver.advice(HOLLOW, LARGE) for line in one.commands]
    words = [shlex.split(line, comments=True) for line in lines]
    statements = [statement for program, _, statement in (one for one in words if one[0] == "sqlite3")]
    assert statements == ["VACUUM", "PRAGMA journal_mode=WAL"]
    assert {one[1] for one in words if one[0] == "sqlite3"} == {str(path)}
    for statement in statements:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(statement)
    with closing(open_file(path)) as saver:
        assert saver.space().settings["journal_mode"] == "wal"
    monkeypatch.setenv("CKPT_DB", str(path))
    own = [one[1:] for one in words if one[0] == "ckpt"]
    assert own
    for parameters in own:
        assert run(parameters) == 0
        assert "old" in capsys.readouterr().out


def test_nothing_is_said_without_need(path: Path) -> None:
    """A small file needs nothing; one without free space needs no VACUUM; one with a WAL needs none."""
    with closing(open_file(path)) as saver:
        assert list(saver.advice(saver.space(), SMALL)) == []
        full = Space(100 * GIB, 0, "", settings={**BESIDE, "journal_mode": "wal"})
        assert not [line for one in saver.advice(full, LARGE) for line in one.commands if "sqlite3" in line]
