"""The home of Rich: styled lines on a terminal, and the pager when they are more than a screen."""

import shutil
import sys
from collections.abc import Callable, Iterable

from rich.console import Console
from rich.text import Text
from rich.theme import Theme

from ckpt_cli.output import stdout
from ckpt_cli.output.clean import clean
from ckpt_cli.output.line import TAB, Line

THEME = {
    "title": "bold",
    "id": "yellow",
    "key": "cyan",
    "node": "magenta",
    "value": "",
    "muted": "bright_black",
    "added": "green",
    "removed": "red",
    "changed": "yellow",
    "good": "green",
    "waiting": "bold yellow",
    "bad": "bold red",
    "head": "bold green",
    "human": "bold blue",
    "ai": "bold green",
    "tool": "bold magenta",
    "system": "bold bright_black",
    "tab": "",
}


def width() -> int:
    """Cells in a line; COLUMNS goes first."""
    return max(20, shutil.get_terminal_size().columns)


def write(lines: Iterable[Line], *, colored: bool, paged: bool, release: Callable[[], None]) -> None:
    """Print styled lines."""
    console = _console(colored)
    texts = [ansi(console, line) for line in lines]
    release()
    if paged and len(texts) >= shutil.get_terminal_size().lines:
        from ckpt_cli.output.pager import page

        if page(texts):
            return
    stdout.write(texts)


def ansi(console: Console, line: Line) -> str:
    """One line with the terminal's own codes for its styles."""
    text = Text()
    for style, span in line:
        text.append(span if (style, span) == TAB else clean(span), f"{style}" if style else None)
    with console.capture() as captured:
        console.print(text, soft_wrap=True, end="")
    return captured.get()


def _console(colored: bool) -> Console:
    return Console(
        file=sys.stdout,
        force_terminal=colored,
        no_color=not colored,
        color_system="auto" if colored else None,
        theme=Theme(THEME),
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
