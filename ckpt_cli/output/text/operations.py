"""Shows the operation log: two or three lines for each operation; in a pipe, one row each."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from ckpt_cli.output.cells import fit, flow, line_len
from ckpt_cli.output.line import Line, Page, row
from ckpt_cli.output.quantities import ago, size
from ckpt_cli.output.text.bulk import without_details
from ckpt_cli.output.text.changed_threads import ids_text, names_text, summary_spans
from ckpt_cli.output.text.steps import join_lines
from ckpt_cli.output.theme import OPERATION_STATES, quoted
from ckpt_cli.output.visible_names import visible
from ckpt_cli.views.operations import OperationLine, OperationsView, PartLine

_FORGOTTEN = "(forgotten)"
"""Shown for a thread that was forgotten."""


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
        yield [("muted", f"nothing in this user's log ({view.log})")]
    if view.to_wipe and page.width is not None:
        yield [("waiting", "forgotten operations are not wiped yet: ckpt operations --settle")]
    for operation in [] if view.threads and page.width is None else view.operations:
        if page.width is None:
            yield _row(operation)
        else:
            yield from _lines(operation, page, page.width, full=view.full)
    yield from _shown_parts(view, page)


def _shown_parts(view: OperationsView, page: Page) -> Iterator[Line]:
    """A line for each thread of one operation; in a pipe without a line for the operation, as columns differ."""
    for part in view.threads:
        yield _part_row(part) if page.width is None else _part_line(part, page.width)


def _part_row(part: PartLine) -> Line:
    cells = [("title", part.thread_id or ""), (OPERATION_STATES[part.state], part.state)]
    cells += [("", part.problem or part.summary)]
    cells += [("", str(number)) for number in (part.rows, part.bytes, part.forgotten)]
    return row([cell] for cell in [*cells, ("value", _joined(part.details))])


def _part_line(part: PartLine, width: int) -> Line:
    name = _FORGOTTEN if part.thread_id is None else visible(part.thread_id)
    line: Line = [("", "  "), (OPERATION_STATES[part.state], f"{part.state:<9}"), ("", "  "), ("title", name)]
    what = ("bad", part.problem) if part.problem else ("", _joined(part.details) or without_details(part.summary))
    return fit([*line, ("", "  "), what], width)


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
    counts = ("" if count is None else str(count) for count in (operation.threads, operation.namespaces))
    cells += [("", count) for count in counts]
    cells += [("title", ids_text(operation.threads, operation.where))]
    cells += [("muted", text or "") for text in (operation.user, operation.host, operation.version)]
    cells += [("value", _joined(operation.details))]
    return row([cell] for cell in cells)


def _lines(operation: OperationLine, page: Page, width: int, *, full: bool) -> Iterator[Line]:
    """The lines of an operation, cut unless `full`.

    The first line has the thread if there is any room for it, then the sizes, then by whom the operation was made.
    """
    where, who = summary_spans(operation.threads, operation.namespaces, operation.where), _who(operation)
    sizes: Line = [("muted", _sizes(operation))]
    ways: tuple[tuple[Line, Line, Line], ...] = (
        (where, sizes, who),
        (where, sizes, []),
        (where, [], []),
        (where[:1], sizes, []),
        (where[:1], [], []),
        ([], sizes, []),
    )
    heads = [(_head(operation, page, *parts), parts) for parts in ways]
    head, parts = next((one for one in heads if line_len(one[0]) <= width), heads[-1])
    yield fit(head, width)
    names = names_text(operation.threads, operation.namespaces, operation.where)
    rest = [part for part, shown in zip((sizes, who), parts[1:], strict=True) if part and not shown]
    more: list[Line] = [[] if parts[0] == where else where, [("muted", names)], [("", operation.summary)]]
    more += [[("value", detail)] for detail in (operation.details if full else [_joined(operation.details)])]
    more += [_parts(operation)]
    more += [[("value", quoted(operation.reason) if operation.reason else "")], join_lines(rest, "  ")]
    for line in filter(line_len, more):
        if full and len(line) == 1:
            [(style, text)] = line
            yield from ([("", "     "), (style, part)] for part in flow(text, max(width - 5, 20)))
        else:
            yield fit([("", "     "), *line], width)


def _joined(details: Sequence[str]) -> str:
    return "; ".join(details)


def _sizes(operation: OperationLine) -> str:
    rows = "1 row" if operation.rows == 1 else f"{operation.rows:,} rows"
    return f"{rows}, {_kept_bytes(operation)}"


def _head(operation: OperationLine, page: Page, where: Line, sizes: Line, who: Line) -> Line:
    """The first line of an operation, with or without `where`, `sizes` and `who`."""
    when = ago(datetime.fromisoformat(operation.at).timestamp(), page.now)
    state: Line = [(OPERATION_STATES[operation.state], f"{operation.state:<9}")]
    head: Line = [("id", f"{operation.number:>3}"), ("", "  "), *state, ("", "  "), ("title", operation.command)]
    head += [("", " "), *where] if where else []
    return join_lines([[*head, ("", "  "), ("muted", when)], sizes, who], "  ")


def _parts(operation: OperationLine) -> Line:
    """How the threads of an operation on many threads ended, unless all of them are done."""
    parts = operation.parts
    if parts is None or parts.done == parts.planned:
        return []
    left = parts.planned - sum(parts[1:])
    counts = {"applied": parts.done, "undone": parts.undone, "refused": parts.refused, "interrupted": parts.waiting}
    counts |= {"not reached": parts.abandoned + left}
    return [("muted", ", ".join(f"{count:,} {word}" for word, count in counts.items() if count))]


def _kept_bytes(operation: OperationLine) -> str:
    if not operation.forgotten:
        return size(operation.bytes)
    if operation.forgotten == operation.rows:
        return "forgotten"
    return f"{operation.forgotten:,} of them forgotten, {size(operation.bytes)}"


def _who(operation: OperationLine) -> Line:
    if operation.user is None:
        return []
    return [("muted", f"{operation.user}@{operation.host}, ckpt {operation.version}")]
