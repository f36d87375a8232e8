"""Shows the operation log: two or three lines for each operation; in a pipe, one row each."""

from collections.abc import Iterator
from datetime import datetime

from ckpt_cli.output.cells import fit
from ckpt_cli.output.line import Line, Page, row
from ckpt_cli.output.quantities import ago, size
from ckpt_cli.output.theme import OPERATION_STATES, quoted
from ckpt_cli.views.operations import OperationLine, OperationsView


def render(view: OperationsView, page: Page) -> Iterator[Line]:
    """The operations, newest first."""
    if view.pruned and page.width is not None:
        yield [("muted", f"{view.pruned} forgotten")]
    if view.accepted and page.width is not None:
        names = ", ".join(f"{one.kind} {one.name} on {one.table}" for one in view.accepted)
        yield fit([("muted", f"accepted: {names} (--forget-triggers asks again)")], page.width)
    if not view.operations and page.width is not None:
        yield [("muted", "nothing was done to this database")]
    if view.to_wipe and page.width is not None:
        yield [("waiting", "what was to be forgotten is not wiped yet: ckpt operations --settle")]
    for one in view.operations:
        if page.width is None:
            yield _row(one)
        else:
            yield from _lines(one, page)


def _row(one: OperationLine) -> Line:
    cells = [("id", str(one.number)), ("muted", one.at), (OPERATION_STATES[one.state], one.state)]
    cells += [("title", one.command), ("", one.summary), ("value", one.reason), ("", str(one.rows))]
    cells += [("", str(one.bytes)), ("muted", str(one.forgotten))]
    return row([cell] for cell in cells)


def _lines(one: OperationLine, page: Page) -> Iterator[Line]:
    when = ago(datetime.fromisoformat(one.at).timestamp(), page.now)
    rows = "1 row" if one.rows == 1 else f"{one.rows} rows"
    head: Line = [("id", f"{one.number:>3}"), ("", "  "), (OPERATION_STATES[one.state], f"{one.state:<9}"), ("", "  ")]
    kept_bytes = size(one.bytes)
    if one.forgotten:
        kept_bytes = "forgotten" if one.forgotten == one.rows else f"{one.forgotten:,} of them forgotten, {kept_bytes}"
    head += [("title", one.command), ("muted", f"  {when}  {rows}, {kept_bytes}")]
    yield fit(head, page.width)
    yield fit([("", f"     {one.summary}")], page.width)
    if one.reason:
        yield fit([("value", f"     {quoted(one.reason)}")], page.width)
