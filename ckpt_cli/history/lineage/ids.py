"""The time and the step in a checkpoint id (uuid6); an id whose time is no date contains no time.

The uuid6 holds the time when it was made and, as clock sequence, the step. langgraph-checkpoint 4.3, ``base/id.py:
uuid6(clock_seq=step)``. The ids of copies (``as_node="__copy__"``) and of updates as END contain step - 1. The step in
an id from JavaScript can't be trusted (-1 is ``ffff`` there). If metadata was read, its step is used instead.
"""

import math
from datetime import UTC, datetime

_GREGORIAN = 0x01B21DD213814000  # 100 ns ticks from 1582-10-15 to 1970-01-01
_DAY = 86_400
SEQUENCES = 0x4000
"""How many clock sequences there are: a uuid6 has 14 bits for one (RFC 9562)."""
_EARLIEST = -62_135_596_800 + 2 * _DAY
_LATEST = 253_402_300_800 - 2 * _DAY
"""Times between these are in the years 1 to 9999 in every time zone; Python's dates can hold no others."""


def is_uuid6(checkpoint_id: str) -> bool:
    """Whether this is a uuid6 in LangGraph's spelling."""
    return len(checkpoint_id) == 36 and checkpoint_id[14] == "6" and checkpoint_id.count("-") == 4


def unix_time(checkpoint_id: str) -> float | None:
    """When the id was made, in seconds since 1970; None if it contains no time.

    ISO timestamps (langgraph 0.0) are read too. A time before the year 1 or after 9999 in some time zone gives None.
    """
    recorded = _recorded_time(checkpoint_id)
    return recorded if recorded is None or _EARLIEST <= recorded <= _LATEST else None


def _recorded_time(checkpoint_id: str) -> float | None:
    if is_uuid6(checkpoint_id):
        digits = checkpoint_id.replace("-", "")
        try:
            return ((int(digits[0:12], 16) << 12 | int(digits[13:16], 16)) - _GREGORIAN) / 1e7
        except ValueError:
            return None
    try:
        when = datetime.fromisoformat(checkpoint_id)
    except ValueError:
        return None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def step(checkpoint_id: str) -> int | None:
    """The step that an id contains, -1 for the first input; None if it is no uuid6."""
    recorded = sequence(checkpoint_id)
    return recorded if recorded is None or recorded < SEQUENCES // 2 else recorded - SEQUENCES


def sequence(checkpoint_id: str) -> int | None:
    """The clock sequence of an id, the step modulo `SEQUENCES`; None if it is no uuid6."""
    if not is_uuid6(checkpoint_id):
        return None
    try:
        return int(checkpoint_id[19:23], 16) % SEQUENCES
    except ValueError:
        return None


def lowest_id(when: float) -> str:
    """The beginning of the uuid6 ids that were made at a time or later: these ids aren't below it, earlier ids are.

    Args:
        when: seconds since 1970.
    """
    ticks = max(math.ceil(when * 10**7) + _GREGORIAN, 0)
    digits = f"{ticks >> 12:012x}"
    return f"{digits[:8]}-{digits[8:]}-6{ticks & 0xFFF:03x}"
