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
        names = ", ".join(f"{operation.kind} {operation.name} on {operation.table}" for operation in view.accepted)
        yield fit([("muted", f"accepted: {names} (--forget-triggers asks again)")], page.width)
    if view.reducers and page.width is not None:
        names = ", ".join(f"{channel} {name}" for channel, name in view.reducers.items())
        yield fit([("muted", f"remembered: {names} (--forget-reducer CHANNEL forgets)")], page.width)
    if not view.operations and page.width is not None:
        yield [("muted", "nothing was done to this database")]
    if view.to_wipe and page.width is not None:
        yield [("waiting", "forgotten operations are not wiped yet: ckpt operations --settle")]
    for operation in view.operations:
        if page.width is None:
            yield _row(operation)
        else:
            yield from _lines(operation, page)


def _row(operation: OperationLine) -> Line:
    cells = [
        ("id", str(operation.number)),
        ("muted", operation.at),
        (OPERATION_STATES[operation.state], operation.state),
    ]
    cells += [
        ("title", operation.command),
        ("", operation.summary),
        ("value", operation.reason),
        ("", str(operation.rows)),
    ]
    cells += [("", str(operation.bytes)), ("muted", str(operation.forgotten))]
    return row([cell] for cell in cells)


def _lines(operation: OperationLine, page: Page) -> Iterator[Line]:
    when = ago(datetime.fromisoformat(operation.at).timestamp(), page.now)
    rows = "1 row" if operation.rows == 1 else f"{operation.rows} rows"
    head: Line = [
        ("id", f"{operation.number:>3}"),
        ("", "  "),
        (OPERATION_STATES[operation.state], f"{operation.state:<9}"),
        ("", "  "),
    ]
    kept_bytes = size(operation.bytes)
    if operation.forgotten:
        kept_bytes = (
            "forgotten"
            if operation.forgotten == operation.rows
            else f"{operation.forgotten:,} of them forgotten, {kept_bytes}"
        )
    head += [("title", operation.command), ("muted", f"  {when}  {rows}, {kept_bytes}")]
    yield fit(head, page.width)
    yield fit([("", f"     {operation.summary}")], page.width)
    if operation.reason:
        yield fit([("value", f"     {quoted(operation.reason)}")], page.width)
