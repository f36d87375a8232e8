"""Text in terminal cells (CJK, emoji, accents): measured, cut, padded, wrapped; messages broken at blanks.

A CJK character or a family emoji takes two cells, an accent takes none. Every function measures text as it will be
printed: after `clean` has replaced control characters.
"""

import re
from collections.abc import Iterator

from ckpt_cli.output.clean import clean
from ckpt_cli.output.line import Line
from ckpt_cli.output.theme import MORE

_NARROW = "[ -~¡-¬®-˿“”‘’…→•×○●│├└─]*"
"""Latin letters and most signs of the theme; each takes one cell, so Rich's table isn't needed for them."""
_UNIT = r"(\s*)((?:[^\s`]|`[^`]*`|`)+)"
"""A word, or a command in backticks, together with the blanks before it."""
_JOINERS = "\u200d\ufe0e\ufe0f\u20e3"


def cell_len(text: str) -> int:
    """The number of cells that a text takes."""
    if _is_plain(text):
        return len(text)
    text = clean(text)
    if text.isascii() or re.fullmatch(_NARROW, text):
        return len(text)
    from rich.cells import cell_len as measure

    return measure(text)


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable()


def truncate(text: str, cells: int) -> str:
    """The text in at most `cells` cells; if it is cut, it ends with ``…``."""
    if len(text) <= cells and _is_plain(text):
        return text
    text = clean(text[: 8 * max(cells, 1) + 8])  # no cluster that people write has more than 8 characters per cell
    if cell_len(text) > cells:
        text = text[: _count_fitting(text, cells - 1)] + MORE if cells > 0 else ""
    return text.rstrip("\u200d")  # a joiner at the end would join with the next printed character


def cut_middle(text: str, cells: int, end: int) -> str:
    """The text in at most `cells` cells; if it is cut, at most `end` cells of its end stay, behind a ``…``."""
    text = clean(text)
    if cell_len(text) <= cells:
        return text
    start = max(len(text) - end, 0)
    while start < len(text) and (cell_len(text[start:]) > end or _joins_previous(text, start)):
        start += 1
    head = _count_fitting(text, cells - 1 - cell_len(text[start:]))
    return f"{text[:head]}{MORE}{text[start:]}".rstrip("\u200d")


def pad(text: str, cells: int, *, right: bool = False) -> str:
    """The text in exactly `cells` cells, cut if it is too long; `right` aligns it to the right, as for numbers."""
    text = truncate(text, cells)
    blank = " " * (cells - cell_len(text))
    return blank + text if right else text + blank


def wrap(text: str, cells: int) -> Iterator[str]:
    """The text broken into lines of at most `cells` cells, at spaces if possible; newlines are kept."""
    for paragraph in text.replace("\r\n", "\n").split("\n"):
        rest = clean(paragraph.expandtabs(4))
        while cell_len(rest) > cells:
            end = max(_count_fitting(rest, cells), 1)
            space = rest.rfind(" ", 1, end + 1)
            if space > 0 and rest[:space].strip():
                yield rest[:space].rstrip()
                rest = rest[space + 1 :]
            else:
                yield rest[:end]
                rest = rest[end:]
        yield rest


def flow(text: str, cells: int) -> Iterator[str]:
    """A message of ckpt broken into lines, only at blanks.

    The user may want to copy a path, an id or a command in backticks, so these are never broken, even if too long.
    """
    for paragraph in text.split("\n"):
        line = ""
        for blanks, unit in re.findall(_UNIT, clean(paragraph)):
            if line.strip() and cell_len(line + blanks + unit) > cells:
                yield line
                line = unit
            else:
                line += blanks + unit
        yield line


def line_len(line: Line) -> int:
    """The number of cells that a styled line takes."""
    return sum(cell_len(text) for _, text in line)


def fit(line: Line, cells: int | None) -> Line:
    """A styled line in at most `cells` cells; None means no limit."""
    if cells is None or line_len(line) <= cells:
        return line
    fitted: Line = []
    left = cells - 1
    for style, text in line:
        size = cell_len(text)
        if size > left:
            return [*fitted, (style, clean(text)[: _count_fitting(clean(text), left)] + MORE)] if cells > 0 else []
        fitted.append((style, text))
        left -= size
    return fitted


def break_between_spans(line: Line, width: int | None) -> Iterator[Line]:
    """The line; if it is too long, it is broken only between spans, so that no command or path is broken."""
    if width is None or line_len(line) <= width:
        yield line
        return
    current: Line = []
    for style, text in line:
        if current and text.startswith(" ") and line_len(current) + cell_len(text) > width:
            yield current
            current = []
        current.append((style, text if current else text.lstrip(" ")))
    yield current


def _count_fitting(text: str, cells: int) -> int:
    """The number of characters that fit into `cells` cells, without splitting characters that combine."""
    low, high = 0, min(len(text), 8 * max(cells, 0))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if cell_len(text[:middle]) <= cells else (low, middle - 1)
    while 0 < low < len(text) and _joins_previous(text, low):
        low -= 1
    return low


def _joins_previous(text: str, index: int) -> bool:
    """Whether the character at this index combines with the character before it."""
    if text[index].isascii():
        return False
    from unicodedata import combining

    char, before = text[index], text[index - 1]
    return char in _JOINERS or before == "\u200d" or bool(combining(char)) or "\U0001f3fb" <= char <= "\U0001f3ff"
