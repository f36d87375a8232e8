"""Times as people type them."""

from datetime import UTC, datetime

import pytest

from ckpt_cli.errors import UsageError
from ckpt_cli.history.lineage.typed_times import moment

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2h", "2026-11-21T10:00:00"),
        ("2h ago", "2026-11-21T10:00:00"),
        ("1d12h", "2026-11-20T00:00:00"),
        ("1.5h", "2026-11-21T10:30:00"),
        ("2w", "2026-11-07T12:00:00"),
        ("90s", "2026-11-21T11:58:30"),
        ("2026-11-01", "2026-11-01T00:00:00"),
        ("2026-11-01T10:00", "2026-11-01T10:00:00"),
        ("2026-11-01 10:00+02:00", "2026-11-01T08:00:00"),
        ("2026-11-01T10:00Z", "2026-11-01T10:00:00"),
    ],
)
def test_moments_are_spans_before_now_or_dates(text: str, expected: str) -> None:
    """A span counts back from now; a time without an offset is local."""
    assert moment(text, NOW) == datetime.fromisoformat(expected).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize("text", ["", "yesterday", "2", "h", "2y", "-2h", "2026-13-01", "9" * 400 + "h"])
def test_what_is_no_time_is_a_usage_error(text: str) -> None:
    """The hint shows how times are written."""
    with pytest.raises(UsageError, match="no time"):
        moment(text, NOW)
