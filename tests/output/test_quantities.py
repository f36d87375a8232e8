"""Times and sizes as people read them."""

import pytest

from ckpt_cli.output.quantities import ago, clock, elapsed, iso, size

DAY = 86400


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0s ago"), (59, "59s ago"), (60, "1m ago"), (7199, "1h ago"), (3 * DAY, "3d ago"), (40 * DAY, "2026-10-12")],
)
def test_how_long_ago(seconds: int, shown: str) -> None:
    """Counted in the largest unit up to four weeks, then the date says more."""
    now = 1_795_253_285.0
    assert ago(now - seconds, now) == shown


def test_a_future_time_is_written_in_full() -> None:
    """A clock that was ahead isn't turned into nonsense."""
    assert ago(1_795_253_285.0, 1_795_253_000.0) == "2026-11-21 09:28:05 UTC"


def test_times_in_full() -> None:
    """Local for people, UTC with milliseconds for programs, nothing where it isn't known."""
    assert clock(1_795_253_285.25) == "2026-11-21 09:28:05 UTC"
    assert iso(1_795_253_285.25) == "2026-11-21T09:28:05.250Z"
    assert (clock(None), iso(None), ago(None, 0)) == ("", None, "")


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (None, ""),
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (9_960, "10 kB"),
        (999_600, "1.0 MB"),
        (19 * 10**9, "19 GB"),
    ],
)
def test_sizes(count: int | None, shown: str) -> None:
    """Two digits are enough, and a unit is left before its number has four."""
    assert size(count) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0ms"),
        (0.00005, "0ms"),
        (0.0015, "1.5ms"),
        (0.23449, "230ms"),
        (0.9949, "990ms"),
        (0.996, "1s"),
        (1, "1s"),
        (4.23, "4.2s"),
        (59.94, "59.9s"),
        (60.4, "1m00s"),
        (192, "3m12s"),
        (7500, "2h05m"),
        (274000, "3d4h"),
    ],
)
def test_elapsed(seconds: float, shown: str) -> None:
    """A span of time has two digits below a second, and two units above a minute."""
    assert elapsed(seconds) == shown
