"""Writes times and sizes for people: "2h ago", a time in the local time zone, "1.2 kB"."""

from datetime import UTC, datetime

from ckpt_cli.history.lineage.printed_times import printed_time


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
    return (
        None
        if then is None
        else datetime.fromtimestamp(then, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )


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
