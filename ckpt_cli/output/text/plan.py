"""Shows a plan: notes, rows, side effects; once applied, the log's path and how to undo it, unbroken.

It also shows how to continue. Commands are never broken either.
"""

import json
from collections import Counter
from collections.abc import Iterator

from ckpt_cli.output.cells import break_between_spans, fit, flow, line_len
from ckpt_cli.output.line import Line, Page, Span
from ckpt_cli.output.quantities import size
from ckpt_cli.output.text.changed_threads import names_text, summary_spans
from ckpt_cli.output.theme import ROW_CHANGES
from ckpt_cli.views.plan import PlanView

_FORGETTING = "operations"
"""The command whose changes can't be undone, because it forgets the rows that undo needs."""

_WIDTH = 100
"""The number of cells for changes if nothing limits the line; longer changes are cut, because this is a summary."""


def render(view: PlanView, page: Page) -> Iterator[Line]:
    """The lines of the plan and of its result; a plan that the user has just confirmed isn't shown again."""
    if not view.confirmed:
        yield from plan_lines(view, page)
    if view.applied:
        done = ("good", f"done, operation {view.operation}.")
        yield from break_between_spans([done, *_how_to_undo(view)], page.width)
        if view.config is not None:
            from ckpt_cli.output.text.config import config_lines

            yield from config_lines(view.config, page, "exact", json.dumps)
    elif view.rows:
        yield [("muted", "Nothing written (--dry-run).")]


def _how_to_undo(view: PlanView) -> Iterator[Span]:
    if view.forgets:
        yield "muted", "  It is forgotten: nothing brings it back."
        return
    yield "muted", f"  {view.undo} takes it back{';' if view.log else '.'}"
    if view.log:
        yield "muted", f" ckpt operations {view.operation} --prune forgets it."


def plan_lines(view: PlanView, page: Page) -> Iterator[Line]:
    """The lines that show what the plan does."""
    first, *more = _wrapped(f"{view.command} {view.summary}", page, 0)
    yield [("title", view.command), ("", first[len(view.command) :])]
    yield from ([("", part)] for part in more)
    yield from _where(view, page)
    if view.changes:
        from ckpt_cli.output.text.diff import difference_lines

        yield from difference_lines(view.changes, page._replace(width=page.width or _WIDTH), 2, summary=True)
    for note in view.notes:
        yield from ([("", f"  {part}")] for part in _wrapped(note, page, 2))
    for text in _side_effects(view):
        yield from ([("waiting", f"  {part}")] for part in _wrapped(text, page, 2))
    yield from break_between_spans(_row_counts(view), page.width)
    if view.log and view.rows:
        yield from _kept_for_undo(view, view.log, page)


def _kept_for_undo(view: PlanView, log: str, page: Page) -> Iterator[Line]:
    """Which file keeps the rows, and how much larger the log becomes."""
    grows = f"{size(view.log_growth)} more at most"
    intro = f"The log keeps them for undo{' (--forget does not)' if view.command == 'delete' else ''}, {grows}:"
    if view.bundle:
        log, intro = view.bundle, f"This bundle keeps them for undo (the log where they are, {grows}):"
    if page.width is None:
        yield [("muted", f"{intro} {log}")]
    else:
        yield from ([("muted", text)] for text in (intro, f"  {log}"))


def _where(view: PlanView, page: Page) -> Iterator[Line]:
    """Where an undo changes rows; the words of other commands name their threads."""
    if view.command != "undo":
        return
    spans = summary_spans(view.threads, view.namespaces, view.where)
    names = names_text(view.threads, view.namespaces, view.where)
    for line in ([("", "in "), *spans] if spans else [], [("muted", names)]):
        if line_len(line):
            yield fit([("", "  "), *line], page.width)


def _side_effects(view: PlanView) -> Iterator[str]:
    """A text for each trigger, rule and foreign key that will fire; ckpt can't know what it will do."""
    for one in view.side_effects:
        where = one.relation if one.table == one.relation else f"{one.table}, for {one.relation}"
        yield f"{one.kind} {one.name} on {where} fires: what it does is not shown here, not logged and not undone"
        if one.altered:
            yield f"{one.kind} {one.name} was accepted as it was earlier, and has changed since"
    if not all(one.accepted for one in view.side_effects):
        yield "refused without --with-triggers"


def _wrapped(text: str, page: Page, indent: int) -> Iterator[str]:
    return iter([text]) if page.width is None else flow(text, max(page.width - indent, 20))


def _row_counts(view: PlanView) -> Line:
    """The number of changed rows: ``1 row added to checkpoints, 3 removed from writes.``"""
    counts, stored = Counter[tuple[str, str]](), 0
    for row in view.rows:
        counts[row.change, row.table] += 1
        stored += row.before
    line: Line = []
    for index, ((change, table), count) in enumerate(counts.items()):
        style, words = ROW_CHANGES[change]
        noun = "" if index else (" row" if count == 1 else " rows")
        line += [("", ",")] if index else []
        line += [(style, f"{' ' if index else ''}{count}{noun} {words} {table}")]
    if not line:
        return [("muted", "Nothing to change.")]
    is_kept = stored > 1_000_000 and view.command != _FORGETTING and not view.forgets
    return [*line, ("", "."), *([("muted", f"  {size(stored)} kept for undo")] if is_kept else [])]
