"""Styled lines and the `Page` that renderers get; tab-separated rows for a pipe.

Text renderers make such lines, both for a terminal and for a pipe. A span is (style, text); a style is a name in
`theme.STYLES`, never a colour. The code that prints lines replaces control characters in every span, so renderers
needn't do it.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

Span = tuple[str, str]
Line = list[Span]

TAB: Span = ("tab", "\t")
"""The separator of columns in a piped table; a tab in any other span is data, and is replaced."""


class Page(NamedTuple):
    """The properties of the output that a renderer must know.

    Attributes:
        width: the number of terminal cells; None for a pipe, where nothing is cut or wrapped, and where a list has one
            tab-separated row per line.
        now: the current time in seconds since 1970, for "2h ago".
        reveal: whether secrets are shown.
    """

    width: int | None
    now: float
    reveal: bool = False


def plain(line: Line) -> str:
    """The text of a line without its styles."""
    return "".join(text for _, text in line)


def row(columns: Iterable[Line]) -> Line:
    """One line of a piped table: the columns, separated by tabs."""
    line: Line = []
    for number, column in enumerate(columns):
        line += [TAB, *column] if number else column
    return line


Lines = Iterator[Line]
