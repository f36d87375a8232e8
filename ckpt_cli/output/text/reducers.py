"""Chooses the reducers that ``replay --to`` lists under its answer: all but the plain ones."""

import re
from collections.abc import Iterable

_PLAIN = re.compile(r"(?<! or) (last value|append) \(([\d,]+) of \2 steps?\)$")


def notable_reducers(reducers: Iterable[str]) -> list[str]:
    """The reducers worth a line: not the plain last value or append that all steps of the thread itself show."""
    return [one for one in reducers if _PLAIN.search(one) is None]
