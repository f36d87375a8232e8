"""Parses JSON that people write: no part is dropped without an error, and errors show the place."""

import json
from typing import Any

from ckpt_cli.errors import UsageError

_SHOWN = 60


def parse(text: str, what: str = "this", *, hint: str = "") -> Any:
    """The data of a JSON text; `what` names it in errors.

    Raises:
        UsageError: the text is no JSON, an object has a key twice, or a number is NaN or infinite. Line, column and a
            caret show where.
    """
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except json.JSONDecodeError as error:
        lines = text.splitlines() or [""]
        line = lines[min(error.lineno, len(lines)) - 1]
        start = max(0, error.colno - 1 - _SHOWN // 2)
        caret = [line[start : start + _SHOWN], " " * (error.colno - 1 - start) + "^"]
        where = f" in line {error.lineno}, column {error.colno}" if len(lines) > 1 else ""
        message = error.msg[:1].lower() + error.msg[1:]
        raise UsageError(f"{what} is no JSON: {message}{where}", hint=hint, candidates=caret) from error
    except RecursionError as error:
        raise UsageError(f"{what} is nested too deep") from error
    except ValueError as error:
        raise UsageError(f"{what} can't be used as JSON: {error}") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"one object has the key {twice!r} twice")
    return members


def _constant(word: str) -> Any:
    name = word.lower().replace("infinity", "inf")
    raise ValueError(f'JSON has no {word}: write {{"$float": "{name}"}}')
