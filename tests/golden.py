"""Golden files: what a view looks like on terminals of 80 and 200 columns, in a pipe, and as JSON.

``CKPT_GOLDEN=write pytest …`` writes the files anew; the difference is then read in version control.
"""

import os
from pathlib import Path

from ckpt_cli.output.cells import cell_len
from ckpt_cli.output.clean import clean_line
from ckpt_cli.output.json import document
from ckpt_cli.output.line import Page
from ckpt_cli.output.printer import render
from ckpt_cli.views.base import View

FOLDER = Path(__file__).parent / "golden"
NOW = 1_795_253_285.0
"""2026-11-21 09:28:05 UTC: a little after the newest database of ``tests/data`` was written."""

WIDTHS = {"80.txt": 80, "200.txt": 200, "piped.txt": None}


def check(name: str, view: View) -> None:
    """A view looks as its files say (``NAME.80.txt``, ``.200.txt``, ``.piped.txt``, ``.json``), and fits."""
    for ending, width in WIDTHS.items():
        shown = lines(view, width)
        assert width is None or not [line for line in shown if cell_len(line) > width]
        compare(f"{name}.{ending}", shown)
    compare(f"{name}.json", document(view, None, reveal=False).split("\n"))


def lines(view: View, width: int | None) -> list[str]:
    """The lines of a view on a terminal of some width, or in a pipe."""
    return [clean_line(line) for line in render(view, Page(width, NOW))]


def compare(name: str, shown: list[str]) -> None:
    """Lines are those of a file."""
    path = FOLDER / name
    if os.environ.get("CKPT_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in shown), encoding="utf-8")
    assert shown == path.read_text(encoding="utf-8").split("\n")[:-1], f"{name} differs"
