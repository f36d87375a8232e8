"""Shows a plan for many threads: totals, a line for each thread, and what became of it."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from ckpt_cli.output.cells import break_between_spans, fit, flow, line_len
from ckpt_cli.output.line import Line, Page, row
from ckpt_cli.output.quantities import size
from ckpt_cli.output.text.refused_threads import by_reason
from ckpt_cli.output.text.thread_notes import ThreadNotes
from ckpt_cli.output.theme import MORE, ROW_CHANGES
from ckpt_cli.output.visible_names import visible
from ckpt_cli.views.bulk import BulkView, ThreadLine

_SHOWN = 20  # on a terminal at most so many threads have a line
_QUESTION_ID = re.compile(r" \([0-9a-f]{32}\)")
_UNDOES = re.compile(r"of operation \d+ \((.*)\)", re.DOTALL)


def render(view: BulkView, page: Page) -> Iterator[Line]:
    """The lines of the plan and of its result; a plan that the user has just confirmed isn't shown again."""
    if not view.confirmed:
        yield from plan_lines(view, page)
    if view.applied:
        yield from _result(view, page)
    elif view.stopped:
        more = " --skip-refused changes the others." if view.changes else ""
        yield from _flowed("bad", f"Nothing written: {_of(view.refused, view.selected)} refused.{more}", page, 0)
    elif view.changes:
        yield [("muted", "Nothing written (--dry-run).")]


def plan_lines(view: BulkView, page: Page) -> Iterator[Line]:
    """The lines that show what the plan does."""
    yield from _titled(view, page)
    notes = ThreadNotes()
    planned: Iterable[ThreadLine] = (line for line in view.threads if line.state != "refused" or line.summary)
    are_few = page.width is not None and view.changes <= _SHOWN
    planned = list(notes.counted(planned)) if are_few else notes.counted(planned)
    yield from _thread_lines(planned, view.changes, page, notes.own if are_few else None)
    deque(planned, maxlen=0)  # count the notes of the threads that have no line, too
    if view.refused:
        yield [("bad", f"{_of(view.refused, view.selected)} refused:")]
        refused = (line for line in view.threads if line.state == "refused" and not line.summary)
        yield from _thread_lines(refused, view.refused, page) if page.width is None else by_reason(refused, page)
    yield from notes.lines(page, least=2 if are_few else 1)
    for note in view.notes:
        yield from _flowed("", note, page, 2)
    for one in view.side_effects:
        where = one.relation if one.table == one.relation else f"{one.table}, for {one.relation}"
        text = f"{one.kind} {one.name} on {where} fires: what it does is not shown here, not logged and not undone"
        yield from _flowed("waiting", text, page, 2)
    if not all(one.accepted for one in view.side_effects):
        yield from _flowed("waiting", "refused without --with-triggers", page, 2)
    yield from break_between_spans(_row_counts(view), page.width)


def _titled(view: BulkView, page: Page) -> Iterator[Line]:
    text = f"{view.command} {view.summary}"
    text += ", each in a transaction of its own" if view.changes > 1 else ""
    first, *more = [text] if page.width is None else list(flow(text, page.width))
    yield [("title", view.command), ("", first[len(view.command) :])]
    yield from ([("", part)] for part in more)


def _thread_lines(
    lines: Iterable[ThreadLine], count: int, page: Page, notes: Callable[[ThreadLine], list[str]] | None = None
) -> Iterator[Line]:
    """A line for each thread; on a terminal for the first of them, with its own `notes` below."""
    if page.width is None:
        yield from (
            row([[("title", one.thread_id)], [("", one.state)], [("", one.problem or one.summary)]]) for one in lines
        )
        return
    for one in islice(lines, _SHOWN):
        yield from _thread(one, page.width)
        for note in notes(one) if notes is not None else ():
            yield from ([("", "      "), ("muted", part)] for part in flow(visible(note), max(page.width - 6, 20)))
    if count > _SHOWN:
        yield [("muted", f"  {MORE} and {count - _SHOWN:,} more (--json lists all)")]


def _thread(one: ThreadLine, width: int) -> Iterator[Line]:
    """A thread and what becomes of it, which is never cut: in one line, or below if that is too long."""
    text = visible(one.problem) if one.problem else visible(without_details(one.summary))
    style = "bad" if one.problem else ""
    line: Line = [("", "  "), ("title", visible(one.thread_id)), ("", "  "), (style, text)]
    if line_len(line) <= width:
        yield line
        return
    yield fit(line[:2], width)
    yield from ([("", "      "), (style, part)] for part in flow(text, max(width - 6, 20)))


def without_details(summary: str) -> str:
    """Where a thread goes and what runs next, without what is the same for all: how the new checkpoint is made.

    Also without what the heading says: which operation is undone, or that an answer is recorded for a question's id.
    """
    undone = _UNDOES.fullmatch(summary)
    summary = _QUESTION_ID.sub("", undone[1] if undone else summary)
    where, colon, rest = summary.partition(": ")
    _, semicolon, end = rest.partition("; ")
    return f"{where}; {end}" if colon and semicolon else summary


def _result(view: BulkView, page: Page) -> Iterator[Line]:
    if view.moved:
        yield [("bad", f"{_of(view.moved, view.changes)} not changed:")]
        moved = (line for line in view.threads if line.state == "refused" and line.summary)
        yield from _thread_lines(moved, view.moved, page)
    done = f"done, operation {view.operation}: {_of(view.done, view.changes)} changed."
    back = "it back." if view.done == 1 else "them back; --thread THREAD only one."
    text = f"{view.undo} takes {back}" if view.undo else ""
    if page.width is None:
        yield [("good", done), ("muted", f"  {text}")]
        return
    yield [("good" if view.done else "bad", done)]
    if text:
        yield from _flowed("muted", text, page, 0)


def _row_counts(view: BulkView) -> Line:
    line: Line = []
    for index, (change, table, count) in enumerate(view.rows):
        style, words = ROW_CHANGES[change]
        noun = "" if index else (" row" if count == 1 else " rows")
        line += [("", ",")] if index else []
        line += [(style, f"{' ' if index else ''}{count:,}{noun} {words} {table}")]
    if not line:
        return [("muted", "Nothing to change.")]
    return [*line, ("", "."), ("muted", f"  The log grows by at most {size(view.log_bytes)}.")]


def _flowed(style: str, text: str, page: Page, indent: int) -> Iterator[Line]:
    parts = [text] if page.width is None else flow(text, max(page.width - indent, 20))
    yield from ([("", " " * indent), (style, part)] if indent else [(style, part)] for part in parts)


def _of(count: int, total: int) -> str:
    return f"{count:,} of {total:,} thread{'' if total == 1 else 's'}"
