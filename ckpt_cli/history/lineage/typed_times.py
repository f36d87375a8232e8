"""Times as people type them: a time ago (``2h``, ``1d12h``) or a date and time (``2026-11-01T10:00``).

A date and time may be typed as ckpt prints it: ``2026-11-21 09:28:05 +01:00``, ``2026-11-21 09:28:05 UTC``. One without
a zone is in the time zone of this machine.
"""

import math
import re
from datetime import datetime, timedelta
from typing import NamedTuple

from ckpt_cli.errors import UsageError
from ckpt_cli.history.lineage.printed_times import printed_time

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_AGO = r"(?:\d{1,9}(?:\.\d{1,9})?[smhdw])+"
_PART = r"([\d.]+)([smhdw])"
_ZONED = r"(.*:\d\d(?:[.,]\d+)?)\s*(Z|UTC|[+-]\d\d:?\d\d)"
_DATE = r"\d{4}-?\d\d-?\d\d|\d{4}-?W\d\d-?\d"
_NAMED = {
    r"[T ]\d\d$": 3600.0,
    r"[T ]\d\d:?\d\d$": 60.0,
    r"[T ]\d\d:?\d\d:?\d\d$": 1.0,
    r"[T ]\d\d:?\d\d:?\d\d[.,]\d{3}$": 0.001,
}
_HINT = "write 2h, 3d, 1d12h, 2026-11-01 or 2026-11-01T10:00"


class Period(NamedTuple):
    """A period of time, both ends included, in seconds since 1970; None for an open end."""

    since: float | None = None
    until: float | None = None

    def holds(self, when: float | None) -> bool:
        """Whether a time is inside the period; a time that isn't known can't be ruled out."""
        return when is None or not (self.begins_after(when) or self.ended_before(when))

    def begins_after(self, when: float) -> bool:
        """Whether the period begins after this time."""
        return self.since is not None and when < self.since

    def ended_before(self, when: float) -> bool:
        """Whether the period ended before this time."""
        return self.until is not None and when > self.until

    def __str__(self) -> str:
        """``since 2026-11-21 09:28:05 +01:00, until …``, in local time; "" if both ends are open."""
        ends = {"since": self.since, "until": self.until}
        return ", ".join(f"{word} {printed_time(when)}" for word, when in ends.items() if when is not None)


ALWAYS = Period()
"""A period without ends."""


def moment(text: str, now: float) -> float:
    """A typed time in seconds since 1970: the beginning of the day, minute or second that it names.

    A time without an offset is in the time zone of this machine.

    Raises:
        UsageError: the text is no time.
    """
    words = text.strip().removesuffix("ago").strip()
    if re.fullmatch(_AGO, words):
        return now - sum(float(number) * _UNITS[unit] for number, unit in re.findall(_PART, words))
    try:
        return datetime.fromisoformat(_iso(words)).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(f"{text!r} is no time", hint=_HINT) from error


def second_end(text: str, now: float) -> float:
    """A typed time, where seconds mean the end of that second and milliseconds the end of that millisecond.

    ckpt prints times without the rest of the second, so a printed time includes the checkpoint that it belongs to.

    Raises:
        UsageError: the text is no time.
    """
    begin, named = moment(text, now), _seconds_named(text)
    return _before(begin + named) if named and named <= 1 else begin


def named_end(text: str, now: float) -> float:
    """The end of the day, hour, minute, second or millisecond that a typed time names.

    Raises:
        UsageError: the text is no time.
    """
    begin = moment(text, now)
    if re.fullmatch(_DATE, text.strip()):  # days with a change to or from summer time have 23 or 25 hours
        return _before((datetime.fromisoformat(text.strip()) + timedelta(days=1)).timestamp())
    return _before(begin + named) if (named := _seconds_named(text)) else begin


def period(since: str | None, until: str | None, now: float) -> Period:
    """The period between two typed times, each of which may be missing.

    Raises:
        UsageError: one of them is no time, or the end comes before the beginning.
    """
    given = Period(None if since is None else moment(since, now), None if until is None else named_end(until, now))
    if given.since is not None and given.until is not None and given.until < given.since:
        raise UsageError(f"--until {until} is before --since {since}", hint="nothing can be between them")
    return given


def _seconds_named(text: str) -> float:
    """The length of the hour, minute, second or millisecond that a date and time names; 0 for any other text."""
    zoned = re.fullmatch(_ZONED, text.strip())
    words = zoned[1] if zoned else text.strip()
    return next((seconds for pattern, seconds in _NAMED.items() if re.search(pattern, words)), 0.0)


def _before(then: float) -> float:
    return math.nextafter(then, -math.inf)


def _iso(words: str) -> str:
    """The same in ISO 8601: without the blank before the zone, and without the word UTC."""
    zoned = re.fullmatch(_ZONED, words)
    return zoned[1] + zoned[2].replace("UTC", "Z") if zoned else words
