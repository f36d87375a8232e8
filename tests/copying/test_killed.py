"""`ckpt copy` killed at any time, and run again: the copy is complete, and nothing is there twice."""

import os
import random
import signal
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.app import run
from tests.copying.official import records
from tests.cross.backend import Backend
from tests.graphs.building import line, on
from tests.langgraph.places import places

KILLS = int(os.environ.get("CKPT_KILLS", "3"))
THREADS = [f"t-{number}" for number in range(12)]


def killed_after(seconds: float, words: list[str]) -> None:
    """Run a command line in a process of its own, and kill it."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            code = run(words)
        finally:
            os._exit(code)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL)


@pytest.mark.parametrize("kind", ["sqlite", "postgres", "redis"])
def test_killed_and_run_again(
    request: pytest.FixtureRequest, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    """Once the command ends, each thread is there whole, in one operation or several, and undo takes all of it back."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    source, target = places(request, "sqlite")(), places(request, kind)()
    with source.official() as here:
        for thread_id in THREADS:
            line(here, "a", "b", "c").invoke({"log": ["go"]}, on(thread_id))
    command = ["copy", source.url, target.url, "--yes"]
    chance = random.Random(kind)
    for _ in range(KILLS):
        killed_after(chance.uniform(0.05, 2.5), command)
    assert run(["operations", "--settle", "-d", target.url]) == 0
    assert run(command) == 0, capfd.readouterr().err
    with source.official() as here, target.official() as there:
        for thread_id in THREADS:
            assert records(there, thread_id, "") == records(here, thread_id, "")
    capfd.readouterr()
    assert _threads(target) == sorted(THREADS)
    for operation in Backend.ckpt(target, "operations", capsys=capfd)["operations"]:
        if operation["state"] == "done":
            assert run(["undo", str(operation["number"]), "-d", target.url, "--yes"]) == 0, capfd.readouterr().err
    assert _threads(target) == []


def _threads(backend: Backend) -> list[str]:
    with closing(backend.saver()) as saver:
        return sorted(thread.thread_id for thread in saver.threads())
