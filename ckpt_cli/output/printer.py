"""Chooses how a view is printed (terminal, pipe, JSON), colours, streaming; says on stderr that it is cut.

A command never knows the form.
"""

import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from ckpt_cli.errors import UsageError
from ckpt_cli.output import stdout, talk
from ckpt_cli.output.clean import clean_line
from ckpt_cli.output.line import Line, Page
from ckpt_cli.views.base import View

if TYPE_CHECKING:
    from ckpt_cli.views.bulk import BulkView
    from ckpt_cli.views.plan import PlanView
    from ckpt_cli.views.resume import QuestionLine

Color = Literal["auto", "always", "never"]


class Printer:
    """Prints one command's answer in the form that its options ask for."""

    def __init__(
        self,
        *,
        as_json: bool = False,
        as_jsonl: bool = False,
        query: str | None = None,
        color: Color = "auto",
        paged: bool = True,
        reveal: bool = False,
    ) -> None:
        self._json = as_json or query is not None
        self._jsonl = as_jsonl
        self._color = color
        self._paged = paged
        self._reveal = reveal
        self._query = None
        if query is not None:
            from ckpt_cli.output.query import Query

            self._query = Query(query)

    def say(self, text: str) -> None:
        """Write a remark to stderr."""
        talk.say(text)

    def progress(self, text: str) -> None:
        """Show how far long work has come, on a terminal; "" removes that."""
        talk.progress(text)

    def confirm(self, view: "PlanView | BulkView") -> bool:
        """Show the plan and ask whether to apply it.

        Raises:
            UsageError: the user wants JSON, which has no place for a question.
            Refused: there is no terminal on which to ask.
        """
        if self._json:
            raise UsageError("--json shows no plan to say yes to", hint="--dry-run shows it, --yes applies it")
        from ckpt_cli.output import prompt

        view.confirmed = prompt.confirm(view, colored=wants_color(self._color, talk.on_terminal()))
        return view.confirmed

    def confirm_again(self, question: str) -> bool:
        """Ask one more question about the plan that `confirm` has shown."""
        from ckpt_cli.output import prompt

        return prompt.answer(question)

    @property
    def has_dialogue(self) -> bool:
        """Whether the person types and reads on a terminal, and wants text."""
        streams = (sys.stdin, sys.stdout, sys.stderr)
        return not (self._json or self._jsonl) and all(one is not None and one.isatty() for one in streams)

    def ask_line(self, question: "QuestionLine | None", text: str) -> str | None:
        """Show a graph's question whole, if one is given, and a prompt; the typed line, or None at the end of input."""
        from ckpt_cli.output import prompt

        colored = wants_color(self._color, talk.on_terminal())
        return prompt.ask_line(question, text, colored=colored, reveal=self._reveal)

    def show(self, view: View, *, now: float, release: Callable[[], None] = lambda: None) -> None:
        """Print a view; `release` closes the database before a pager waits for the user."""
        if self._json or self._jsonl:
            from ckpt_cli.output import json

            if self._jsonl:
                stdout.write(json.rows(view, self._query, reveal=self._reveal), prompt=True)
            else:
                stdout.write([json.document(view, self._query, reveal=self._reveal)])
            self._say_cut(view)
            return
        on_terminal = sys.stdout is not None and sys.stdout.isatty()
        colored = wants_color(self._color, on_terminal)
        if not on_terminal and not colored:
            lines = render(view, Page(None, now, self._reveal))
            stdout.write(map(clean_line, lines), prompt=_is_streamed(view))
            self._say_cut(view)
            return
        from ckpt_cli.output import terminal

        page = Page(terminal.width() if on_terminal else None, now, self._reveal)
        terminal.write(render(view, page), colored=colored, paged=on_terminal and self._paged, release=release)

    def _say_cut(self, view: View) -> None:
        if view.cut:
            talk.say(view.cut)


def render(view: View, page: Page) -> Iterator[Line]:
    """The lines of a view, by the text renderer of its verb."""
    lines: Iterator[Line] = import_module(f"ckpt_cli.output.text.{view.verb}").render(view, page)
    return lines


def wants_color(choice: Color, on_terminal: bool) -> bool:
    """Whether to use colours. The option decides, then NO_COLOR, then FORCE_COLOR; else a terminal gets colours."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (on_terminal and os.environ.get("TERM") != "dumb")


def _is_streamed(view: View) -> bool:
    return bool(view.rows_field) and isinstance(getattr(view, view.rows_field), Iterator)
