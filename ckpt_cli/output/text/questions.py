"""Shows open questions: in one line (tool, arguments, allowed answers), or whole, an argument per line."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from ckpt_cli.output.cells import cell_len, fit, line_len, truncate, wrap
from ckpt_cli.output.line import Line, Page, plain
from ckpt_cli.output.text.brief import UNCUT, brief
from ckpt_cli.output.theme import MORE
from ckpt_cli.values.parts import inside
from ckpt_cli.views.interrupts import RequestView

_ASKING = ("question", "query", "prompt", "message", "ask", "text", "title", "description", "content")
_LEAST = 10  # an argument is not shown in fewer cells than this
_TOOL = 40
_LISTED = 6


class Question(Protocol):
    """What the views of questions have in common."""

    @property
    def value(self) -> Any:
        """The value of the interrupt."""

    @property
    def requests(self) -> Sequence[RequestView]:
        """The tool calls that the question is about."""


def short_lines(question: Question, cells: int | None) -> Iterator[Line]:
    """A question in one line; a question about several tool calls in one line for each call, up to a few."""
    if not question.requests:
        yield text_in_line(question.value, cells)
        return
    yield from (_request_in_line(request, cells) for request in question.requests[:_LISTED])
    if len(question.requests) > _LISTED:
        yield [("muted", f"{MORE} {len(question.requests) - _LISTED} more tool calls")]


def cell(question: Question, *, reveal: bool = False) -> str:
    """A question in one cell of a piped table."""
    if not question.requests:
        return brief(question.value, reveal=reveal)
    return "; ".join(plain(_request_in_line(request, None, reveal=reveal)) for request in question.requests)


def text_in_line(value: Any, cells: int | None) -> Line:
    """A question of any form in one line: its text, if it has one, then the rest of its value."""
    wording, rest = split(value)
    if wording is None:
        return [("value", brief(value, cells))]
    text = brief(wording, cells)
    line: Line = [("value", text)]
    room = None if cells is None else cells - len(text) - 1
    if rest and (room is None or room >= 12):
        line += [("", " "), ("muted", brief(rest, room))]
    return line


def split(value: Any) -> tuple[str | None, dict[str, Any]]:
    """The text of a question, and the rest of its value. The text is None if none of the usual keys has one."""
    if isinstance(value, str):
        return value, {}
    if isinstance(value, dict):
        for name in _ASKING:
            if isinstance(value.get(name), str):
                return value[name], {key: item for key, item in value.items() if key != name}
    return None, {}


def _request_in_line(request: RequestView, cells: int | None, *, reveal: bool = False) -> Line:
    """``delete_user  name “bob”   approve/reject``; the arguments are cut before the allowed answers."""
    allowed = "/".join(request.allowed)
    line: Line = [("title", truncate(request.tool, _TOOL))]
    room = UNCUT if cells is None else cells - cell_len(line[0][1]) - cell_len(allowed) - 5
    shown = 0
    for key, value in request.args.items():
        rest = len(request.args) - shown - 1
        tail = len(f"  {MORE} {rest} more") if rest else 0
        left = room - cell_len(key) - 1 - tail
        if left < min(_LEAST, len(brief(value, _LEAST, reveal=reveal))):
            break
        share = left if not rest else max(_LEAST, left * 2 // 3)
        text = brief(value, min(left, share), reveal=reveal)
        line += [("", "  "), ("key", key), ("", " "), ("value", text)]
        room -= cell_len(key) + cell_len(text) + 3
        shown += 1
    if shown < len(request.args):
        more = f"{MORE} {len(request.args) - shown} more"
        fits = cells is None or line_len(line) + cell_len(more) + 5 + cell_len(allowed) <= cells
        line += [("", "  "), ("muted", more if fits else MORE)]
    return fit([*line, ("", "   "), ("waiting", allowed)], cells)


def whole_lines(question: Question, page: Page, indent: int, *, full: bool) -> Iterator[Line]:
    """The lines of tool calls: tool and allowed answers, then each argument; long ones are folded, unless `full`."""
    from ckpt_cli.output.text.values import block, entries

    numbered = len(question.requests) > 1
    for number, request in enumerate(question.requests, 1):
        label = f"{number}. " if numbered else ""
        head: Line = [("", " " * indent), ("muted", label), ("title", request.tool)]
        yield [*head, ("", "   "), ("waiting", "/".join(request.allowed))]
        if request.remark:
            yield from block(request.remark, page, indent + len(label) + 2, full=full)
        yield from entries(request.args, page, indent + len(label) + 2, full=full)


def plain_lines(value: Any, page: Page, width: int) -> Iterator[Line]:
    """The lines of a question of any other form, whole: its text without quotes, then the rest of its value."""
    from ckpt_cli.output.text.values import block, entries

    wording, rest = split(inside(value))
    if wording is None:
        yield from block(value, page, full=True)
        return
    yield from ([("value", line)] for line in wrap(wording, width))
    yield from entries(rest, page, full=True)
