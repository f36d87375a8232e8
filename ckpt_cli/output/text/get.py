"""Shows one value: a string as it is, a known simple object as its text, everything else as JSON."""

from collections.abc import Iterable, Iterator
from typing import Any

from ckpt_cli.output.cells import fit, pad, truncate
from ckpt_cli.output.json import text
from ckpt_cli.output.line import Line, Page, row
from ckpt_cli.output.visible_names import visible
from ckpt_cli.values.jsonform import to_json
from ckpt_cli.values.parts import inside
from ckpt_cli.values.well_known_types import text as natural
from ckpt_cli.views.get import EachView, GetView, ThreadValue, ValueCount

_ID = (28, 40)  # cells for a thread's id, on a narrow terminal and on a wide one
_NARROW = 100


def render(view: GetView | EachView, page: Page) -> Iterator[Line]:
    """The value, or a row for each thread."""
    if isinstance(view, GetView):
        yield from _render_one(view, page)
    elif view.format == "csv":
        yield from _csv(view, page)
    else:
        yield from (_row(one, page) for one in view.values)


def _row(one: ThreadValue | ValueCount, page: Page) -> Line:
    """A thread with its value, or a value with its count; values other than text are JSON, on one line."""
    if page.width is None:
        return row([("", str(cell))] for cell in _cells(one, page))
    if isinstance(one, ValueCount):
        return fit([("title", f"{one.threads:>7,}"), ("", "  "), ("value", _one_line(one.value, page))], page.width)
    value: Line = [("value", _one_line(one.value, page))] if one.problem is None else [("bad", one.problem)]
    room = _ID[page.width >= _NARROW]
    return fit([("title", pad(truncate(visible(one.thread_id), room), room)), ("", "  "), *value], page.width)


def _cells(one: ThreadValue | ValueCount, page: Page) -> tuple[str | int, ...]:
    if isinstance(one, ValueCount):
        return one.threads, _one_line(one.value, page), one.thread_id
    value = _one_line(one.value, page) if one.problem is None else ""
    return one.thread_id, one.checkpoint_id, value, one.problem or ""


def _csv(view: EachView, page: Page) -> Iterator[Line]:
    """Rows as RFC 4180 has them, with a heading."""
    import csv
    from io import StringIO

    heading: Iterable[str] | None = None
    for one in view.values:
        for cells in ([] if heading else [_heading(one)]) + [_cells(one, page)]:
            buffer = StringIO()
            csv.writer(buffer, lineterminator="").writerow(cells)
            yield [("exact" if page.width is None else "value", buffer.getvalue())]
        heading = one._fields


def _heading(one: ThreadValue | ValueCount) -> tuple[str, ...]:
    """The names of the cells; why a value isn't proven is on stderr, and in JSON."""
    return tuple(name for name in one._fields if name != "note")


def _one_line(value: Any, page: Page) -> str:
    value = inside(value)
    shown = value if isinstance(value, str) else natural(value, page.reveal)
    return text(to_json(value, reveal=page.reveal), indent=None) if shown is None else shown


def _render_one(view: GetView, page: Page) -> Iterator[Line]:
    """The value and nothing else. A pipe gets text exactly as it is, a terminal gets it without control characters."""
    value = inside(view.value)
    shown = value if isinstance(value, str) else natural(value, page.reveal)
    if shown is None:
        shown = text(to_json(value, reveal=page.reveal), indent=2)
    if page.width is None:
        yield [("exact", shown)]
        return
    yield from ([("value", line)] for line in shown.split("\n"))
