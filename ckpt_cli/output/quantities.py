"""Writes times and sizes for people: "2h ago", a time in the local time zone, "1.2 kB"."""

from datetime import date, datetime, timedelta
from functools import lru_cache
from math import floor, log10

from ckpt_cli.history.lineage.printed_times import printed_time

_EPOCH = date(1970, 1, 1)


def ago(then: float | None, now: float) -> str:
    """``3m ago``, ``2h ago``, ``5d ago``; the date after four weeks; "" if the time isn't known."""
    if then is None:
        return ""
    seconds = int(now - then)
    if seconds < 0:
        return clock(then)
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit} ago" if seconds < 28 * 86400 else day(then)
    return f"{seconds}s ago"


def clock(then: float | None) -> str:
    """``2026-11-21 09:28:05 +01:00``, local; "" if the time isn't known."""
    return "" if then is None else printed_time(then)


def day(then: float) -> str:
    """``2026-11-21``, local."""
    return datetime.fromtimestamp(then).strftime("%Y-%m-%d")


def iso(then: float | None) -> str | None:
    """``2026-11-21T09:28:05.123Z``, for JSON and pipes."""
    if then is None:
        return None
    seconds = floor(then)
    micros = round((then - seconds) * 1e6)
    if micros == 1_000_000:
        seconds, micros = seconds + 1, 0
    days, rest = divmod(seconds, 86400)
    minutes = rest // 60
    return f"{_iso_date(days)}T{minutes // 60:02}:{minutes % 60:02}:{rest % 60:02}.{micros // 1000:03}Z"


@lru_cache(512)
def _iso_date(days: int) -> str:
    """The date that is so many days after 1970-01-01. The times in a list are of few days."""
    return (_EPOCH + timedelta(days)).isoformat()


def size(count: int | None) -> str:
    """``512 B``, ``1.2 kB``, ``148 MB``; "" if the size isn't known."""
    if count is None:
        return ""
    amount, unit = float(count), "B"
    for larger in ("kB", "MB", "GB"):
        if amount < 999.5:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.1f} {unit}" if unit != "B" and amount < 9.95 else f"{amount:.0f} {unit}"


def elapsed(seconds: float) -> str:
    """``0.3ms``, ``230ms``, ``4.2s``, ``3m12s``, ``2h05m``, ``3d4h``: two digits are enough to compare."""
    if seconds < 0.995:
        thousandths = seconds * 1000
        return f"{round(thousandths, 0 if thousandths < 0.1 else 1 - floor(log10(thousandths))):g}ms"
    if seconds < 59.95:
        return f"{round(seconds, 1):g}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m{rest:02}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m" if hours < 24 else f"{hours // 24}d{hours % 24}h"
