"""What a test needs and a machine may lack: without it the test is skipped, loudly, or fails under ``--require``."""

from typing import NoReturn

import pytest


def missing(config: pytest.Config, why: str) -> NoReturn:
    """Skip the test, or fail it where everything is required."""
    if config.getoption("--require"):
        pytest.fail(f"{why} (--require)", pytrace=False)
    pytest.skip(why)
