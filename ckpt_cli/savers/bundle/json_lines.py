"""JSON lines whose shape is checked as they are read: a hostile line is an error, never a surprise."""

import json
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ckpt_cli.errors import DatabaseDamaged

T = TypeVar("T")


def line(value: Any) -> bytes:
    """A value as one line; text that isn't valid Unicode is escaped."""
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def lines(data: bytes) -> Iterator[bytes]:
    """The lines of these bytes."""
    yield from (one for one in data.split(b"\n") if one)


def parse(data: bytes, read: Callable[[Any], T]) -> T:
    """What `read` makes of a line's value.

    Raises:
        DatabaseDamaged: the line isn't JSON, or `read` finds a wrong shape in it.
    """
    try:
        return read(json.loads(data))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise DatabaseDamaged(f"the bundle has a malformed line: {type(error).__name__}: {error}") from None


def text(value: Any) -> str:
    """A text."""
    if not isinstance(value, str):
        raise TypeError("a text is missing")
    return value


def text_or_none(value: Any) -> str | None:
    """A text or None."""
    return None if value is None else text(value)


def number(value: Any) -> int:
    """A number that counts something."""
    if type(value) is not int or not 0 <= value < 1 << 62:
        raise TypeError("a number is missing")
    return value
