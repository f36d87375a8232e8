"""Shows the tasks of Sends, in the same way for all commands: their argument; names are in `task_names`."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from ckpt_cli.output.cells import line_len, pad
from ckpt_cli.output.line import Line, Page
from ckpt_cli.output.text.brief import brief
from ckpt_cli.output.text.values import value_after
from ckpt_cli.views.sends import SendView


class _Question(Protocol):
    """What the views of questions have in common."""

    @property
    def requests(self) -> Sequence[Any]: ...


GIVEN = "given"
"""The label of an argument."""
_TO_RUN = ("failed", "answered", "due")


def argument(send: SendView | None, cells: int | None, *, reveal: bool = False) -> Line:
    """The argument of a Send in at most `cells` cells, after two blanks; empty for a task of another kind."""
    if send is None:
        return []
    return [("", "  "), ("value", brief(send.argument, cells and max(cells - 2, 1), reveal=reveal))]


def beside_questions(send: SendView | None, questions: Sequence[_Question]) -> SendView | None:
    """The Send, unless a question about tool calls beside it shows what it was given."""
    return None if any(question.requests for question in questions) else send


def argument_lines(
    send: SendView | None, status: str, page: Page, column: int, *, indent: int = 4, full: bool = False
) -> Iterator[Line]:
    """The lines about the argument of a Send: whole if the task is to run again or `full`, else one line.

    The label takes `column` cells after the indent. No lines for a task of another kind.
    """
    if send is not None:
        head: Line = [("", " " * indent), ("muted", pad(GIVEN, max(column, len(GIVEN))))]
        if full or status in _TO_RUN:
            yield from value_after(head, send.argument, page, indent + 2, full=True)
        else:
            room = None if page.width is None else page.width - line_len(head)
            yield [*head, *argument(send, room, reveal=page.reveal)]


def send_cells(send: SendView | None, page: Page) -> Line:
    """The cells of a Send in a row for a pipe: ``3/5`` and the argument; none for a task of another kind."""
    if send is None:
        return []
    return [("muted", f"{send.number}/{send.of}"), ("value", brief(send.argument, reveal=page.reveal))]
