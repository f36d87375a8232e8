"""Shows one operation thread by thread."""

from collections.abc import Iterator

from ckpt_cli.output.cells import fit
from ckpt_cli.output.line import Line, Page, row
from ckpt_cli.output.text.bulk import without_details
from ckpt_cli.output.text.operations import operation_lines
from ckpt_cli.output.theme import OPERATION_STATES
from ckpt_cli.output.visible_names import visible
from ckpt_cli.views.operation_parts import OperationPartsView, PartLine

_FORGOTTEN = "(forgotten)"


def render(view: OperationPartsView, page: Page) -> Iterator[Line]:
    """The operation's own lines on a terminal, then a line for each thread."""
    if page.width is not None:
        yield from operation_lines(view.operation, page, page.width)
    for part in view.threads:
        yield _row(part) if page.width is None else _line(part, page.width)


def _row(part: PartLine) -> Line:
    cells = [("title", part.thread_id or ""), (OPERATION_STATES[part.state], part.state)]
    numbers = (part.rows, part.bytes, part.forgotten)
    return row([cell] for cell in [*cells, ("", part.problem or part.summary), *(("", str(one)) for one in numbers)])


def _line(part: PartLine, width: int) -> Line:
    name = _FORGOTTEN if part.thread_id is None else visible(part.thread_id)
    line: Line = [("", "  "), (OPERATION_STATES[part.state], f"{part.state:<9}"), ("", "  "), ("title", name)]
    return fit(
        [*line, ("", "  "), ("bad" if part.problem else "", part.problem or without_details(part.summary))], width
    )
