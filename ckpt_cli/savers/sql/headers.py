"""The JSON header of a checkpoint, as far as a saver must know it: which version of which channel it names.

checkpoint-postgres 3.2 ``base.py: SELECT_SQL`` joins blobs by ``channel_versions`` as text.
"""

import json
from typing import Any, NoReturn


def named_versions(versions: str | None) -> dict[str, str]:
    """Channel to version as text, numbers spelled as they stand there; {} where it is no object."""
    return _texts_of(_parsed(versions or ""))


def versions_in(header: str) -> dict[str, str]:
    """The same out of a whole header; {} where it isn't one."""
    found = _parsed(header)
    return _texts_of(found.get("channel_versions") if isinstance(found, dict) else None)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None


def _texts_of(versions: Any) -> dict[str, str]:
    found = versions if isinstance(versions, dict) else {}
    return {channel: version for channel, version in found.items() if isinstance(version, str)}


def unfit(text: str, *, nul: bool = False) -> str:
    """What a JSON column can't hold of a text, in words; "" where it is fine.

    Args:
        text: what is to be stored.
        nul: whether the column holds U+0000 (Postgres' JSONB doesn't).
    """
    try:
        value = json.loads(text, parse_constant=_no_number)
    except ValueError as error:
        return str(error) if isinstance(error, _NoNumber) else "no JSON"
    return next((found for found in map(_bad, _texts(value)) if found and (found != _NUL or not nul)), "")


_NUL = "the character U+0000"


class _NoNumber(ValueError):
    pass


def _no_number(word: str) -> NoReturn:
    raise _NoNumber(f"the number {word}")


def _texts(value: Any) -> list[str]:
    """All text in a JSON value, without recursion: it may be nested deeply."""
    found: list[str] = []
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, dict):
            left += [*one.keys(), *one.values()]
        elif isinstance(one, list):
            left += one
    return found


def _bad(text: str) -> str:
    if "\x00" in text:
        return _NUL
    try:
        text.encode()
    except UnicodeEncodeError:
        return "half a surrogate pair"
    return ""
