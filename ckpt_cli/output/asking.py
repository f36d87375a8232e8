"""The one question ckpt asks: a plan on stderr, and yes or no from the terminal, so that stdout stays data."""

import sys
from collections.abc import Callable

from ckpt_cli.errors import Refused
from ckpt_cli.output import talk
from ckpt_cli.output.line import Line, Page
from ckpt_cli.output.text.plan import planned
from ckpt_cli.views.plan import PlanView

_YES = {"y", "yes"}


def confirm(view: PlanView, *, colored: bool) -> bool:
    """Show a plan and read the answer; anything but yes is no.

    Raises:
        Refused: there is no terminal to ask on.
    """
    if sys.stdin is None or sys.stderr is None or not sys.stdin.isatty():
        raise Refused("not confirmed: there is no terminal to ask on", hint="--yes applies it, --dry-run shows it")
    paint = _painter(colored)
    for line in planned(view, Page(talk.width(), 0.0)):
        sys.stderr.write(paint(line) + "\n")
    return answer("Apply? [y/N] ")


def answer(question: str) -> bool:
    """Ask on the terminal that `confirm` found; anything but yes is no."""
    try:
        sys.stderr.write(question)
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in _YES
    except KeyboardInterrupt:
        sys.stderr.write("\n")  # what is said next has a line of its own
        raise


def _painter(colored: bool) -> Callable[[Line], str]:
    if colored:
        from ckpt_cli.output.terminal import painter

        return painter(colored)
    from ckpt_cli.output.printer import plain_text

    return plain_text
