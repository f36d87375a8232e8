"""Styled lines: what text renderers make, both for a terminal and for a pipe.

A span is (style, text); a style is a name in `theme.STYLES`, never a colour. The writers neutralise control characters
in every span, so no renderer can forget to.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

Span = tuple[str, str]
Line = list[Span]

TAB: Span = ("tab", "\t")
"""The separator of columns in a piped table; a tab in any other span is data and is neutralised."""


class Page(NamedTuple):
    """What a renderer has to know about its output.

    Attributes:
        width: terminal cells; None for a pipe: nothing is cut or wrapped, a list has one tab-separated row per line.
        now: seconds since 1970, for "2h ago".
        reveal: whether secrets are shown.
    """

    width: int | None
    now: float
    reveal: bool = False


def plain(line: Line) -> str:
    """The text of a line without its styles."""
    return "".join(text for _, text in line)


def row(columns: Iterable[Line]) -> Line:
    """One line of a piped table."""
    line: Line = []
    for number, column in enumerate(columns):
        line += [TAB, *column] if number else column
    return line


Lines = Iterator[Line]
