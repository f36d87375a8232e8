"""Paths of problems in a payload, for messages: ``$.channel_values.messages[3]``.

A key that is no identifier is quoted; a long path is shortened.
"""

from typing import Any

_KEY = 64
_PATH = 160


def step(key: Any) -> str:
    """The part of a path for a dict's key."""
    return f".{key[:_KEY]}" if isinstance(key, str) and key.isidentifier() else f"[{key!r:.{_KEY}}]"


def with_path(problem: str, path: str) -> str:
    """A problem and its path, without the middle of a long path; the problem alone if the path is the root."""
    if not path:
        return problem
    if len(path) > _PATH:
        path = f"{path[: _PATH // 2]}…{path[-_PATH // 2 :]}"
    return f"{problem} @ ${path}"
