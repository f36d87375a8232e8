"""Defaults that LangGraph.js stores in checkpoints without a version."""

from pathlib import Path

import pytest

from ckpt_cli.app import run
from tests.commands.javascript import checkpoint, database

FIRST, SECOND, THIRD = (
    "1f1ecbc4-449f-63a0-ffff-4d2a83f8beff",
    "1f1ecbc4-44d7-6610-8000-0aa2ba945682",
    "1f1ecbc4-44f2-63c0-8001-c2f821bb0b24",
)
INPUT, TASK = "83a7641a-26ae-5f81-ac04-e24b7308695c", "9ad1d399-e365-59f1-b252-5f8826b29a77"


def budget(path: Path, default: object, wrote: object, then: object) -> Path:
    """The thread of a graph with ``budget: Annotation({reducer, default})`` after one run, as 1.7.3 wrote it."""
    seen = {"__start__": {"__start__": 1}}
    versions = {"__start__": 2, "q": 2, "branch:to:a": 2}
    return database(
        path,
        checkpoint(
            FIRST,
            -1,
            {"budget": default, "__start__": {"q": "hi"}, "__pregel_tasks": []},
            {"__start__": 1},
            {},
            (INPUT, 0, "q", "hi"),
            (INPUT, 1, "branch:to:a", None),
        ),
        checkpoint(
            SECOND,
            0,
            {"q": "hi", "budget": default, "__pregel_tasks": [], "branch:to:a": None},
            versions,
            seen,
            (TASK, 0, "budget", wrote),
        ),
        checkpoint(
            THIRD,
            1,
            {"q": "hi", "budget": then, "__pregel_tasks": []},
            {**versions, "branch:to:a": 3, "budget": 3},
            {**seen, "a": {"branch:to:a": 2}},
        ),
    )


@pytest.mark.parametrize(("default", "wrote", "then"), [(50, -5, 45), ("std", "vip", "vip"), (1e9, 3, 3)])
def test_a_default_is_no_change(
    default: object, wrote: object, then: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`verify` and `replay --to` agree with a default that nothing wrote: the channel begins with it."""
    path = budget(tmp_path / "js.sqlite", default, wrote, then)
    assert run(["verify", "t", "-d", str(path), "--strict"]) == 0
    assert "3 agrees" in capsys.readouterr().out
    assert run(["replay", "t", "--to", "@", "-d", str(path)]) == 0
    assert "differs" not in capsys.readouterr().out


def test_a_map_as_default(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is suspect where the default is an object, which code could change in place."""
    js_map = {"lc": 2, "type": "constructor", "id": ["Map"], "method": None, "args": [[]], "kwargs": {}}
    path = budget(tmp_path / "js.sqlite", js_map, [["k", 1]], {**js_map, "args": [[["k", 1]]]})
    assert run(["verify", "t", "-d", str(path)]) == 0
    assert "suspect" not in capsys.readouterr().out


def test_a_default_of_a_later_deployment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A channel that comes without a version in a later checkpoint is unknown: new code and an edit leave that."""
    seen, versions = {"__start__": {"__start__": 1}}, {"__start__": 2, "q": 2}
    path = database(
        tmp_path / "js.sqlite",
        checkpoint(
            FIRST, -1, {"__start__": {"q": "hi"}, "__pregel_tasks": []}, {"__start__": 1}, {}, (INPUT, 0, "q", "hi")
        ),
        checkpoint(SECOND, 0, {"q": "hi", "level": "std", "__pregel_tasks": []}, versions, seen),
    )
    assert run(["verify", "t", "-d", str(path)]) == 0
    assert "unknown\tchanged-without-version\tlevel" in capsys.readouterr().out


def test_pythons_state_has_no_value_without_a_version(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a thread of Python such a value differs: it stores none (1.2 ``pregel/_checkpoint.py: create_checkpoint``)."""
    body, metadata, writes = checkpoint(FIRST, -1, {"budget": 50}, {"__start__": 1}, {})
    path = database(tmp_path / "py.sqlite", ({**body, "ts": "2026-11-30T12:47:56.890+00:00"}, metadata, writes))
    assert run(["verify", "t", "-d", str(path)]) == 1
    assert "differs\tchanged-without-version\tbudget" in capsys.readouterr().out


def test_blame_names_a_default(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A value without a version in a first checkpoint is the channel's default; the input gave another channel."""
    path = budget(tmp_path / "js.sqlite", 50, -5, 45)
    assert run(["blame", "t", "budget", "--history", "-d", str(path)]) == 0
    first, then = capsys.readouterr().out.splitlines()
    assert (first.split("\t")[3], then.split("\t")[3:5]) == ("default", ["node", "a"])


def test_a_stored_default_is_stored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`blame` offers a default that isn't stored as a reason only where none is stored: 45 is made from 50 by 5."""
    path = budget(tmp_path / "js.sqlite", 50, 5, 45)
    assert run(["blame", "t", "budget", "--history", "-d", str(path)]) == 0
    said = capsys.readouterr().out
    assert "a reducer of the graph's own" in said
    assert "isn't stored" not in said


def test_blame_knows_no_default_of_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Releases of Python since 0.3 store no default, so such a value in a later one isn't called so."""
    body, metadata, writes = checkpoint(FIRST, -1, {"budget": 50}, {"__start__": 1}, {})
    path = database(tmp_path / "py.sqlite", ({**body, "ts": "2026-11-30T12:47:56.890+00:00"}, metadata, writes))
    assert run(["blame", "t", "budget", "-d", str(path)]) == 0
    assert "default" not in capsys.readouterr().out
