"""Times as people type them: a time ago (``2h``, ``1d12h``) or a date and time (``2026-11-01T10:00``)."""

import re
from datetime import datetime

from ckpt_cli.errors import UsageError

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_AGO = r"(?:\d{1,9}(?:\.\d{1,9})?[smhdw])+"
_PART = r"([\d.]+)([smhdw])"
_HINT = "write 2h, 3d, 1d12h, 2026-11-01 or 2026-11-01T10:00"


def moment(text: str, now: float) -> float:
    """A typed time in seconds since 1970; a time without an offset is in the time zone of this machine.

    Raises:
        UsageError: the text is no time.
    """
    words = text.strip().removesuffix("ago").strip()
    if re.fullmatch(_AGO, words):
        return now - sum(float(number) * _UNITS[unit] for number, unit in re.findall(_PART, words))
    try:
        return datetime.fromisoformat(words).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(f"{text!r} is no time", hint=_HINT) from error
