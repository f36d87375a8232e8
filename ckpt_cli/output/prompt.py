"""The question before a change, with its plan, on stderr, as wide as the terminal; what means yes."""

import sys
from collections.abc import Callable

from ckpt_cli import ctrl_c
from ckpt_cli.errors import Refused
from ckpt_cli.output import talk
from ckpt_cli.output.clean import clean_line
from ckpt_cli.output.line import Line, Page
from ckpt_cli.output.text.plan import plan_lines
from ckpt_cli.views.plan import PlanView

_YES = {"y", "yes"}


def confirm(view: PlanView, *, colored: bool) -> bool:
    """Show a plan and ask whether to apply it. Returns True for "y" or "yes"; every other answer means no.

    Raises:
        Refused: there is no terminal on which to ask.
    """
    if sys.stdin is None or sys.stderr is None or not sys.stdin.isatty():
        raise Refused("not confirmed: there is no terminal to ask on", hint="--yes applies it, --dry-run shows it")
    paint = _painter(colored)
    for line in plan_lines(view, Page(talk.width(), 0.0)):
        sys.stderr.write(paint(line) + "\n")
    return answer("Apply? [y/N] ")


def answer(question: str) -> bool:
    """Ask a question. Returns True for "y" or "yes"; every other answer means no."""
    ctrl_c.note_question(is_open=True)
    sys.stderr.write(question)
    sys.stderr.flush()
    reply = sys.stdin.readline()
    ctrl_c.note_question(is_open=False)
    return reply.strip().lower() in _YES


def _painter(colored: bool) -> Callable[[Line], str]:
    if colored:
        from ckpt_cli.output.terminal import painter

        return painter(colored)
    return clean_line
