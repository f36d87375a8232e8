"""``ckpt verify`` finds what was planted in a real history: kind, channel and checkpoint, and nothing else."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.app import run
from ckpt_cli.commands.verify import verify
from ckpt_cli.session import Session
from ckpt_cli.views.verify import Finding
from tests.commands.planted import Tables, record_file
from tests.commands.plants import PLANTS, written_value


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The history without a fault."""
    return record_file(tmp_path_factory.mktemp("history") / "t.sqlite").read_bytes()


@pytest.fixture
def path(history: bytes, tmp_path: Path) -> Path:
    """A copy of the history."""
    path = tmp_path / "t.sqlite"
    path.write_bytes(history)
    return path


def found_in(path: Path, **options: Any) -> list[Finding]:
    """What is found in the thread."""
    with closing(Session(str(path))) as session:
        [thread] = verify(session, ["t"], **options).threads
        return thread.findings


@pytest.mark.parametrize("name", PLANTS)
def test_what_was_planted_is_found(name: str, path: Path) -> None:
    """It is found under its kind, at its channel and checkpoint; whatever else is said follows from it."""
    tables = Tables(path)
    planted = PLANTS[name](tables)
    tables.close()
    findings = found_in(path)
    named = [(one.kind, one.verdict, one.channel, at.checkpoint_id) for one in findings for at in one.checkpoints]
    assert planted[:4] in named, named
    assert name != "between" or [one.count for one in findings] == [1]
    others = {one.kind for one in findings} - {planted.kind, *planted.beside}
    assert not others, findings
    wanted = {"differs": 1, "suspect": 0, "unknown": 5 if planted.kind == "unreadable" else 0}[planted.verdict]
    if "delta-gap" in planted.beside:
        wanted = 1
    assert run(["verify", "t", "-d", str(path), "--json"]) == wanted
    assert run(["verify", "t", "-d", str(path), "--strict"]) == (1 if planted.verdict == "suspect" else wanted)


def test_nothing_is_found_where_nothing_was_planted(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each step agrees, with the reducers that the graph has."""
    assert found_in(path) == []
    assert run(["verify", "t", "-d", str(path), "--jsonl", "--strict"]) == 0
    thread = json.loads(capsys.readouterr().out)
    assert thread["verdicts"] == {"agrees": thread["steps"]}
    known = {one["channel"]: one["reducer"] for one in thread["channels"] if not one["graph"]}
    assert known == {"log": "append", "n": "last value", "quiet": "last value or append", "seq": None}


def test_a_named_reducer_proves_what_a_learned_one_suspects(path: Path) -> None:
    """With ``--reducer`` the forged value differs, and names its step alone."""
    tables = Tables(path)
    planted = written_value(tables)
    tables.close()
    [one] = found_in(path, reducer=["n=last"])
    assert (one.kind, one.verdict, one.channel, one.count) == ("value", "differs", "n", 1)
    assert [at.checkpoint_id for at in one.checkpoints] == [planted.checkpoint_id]


def test_an_input_that_was_changed_is_shown_both_ways(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`show` has the input with which a run begins, and what the stored writes say of it."""
    tables = Tables(path)
    planted = PLANTS["input"](tables)
    tables.close()
    assert run(["show", "t", planted.checkpoint_id, "-d", str(path)]) == 0
    said = capsys.readouterr().out
    assert "stored writes" in said
    assert said.index("99") < said.index("stored writes") < said.rindex("5")
