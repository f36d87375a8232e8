"""An error is written to stderr once, with a hint, and has its exit code."""

import json

import pytest

from ckpt_cli import errors
from ckpt_cli.errors import CkptError, Failed
from ckpt_cli.output.talk import report, say
from ckpt_cli.savers.faults import ConnectionLost

CODES = {
    "CkptError": 8,
    "FilterRefused": 2,
    "NoCheckpoints": 3,
    "UsageError": 2,
    "AmbiguousRevision": 2,
    "MissingExtra": 2,
    "DatabaseUnreachable": 3,
    "DatabaseDamaged": 3,
    "NotFound": 4,
    "ThreadNotFound": 4,
    "CheckpointNotFound": 4,
    "ChannelNotFound": 4,
    "PathNotFound": 4,
    "PayloadCorrupt": 5,
    "KeyMissing": 5,
    "ValueUnknown": 5,
    "NotSupported": 6,
    "Refused": 7,
    "Failed": 8,
}
"""The contract with scripts, retyped so that a change is noticed."""


def test_every_error_has_its_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    """Each class of error leaves with the code that the table gives it, and there is no other class."""
    classes = {name: cls for name, cls in vars(errors).items() if isinstance(cls, type) and issubclass(cls, CkptError)}
    assert {name: report(cls("it went wrong")) for name, cls in classes.items()} == CODES
    assert capsys.readouterr() == ("", "ckpt: it went wrong\n" * len(CODES))


def test_candidates_and_hint_follow(capsys: pytest.CaptureFixture[str]) -> None:
    """An error lists the candidates, one per line, and then the hint."""
    report(errors.ThreadNotFound("no thread 'x'", hint="did you mean y?", candidates=["y", "z"]))
    assert capsys.readouterr().err == "ckpt: no thread 'x'\n  y\n  z\nhint: did you mean y?\n"


def test_an_error_drives_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Names out of the database are as harmless in errors as in output."""
    report(Failed("bad \x1b[2J", hint="\x9b1m", candidates=["a\nckpt: forged"]))
    assert capsys.readouterr().err == "ckpt: bad ␛[2J\n  a⏎ckpt: forged\nhint: \\x9b1m\n"


def test_a_bug_is_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug is one line that says what and where; the traceback needs CKPT_TRACEBACK."""
    monkeypatch.delenv("CKPT_TRACEBACK", raising=False)
    assert report(_raised()) == 70
    said = capsys.readouterr().err
    assert "bug in ckpt: KeyError: 'x\\x1b' (test_talk.py:" in said
    assert "Traceback" not in said
    monkeypatch.setenv("CKPT_TRACEBACK", "1")
    report(_raised())
    assert "Traceback" in capsys.readouterr().err


def test_each_kind_of_error_has_its_word(capsys: pytest.CaptureFixture[str]) -> None:
    """It is the name of the nearest public class, or "bug"."""
    assert report(errors.ThreadNotFound("no \x1b[2J", hint="h", candidates=["é\u202e"]), as_json=True) == 4
    assert report(ConnectionLost("gone"), as_json=True) == 3
    assert report(_raised(), as_json=True) == 70
    lines = capsys.readouterr().err.splitlines()
    assert all(line.isascii() and line.isprintable() for line in lines)
    first, second, third = (json.loads(line)["error"] for line in lines)
    message = {"message": "no \x1b[2J", "hint": "h", "candidates": ["é\u202e"]}
    assert first == {"code": 4, "kind": "thread-not-found", **message}
    assert (second["code"], second["kind"]) == (3, "database-unreachable")
    assert (third["code"], third["kind"]) == (70, "bug") and "KeyError" in third["message"]


def _raised() -> Exception:
    try:
        raise KeyError("x\x1b")
    except KeyError as error:
        return error


def test_talk_is_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    """Remarks go to stderr, never into the answer."""
    say("reading ./checkpoints.sqlite")
    assert capsys.readouterr() == ("", "reading ./checkpoints.sqlite\n")


def test_a_terminal_gets_whole_words(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is longer than the terminal is wide is broken between words, an id is not; a pipe gets one line."""
    words = "no checkpoint 1f1e5786-50cb-6000-8001-5d20aa77c1e4 in it"
    say(words)
    monkeypatch.setattr("ckpt_cli.output.talk.on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    say(words)
    wrapped = "no checkpoint\n1f1e5786-50cb-6000-8001-5d20aa77c1e4 in\nit\n"
    assert capsys.readouterr().err == f"{words}\n{wrapped}"
