"""A fixture that runs a command line."""

from collections.abc import Callable

import pytest

from ckpt_cli.app import run as app

Ckpt = Callable[..., tuple[int, str]]


@pytest.fixture
def ckpt(capsys: pytest.CaptureFixture[str]) -> Ckpt:
    """Runs a command line; gives its exit code and its output, stdout and stderr together."""

    def run(*parameters: str) -> tuple[int, str]:
        capsys.readouterr()
        code = app(list(parameters))
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return run
