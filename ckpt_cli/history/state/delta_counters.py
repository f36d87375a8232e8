"""The counters of delta channels in a checkpoint's metadata.

langgraph 1.2 ``pregel/_checkpoint.py``.
"""

from collections.abc import Mapping
from typing import Any

COUNTERS = "counters_since_delta_snapshot"
"""The metadata key that names the delta channels and counts updates and steps since the last snapshot of each."""


def counters(metadata: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Delta channel to the updates and steps since its last snapshot; (0, 0) if no pair of numbers is stored."""
    stored = metadata.get(COUNTERS)
    pairs = stored.items() if isinstance(stored, dict) else ()
    return {
        channel: (pair[0], pair[1]) if _is_pair(pair) else (0, 0) for channel, pair in pairs if isinstance(channel, str)
    }


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(type(part) is int for part in value)
