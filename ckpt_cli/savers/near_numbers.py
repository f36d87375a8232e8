"""Whether a JSON value may equal a number in Python, where ``1``, ``1.0`` and ``true`` are equal."""

from math import isclose

LONGEST = 40
"""Characters of a value that decide; a value of so many characters may equal any number."""
UNKNOWN = "{"
"""Stands for a value that can't be searched."""


def may_equal(text: str | None, number: float, *, or_without: bool) -> bool:
    """Whether a value may equal `number`; true for some that don't.

    Args:
        text: the first `LONGEST` characters of the value's JSON; of a text its content; None for no value, and null.
        number: up to 2 ** 53 or its negative.
        or_without: the answer for no value.
    """
    if text is None:
        return or_without
    if text.startswith(UNKNOWN) or len(text) >= LONGEST:  # an object may stand for a number of another type
        return True
    if text in ("true", "false"):
        return number == (text == "true")
    try:
        return isclose(float(text), number, rel_tol=1e-9)  # engines round differently
    except ValueError:
        return False
