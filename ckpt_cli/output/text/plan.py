"""A plan as text: what it does in words, the rows it touches, and afterwards how to go on or back."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator

from ckpt_cli.output.cells import wrap
from ckpt_cli.output.line import Line, Page
from ckpt_cli.output.quantities import size
from ckpt_cli.views.plan import PlanView, RowLine

_DONE = {"add": ("added to", "added"), "change": ("changed in", "changed"), "remove": ("removed from", "removed")}


_WIDTH = 100
"""Cells for changes where nothing limits the line: a summary all the same."""


def render(view: PlanView, page: Page) -> Iterator[Line]:
    """The plan, unless the person has just said yes to it, and what came of it."""
    if not view.asked:
        yield from planned(view, page)
    if view.applied:
        which = f" {view.operation}" if view.command == "undo" else ""
        yield [("good", f"done, operation {view.operation}."), ("muted", f"  ckpt undo{which} takes it back.")]
        if view.config is not None:
            yield [("exact", json.dumps({**view.config}, ensure_ascii=True))]
    elif view.rows:
        yield [("muted", "Nothing written (--dry-run).")]


def planned(view: PlanView, page: Page) -> Iterator[Line]:
    """What will be done."""
    first, *more = _wrapped(f"{view.command} {view.summary}", page, 0)
    yield [("title", view.command), ("", first[len(view.command) :])]
    yield from ([("", part)] for part in more)
    if view.changes:
        from ckpt_cli.output.text.diff import changed

        yield from changed(view.changes, page._replace(width=page.width or _WIDTH), 2)
    for note in view.notes:
        yield from ([("", f"  {part}")] for part in _wrapped(note, page, 2))
    yield counted(view.rows)


def _wrapped(text: str, page: Page, indent: int) -> Iterator[str]:
    return iter([text]) if page.width is None else wrap(text, max(page.width - indent, 20))


def counted(rows: Iterable[RowLine]) -> Line:
    """``1 row added to checkpoints, 3 removed from writes.``"""
    found = Counter((row.change, row.table) for row in rows)
    line: Line = []
    for place, ((change, table), count) in enumerate(found.items()):
        words, style = _DONE[change]
        noun = "" if place else (" row" if count == 1 else " rows")
        line += [("", ", ")] if place else []
        line += [(style, f"{count}{noun} {words} {table}")]
    if not line:
        return [("muted", "Nothing to change.")]
    kept = sum(row.before for row in rows)
    return [*line, ("", "."), *([("muted", f"  {size(kept)} kept for undo")] if kept > 1_000_000 else [])]
