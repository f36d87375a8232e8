"""Styled lines: what text renderers make, before anybody knows whether a terminal or a pipe will show them.

A span is (style, text); a style is a name in `theme.STYLES`, never a colour. The writers neutralise control characters
in every span, so no renderer can forget to.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

Span = tuple[str, str]
Line = list[Span]

TAB: Span = ("tab", "\t")
"""Between the columns of a piped table; a tab in any other span is data and is neutralised."""


class Page(NamedTuple):
    """How wide lines may be, and for whom.

    Attributes:
        width: terminal cells; None when piped: nothing is cut or wrapped, lists are one tab-separated row a line.
        now: seconds since 1970, for "2h ago".
        reveal: whether secrets are shown.
    """

    width: int | None
    now: float
    reveal: bool = False


def plain(line: Line) -> str:
    """The text alone."""
    return "".join(text for _, text in line)


def row(columns: Iterable[Line]) -> Line:
    """One line of a piped table."""
    line: Line = []
    for number, column in enumerate(columns):
        line += [TAB, *column] if number else column
    return line


Lines = Iterator[Line]
