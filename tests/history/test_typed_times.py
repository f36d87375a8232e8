"""Times as people type them."""

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpt_cli.errors import UsageError
from ckpt_cli.history.lineage.printed_times import printed_time
from ckpt_cli.history.lineage.typed_times import ALWAYS, Period, moment, named_end, period, second_end

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


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Pacific/Apia"])
def test_a_printed_time_is_read_as_the_second_that_it_names(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In every time zone, also in the hour that summer time repeats."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()

    @given(st.floats(0, 4e9))
    def holds(then: float) -> None:
        words = printed_time(then)
        assert moment(words, NOW) == int(then)
        assert int(then) <= then <= second_end(words, NOW) < int(then) + 1
        assert second_end(words, NOW) == named_end(words, NOW)

    holds()


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("2026-11-01", "2026-11-02T00:00:00"),
        ("2026-11-01T10", "2026-11-01T11:00:00"),
        ("2026-11-01T10:00", "2026-11-01T10:01:00"),
        ("2026-11-01 10:00 +02:00", "2026-11-01T08:01:00"),
        ("2026-11-01T10:00:59.250Z", "2026-11-01T10:00:59.251"),
    ],
)
def test_an_end_includes_the_day_minute_or_second_that_it_names(text: str, end: str) -> None:
    """Its last instant is inside, and the next one is not."""
    after = datetime.fromisoformat(end).replace(tzinfo=UTC).timestamp()
    assert after - 1e-6 < named_end(text, NOW) < after


def test_a_day_ends_where_the_next_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """The day on which summer time ends has 25 hours."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    assert round(named_end("2026-10-25", NOW) - moment("2026-10-25", NOW)) == 25 * 3600


def test_a_period_says_its_ends_and_holds_what_cannot_be_ruled_out() -> None:
    """Both ends belong to it, a time that isn't known does too, and an end before the beginning is refused."""
    day = period("2026-11-01", "2026-11-01", NOW)
    assert [day.holds(day.since), day.holds(day.until), day.holds(None), day.holds(NOW)] == [True, True, True, False]
    assert str(day) == "since 2026-11-01 00:00:00 UTC, until 2026-11-01 23:59:59 UTC"
    assert (str(ALWAYS), period(None, None, NOW), str(Period(NOW))) == ("", ALWAYS, "since 2026-11-21 12:00:00 UTC")
    with pytest.raises(UsageError, match="--until 2h is before --since 1h"):
        period("1h", "2h", NOW)
