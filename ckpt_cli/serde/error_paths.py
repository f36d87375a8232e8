"""The path of a problem in a payload, for its message: ``$.channel_values.messages[3]``.

A key that is no identifier is quoted; long paths are shortened.
"""

from typing import Any

_KEY = 64
_PATH = 160


def step(key: Any) -> str:
    """The part of a path that a dict's key makes."""
    return f".{key[:_KEY]}" if isinstance(key, str) and key.isidentifier() else f"[{key!r:.{_KEY}}]"


def with_path(problem: str, path: str) -> str:
    """A problem and its path, whose middle is left out if it is long; the problem alone if the path is the root."""
    if not path:
        return problem
    if len(path) > _PATH:
        path = f"{path[: _PATH // 2]}…{path[-_PATH // 2 :]}"
    return f"{problem} @ ${path}"
