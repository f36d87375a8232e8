"""Prints styled lines on a terminal with Rich: its width and colours; starts the pager if needed.

Only this module needs Rich.
"""

import shutil
import sys
from collections.abc import Callable, Iterable

from rich.console import COLOR_SYSTEMS, Console
from rich.theme import Theme

from ckpt_cli.output import stdout
from ckpt_cli.output.clean import clean
from ckpt_cli.output.line import TAB, Line
from ckpt_cli.output.theme import STYLES


def width() -> int:
    """The width of the terminal in cells; the variable COLUMNS overrides it."""
    return max(20, shutil.get_terminal_size().columns)


def write(lines: Iterable[Line], *, colored: bool, paged: bool, release: Callable[[], None]) -> None:
    """Print styled lines; `release` is called when all lines are made, before a pager starts."""
    paint = painter(colored)
    texts = [paint(line) for line in lines]
    release()
    if paged and len(texts) >= shutil.get_terminal_size().lines:
        from ckpt_cli.output.pager import page

        if page(texts):
            return
    stdout.write(texts)


def painter(colored: bool) -> Callable[[Line], str]:
    """A function that turns a line into text with escape codes, in the colours that this terminal has."""
    console = Console(file=sys.stdout, force_terminal=colored, color_system="auto" if colored else None)
    colors = COLOR_SYSTEMS.get(console.color_system or ("standard" if colored else ""))
    styles = Theme(STYLES, inherit=False).styles

    def paint(line: Line) -> str:
        spans = ((style, text if (style, text) == TAB else clean(text)) for style, text in line)
        return "".join(styles[style].render(text, color_system=colors) if style else text for style, text in spans)

    return paint
