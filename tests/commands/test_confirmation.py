"""A plan is shown with one question; only yes applies it."""

import json
import os
import pty
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from ckpt_cli.app import run
from tests.commands.changes import THREAD
from tests.operations.databases import dump


def test_nobody_to_ask(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a terminal and without --yes a change is refused; with --json too, as a question has no place in it."""
    before = dump(path)
    assert run(["fork", THREAD, "@", "-d", str(path)]) == 7
    assert "hint: --yes applies it, --dry-run shows it" in capsys.readouterr().err
    assert run(["fork", THREAD, "@", "-d", str(path), "--json"]) == 2
    assert dump(path) == before


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("YES", 0), ("n", 7), ("", 7), ("\x04", 7)])
def test_the_question(path: Path, answer: str, code: int) -> None:
    """On a terminal the plan is shown with one question; only yes applies it, and stdout has only the outcome."""
    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "ckpt_cli", "fork", THREAD, "step:1", "-d", str(path)]
    with subprocess.Popen(command, stdin=terminal, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        os.write(controller, answer.encode() + b"\n" if answer != "\x04" else b"\x04")
        out, err = process.communicate(timeout=30)
    os.close(terminal)
    os.close(controller)
    assert process.returncode == code
    prompt = err.decode()
    assert "1 row added to checkpoints.\nApply? [y/N] " in prompt
    assert "fork of " in prompt
    outcome = out.decode().splitlines()
    if code:
        assert outcome == []
        assert "not confirmed; nothing was written" in prompt
    else:
        assert outcome[0] == "done, operation 1.  ckpt undo takes it back."
        assert json.loads(outcome[1])["configurable"]["thread_id"] == THREAD


def _chunks(controller: int) -> Iterator[bytes]:
    """What was written to the terminal; one read gives only a part of it."""
    with suppress(OSError):  # Linux ends it so
        while chunk := os.read(controller, 10_000):
            yield chunk


def test_the_plan_at_the_question_fits_the_terminal(path: Path) -> None:
    """It is as wide as the terminal that it is shown on, also where stdout goes elsewhere."""
    controller, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 60))
    command = [sys.executable, "-m", "ckpt_cli", "fork", THREAD, "step:1", "-d", str(path), "--color", "never"]
    env = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    with subprocess.Popen(command, stdin=terminal, stderr=terminal, stdout=subprocess.PIPE, env=env) as process:
        os.write(controller, b"n\n")
        process.communicate(timeout=30)
    os.close(terminal)
    shown = b"".join(_chunks(controller)).decode().splitlines()
    os.close(controller)
    start = next(number for number, line in enumerate(shown) if line.startswith("fork of "))
    end = next(number for number, line in enumerate(shown) if line.startswith("1 row added"))
    assert end - start > 1
    assert max(map(len, shown[start:end])) <= 60
