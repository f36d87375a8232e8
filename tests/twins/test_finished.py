"""If nothing records whether finished tasks count before an update, the command asks and follows the answer."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ckpt_cli.app import run

WORDS = ["--values", '{"x": ["me"]}', "--as-node", "bad", "--next", "END", "--yes"]


@pytest.mark.parametrize(("said", "x"), [("keep", ["in", "pre", "good", "me"]), ("drop", ["in", "pre", "me"])])
def test_finished_siblings_count_as_said(
    said: str, x: list[str], database: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """In a thread of langgraph 0.6 with a failed task, the writes of finished siblings are kept or dropped."""
    thread = ["err", "-d", str(database("legacy/py-0.6.11"))]
    assert run(["update", *thread, *WORDS]) == 7
    error = capsys.readouterr().err
    assert "langgraph up to 1.0.2 applies the results of good, good2 at that checkpoint" in error
    assert "--finished keep applies them, --finished drop drops them" in error
    assert run(["update", *thread, *WORDS, "--finished", said]) == 0
    printed = capsys.readouterr().out
    assert ("kept: the results of good, good2" in printed) == (said == "keep")
    assert ("dropped: the results of good, good2" in printed) == (said == "drop")
    assert run(["get", *thread[:1], "x", *thread[1:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == x


@pytest.mark.parametrize("place", ["head", "past"])
def test_what_is_kept_depends_on_the_place(
    place: str, database: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Up to langgraph 0.6.8, an update with a checkpoint_id drops finished results; the refusal names the versions."""
    path = database("legacy/py-0.6.11")
    if place == "past":
        assert run(["rollback", "err", "@", "-d", str(path), "--yes"]) == 0
    assert run(["update", "err", "@^" if place == "past" else "@", *WORDS, "-d", str(path)]) == 7
    error = capsys.readouterr().err
    said = "langgraph 0.6.9 to 1.0.2 applies the results of good, good2 at a past checkpoint; older and newer"
    assert (said in error) == (place == "past")
    said = (
        "langgraph up to 1.0.2 applies the results of good, good2 at that checkpoint (up to 0.6.8 only without a check"
    )
    assert (said in error) == (place == "head")


def test_a_newer_database_asks_nothing(database: Callable[[str], Path], capsys: pytest.CaptureFixture[str]) -> None:
    """Where the table proves langgraph 1.0.3 or newer, finished siblings are dropped as the library does it."""
    thread = ["err", "-d", str(database("legacy/py-1.2.22"))]
    assert run(["update", *thread, *WORDS]) == 0
    assert "dropped: the results of good, good2" in capsys.readouterr().out


def test_next_may_be_said_several_times(database: Callable[[str], Path], capsys: pytest.CaptureFixture[str]) -> None:
    """``--next A --next B`` continues with both, as ``--next A,B`` does."""
    thread = ["err", "-d", str(database("legacy/py-1.2.22"))]
    words = ["--values", '{"x": ["me"]}', "--as-node", "bad", "--dry-run", "--json"]
    notes = []
    for said in (["--next", "good", "--next", "good2"], ["--next", "good,good2"]):
        assert run(["update", *thread, *words, *said]) == 0
        notes.append(json.loads(capsys.readouterr().out)["notes"])
    assert notes[0] == notes[1]
    assert "as bad: then good, good2, as you say; its edge to the join of post is taken all the same" in notes[0]
