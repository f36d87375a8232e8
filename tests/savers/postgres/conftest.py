"""A command and all it says."""

from collections.abc import Callable

import pytest

from ckpt_cli.app import run as app

Say = Callable[..., tuple[int, str]]


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    """Runs a command: its exit code, and all it said."""

    def run(*words: str) -> tuple[int, str]:
        capsys.readouterr()
        code = app(list(words))
        seen = capsys.readouterr()
        return code, seen.out + seen.err

    return run
