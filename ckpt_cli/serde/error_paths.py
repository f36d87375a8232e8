"""How problems name the place they are at: ``$.channel_values.messages[3]``, quoted where a key is no name; short."""

from typing import Any

_KEY = 64
_PATH = 160


def step(key: Any) -> str:
    """One step into a dict."""
    return f".{key[:_KEY]}" if isinstance(key, str) and key.isidentifier() else f"[{key!r:.{_KEY}}]"


def with_path(problem: str, path: str) -> str:
    """A problem and its place, unless it is the whole payload; the middle of a long path is left out."""
    if not path:
        return problem
    if len(path) > _PATH:
        path = f"{path[: _PATH // 2]}…{path[-_PATH // 2 :]}"
    return f"{problem} @ ${path}"
