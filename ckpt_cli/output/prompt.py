"""The question before a change, with its plan, on stderr, as wide as the terminal; what means yes."""

import sys
from collections.abc import Callable
from contextlib import suppress

from ckpt_cli import ctrl_c
from ckpt_cli.errors import no_terminal
from ckpt_cli.output import talk
from ckpt_cli.output.cells import flow
from ckpt_cli.output.clean import clean_line
from ckpt_cli.output.line import Line, Page
from ckpt_cli.output.text import bulk, plan
from ckpt_cli.views.bulk import BulkView
from ckpt_cli.views.plan import PlanView
from ckpt_cli.views.resume import QuestionLine

_YES = {"y", "yes"}


def confirm(view: PlanView | BulkView, *, colored: bool) -> bool:
    """Show a plan and ask whether to apply it. Returns True for "y" or "yes"; every other answer means no.

    Raises:
        Refused: there is no terminal on which to ask.
    """
    if sys.stdin is None or sys.stderr is None or not sys.stdin.isatty():
        raise no_terminal("the plan was not applied")
    paint = _painter(colored)
    page = Page(talk.width(), 0.0)
    for line in bulk.plan_lines(view, page) if isinstance(view, BulkView) else plan.plan_lines(view, page):
        sys.stderr.write(paint(line) + "\n")
    return answer("Apply? [y/N] ")


def answer(question: str) -> bool:
    """Ask a question. Returns True for "y" or "yes"; every other answer means no."""
    return (_typed(question) or "").strip().lower() in _YES


def ask_line(question: QuestionLine | None, text: str, *, colored: bool, reveal: bool) -> str | None:
    """Show a graph's question whole, if one is given, then a prompt; the typed line, or None at the end of input."""
    if question is not None:
        from ckpt_cli.output.text.resume import question_lines

        paint = _painter(colored)
        for line in question_lines(question, Page(talk.width(), 0.0, reveal)):
            sys.stderr.write(paint(line) + "\n")
        sys.stderr.flush()
        _drop_what_was_typed_before()
    cells = talk.width()
    lines = [text.rstrip()] if cells is None else flow(text.rstrip(), cells - 1)
    return _typed("\n".join(clean_line([("", line)]) for line in lines) + " ")


def _drop_what_was_typed_before() -> None:
    """Drop typed lines that are not read yet: nobody answers a question before seeing it."""
    import termios

    with suppress(termios.error):  # stdin is no terminal
        termios.tcflush(sys.stdin, termios.TCIFLUSH)


def _typed(question: str) -> str | None:
    ctrl_c.note_question(is_open=True)
    sys.stderr.write(question)
    sys.stderr.flush()
    reply = sys.stdin.readline()
    ctrl_c.note_question(is_open=False)
    return reply or None


def _painter(colored: bool) -> Callable[[Line], str]:
    if colored:
        from ckpt_cli.output.terminal import painter

        return painter(colored)
    return clean_line
