"""A plan as text: what it does in words, the rows it touches, and afterwards how to go on or back."""

import json
from collections import Counter
from collections.abc import Iterator

from ckpt_cli.output.cells import line_len, wrap
from ckpt_cli.output.line import Line, Page
from ckpt_cli.output.quantities import size
from ckpt_cli.views.plan import PlanView

_DONE = {"add": ("added to", "added"), "change": ("changed in", "changed"), "remove": ("removed from", "removed")}

_FORGETTING = "operations"
"""The command that keeps nothing for undo."""

_WIDTH = 100
"""Cells for changes where nothing limits the line: a summary all the same."""


def render(view: PlanView, page: Page) -> Iterator[Line]:
    """The plan, unless the person has just said yes to it, and what came of it."""
    if not view.asked:
        yield from planned(view, page)
    if view.applied:
        yield [("good", f"done, operation {view.operation}."), ("muted", f"  {_way_back(view)}")]
        if view.config is not None:
            from ckpt_cli.output.text.config import pasted

            yield from pasted(view.config, page, "exact", json.dumps)
    elif view.rows:
        yield [("muted", "Nothing written (--dry-run).")]


def _way_back(view: PlanView) -> str:
    if view.forgets:
        return "It is forgotten: nothing brings it back."
    undo = f"ckpt undo{f' {view.operation}' if view.command == 'undo' else ''} takes it back"
    return f"{undo}; ckpt operations {view.operation} --prune forgets it." if view.log else f"{undo}."


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
    for text in _side_effects(view):
        yield from ([("waiting", f"  {part}")] for part in _wrapped(text, page, 2))
    yield from _broken(_counted(view), page)
    if view.log and view.rows:
        yield [("muted", f"The log keeps them for undo (--forget does not): {view.log}")]


def _side_effects(view: PlanView) -> Iterator[str]:
    """What the database does besides, which nobody can see beforehand."""
    for one in view.side_effects:
        where = one.relation if one.table == one.relation else f"{one.table}, for {one.relation}"
        yield f"{one.kind} {one.name} on {where} fires: what it does is not shown here, not logged and not undone"
    if not all(one.accepted for one in view.side_effects):
        yield "refused unless --with-triggers is said"


def _wrapped(text: str, page: Page, indent: int) -> Iterator[str]:
    return iter([text]) if page.width is None else wrap(text, max(page.width - indent, 20))


def _broken(line: Line, page: Page) -> Iterator[Line]:
    if page.width is None or line_len(line) <= page.width:
        return iter([line])
    from ckpt_cli.output.text.wording import wrapped

    return wrapped(line, page.width)


def _counted(view: PlanView) -> Line:
    """``1 row added to checkpoints, 3 removed from writes.``"""
    found = Counter((row.change, row.table) for row in view.rows)
    line: Line = []
    for place, ((change, table), count) in enumerate(found.items()):
        words, style = _DONE[change]
        noun = "" if place else (" row" if count == 1 else " rows")
        line += [("", ",")] if place else []
        line += [(style, f"{' ' if place else ''}{count}{noun} {words} {table}")]
    if not line:
        return [("muted", "Nothing to change.")]
    kept = sum(row.before for row in view.rows) if view.command != _FORGETTING and not view.forgets else 0
    return [*line, ("", "."), *([("muted", f"  {size(kept)} kept for undo")] if kept > 1_000_000 else [])]
