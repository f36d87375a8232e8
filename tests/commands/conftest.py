"""Fixtures of the tests of verbs: a database of real graphs, and command lines run on it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ckpt_cli.app import run
from tests.commands.changes import Database, Json


@pytest.fixture
def path(database: Database) -> Path:
    return database("real")


@pytest.fixture
def ckpt(path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Json]:
    """Runs a command line and gives its JSON."""

    def go(*words: str, code: int = 0) -> Json:
        assert run([*words, "-d", str(path), "--json"]) == code
        out = capsys.readouterr().out
        return json.loads(out) if out else {}

    return go
