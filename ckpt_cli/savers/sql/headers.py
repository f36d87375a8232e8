"""Channel versions in a checkpoint's JSON header; damaged headers; texts that a JSON column can't hold.

A saver needs no other part of the header. checkpoint-postgres 3.2 ``base.py: SELECT_SQL`` joins blobs by
``channel_versions`` as text.
"""

import json
from typing import Any, NoReturn


def parse_versions(versions: str | None) -> dict[str, str]:
    """The version of each channel as text, with numbers spelled as in the JSON; {} if the text isn't a JSON object."""
    return _text_items(_parse(versions or ""))


def header_versions(header: str) -> dict[str, str]:
    """The version of each channel from a whole header; {} if the header isn't a JSON object."""
    value = _parse(header)
    return _text_items(value.get("channel_versions") if isinstance(value, dict) else None)


def _parse(text: str) -> Any:
    try:
        return json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None


def _text_items(versions: Any) -> dict[str, str]:
    items = versions.items() if isinstance(versions, dict) else ()
    return {channel: version for channel, version in items if isinstance(version, str)}


def storage_problem(text: str, *, nul: bool = False) -> str:
    """A phrase for people: the part of a text that a JSON column can't hold; "" if there is no such part.

    Args:
        text: the text to store.
        nul: whether the column can hold U+0000. Postgres' JSONB can't.
    """
    try:
        value = json.loads(text, parse_constant=_no_number)
    except ValueError as error:
        return str(error) if isinstance(error, _NoNumber) else "no JSON"
    if "\\u" not in text and not _text_problem(text, nul):  # a text inside has only characters that are in this one
        return ""
    return next((problem for one in _texts(value) if (problem := _text_problem(one, nul))), "")


_NUL = "the character U+0000"


class _NoNumber(ValueError):
    pass


def _no_number(word: str) -> NoReturn:
    raise _NoNumber(f"the number {word}")


def _texts(value: Any) -> list[str]:
    """All texts in a JSON value, found without recursion, since the value may be nested deeply."""
    texts: list[str] = []
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict):
            stack += [*part.keys(), *part.values()]
        elif isinstance(part, list):
            stack += part
    return texts


def _text_problem(text: str, nul: bool) -> str:
    if not nul and "\x00" in text:
        return _NUL
    try:
        text.encode()
    except UnicodeEncodeError:
        return "half a surrogate pair"
    return ""
