"""What a test needs and a machine may lack: without it the test is skipped, loudly, or fails under ``--require``."""

from collections import Counter
from collections.abc import Iterable
from typing import NoReturn

import pytest

_MISSING = "missing: "


def missing(config: pytest.Config, why: str) -> NoReturn:
    """Skip the test, or fail it where everything is required; `why` says how to have what is missing."""
    if config.getoption("--require"):
        pytest.fail(f"{why} (--require)", pytrace=False)
    pytest.skip(_MISSING + why)


def skipped_line(reports: Iterable[pytest.TestReport]) -> str:
    """One line about the tests that were skipped because the machine lacks something; "" if there are none."""
    whys: Counter[str] = Counter()
    for report in reports:
        *_, text = report.longrepr if isinstance(report.longrepr, tuple | list) else ("",)
        if (why := str(text).removeprefix("Skipped: ")).startswith(_MISSING):
            whys[why.removeprefix(_MISSING)] += 1
    if not whys:
        return ""
    count = sum(whys.values())
    return f"{count} test{' was' if count == 1 else 's were'} skipped: {'; '.join(whys)}"
