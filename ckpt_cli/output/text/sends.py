"""Shows the tasks of Sends, in the same way for all commands: their argument; names are in `task_names`."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from ckpt_cli.output.cells import line_len, pad
from ckpt_cli.output.line import Line, Page
from ckpt_cli.output.text.brief import brief
from ckpt_cli.output.text.values import value_after
from ckpt_cli.values.parts import fields
from ckpt_cli.views.sends import SendView


class _Request(Protocol):
    """A tool call about which a person decides."""

    @property
    def tool(self) -> str: ...

    @property
    def args(self) -> dict[str, Any]: ...


class _Question(Protocol):
    """What the views of questions have in common."""

    @property
    def requests(self) -> Sequence[_Request]: ...


GIVEN = "given"
"""The label of an argument."""
_MOST_PARTS = 1000  # a tool call is searched in this many parts of an argument
_TO_RUN = ("failed", "answered", "due")


def argument(send: SendView | None, cells: int | None, *, reveal: bool = False) -> Line:
    """The argument of a Send in at most `cells` cells, after two blanks; empty for a task of another kind."""
    if send is None:
        return []
    return [("", "  "), ("value", brief(send.argument, cells and max(cells - 2, 1), reveal=reveal))]


def beside_questions(send: SendView | None, questions: Sequence[_Question]) -> SendView | None:
    """The Send, unless its argument holds the tool calls of a question beside it, which shows them."""
    requests = [request for question in questions for request in question.requests]
    if send is None or not requests:
        return send
    return None if all(_holds(send.argument, request) for request in requests) else send


def _holds(given: Any, request: _Request) -> bool:
    """Whether a tool call is somewhere in an argument, as a dict with the tool and its arguments among its values."""
    parts, left = [given], _MOST_PARTS
    while parts and left:
        part, left = parts.pop(), left - 1
        inner = list(part) if isinstance(part, list | tuple) else list(fields(part).values())
        if request.tool in inner and request.args in inner:
            return True
        parts += inner
    return False


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
