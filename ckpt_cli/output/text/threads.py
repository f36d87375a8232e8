"""Shows threads as a table; `thread_blocks` shows those of which none is done."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from ckpt_cli.history.tasks.task_names import counted, nested
from ckpt_cli.output.cells import cell_len, fit, line_len, truncate
from ckpt_cli.output.line import TAB, Line, Page
from ckpt_cli.output.quantities import ago, day, size
from ckpt_cli.output.short_names import short_cells
from ckpt_cli.output.text.brief import brief
from ckpt_cli.output.text.questions import cell as question_cell
from ckpt_cli.output.text.steps import error, join_lines, pad_line, strip_line
from ckpt_cli.output.theme import (
    BETWEEN,
    CLOSE_QUOTE,
    FINISHED,
    MORE,
    NOTHING,
    OPEN_QUOTE,
    THREAD_STATUS,
    UNREADABLE,
    thread_sign,
    thread_style,
)
from ckpt_cli.output.visible_names import visible
from ckpt_cli.views.threads import ThreadsView, ThreadView

_ORDER = ("waiting", "failed", "unfinished", "unknown", "unreadable", "done")
_STATUS = ((160, 60), (100, 44), (0, 26))  # pages from a width on, and at most so many cells for a status there
_GAP = "  "
_ABOUT = "about"
_TITLES = (20, 12)  # cells that are reserved for titles if columns have to go for them, or nodes have to be cut
_LEFT_BY = {"update": " (updated)", "fork": " (forked)", None: ""}
_FIRST_TO_GO = ("metadata", "began", "head", "subgraphs", "branches", "size", "checkpoints")
_SHORT_STATUS = 16  # a status is not cut to fewer cells, and its mark only if an id would be cut
_SHORT_NODE = 4  # a node behind a mark is not cut to fewer cells, but left out
_COLON = ": "
_SHORT_ID = 16  # an id is cut only if nothing else can be, and not to fewer cells


def render(view: ThreadsView, page: Page) -> Iterator[Line]:
    """A table or blocks.

    In a pipe a row for each thread: id, checkpoints, branches, step, status, last activity, title, questions and
    errors, and what is left of an unfinished thread.
    """
    if page.width is None:
        yield from map(_plain, view.threads)
        return
    view.threads = list(view.threads)
    if not view.threads:
        yield [("muted", _nothing(view))]
    elif view.asked and not view.wide and not {"done", "unknown"} & set(view.asked):
        from ckpt_cli.output.text.thread_blocks import blocks

        yield from blocks(view, page, page.width, _counted(view))
    else:
        yield from (fit(line, page.width) for line in _Table(view, page, page.width).lines())


def _nothing(view: ThreadsView) -> str:
    if view.narrowed:
        return "no thread fits"
    states = ("has failed" if status == "failed" else f"is {status}" for status in view.asked)
    return f"no thread {' or '.join(states)}" if view.asked else "no threads"


def _plain(one: ThreadView) -> Line:
    status, active = one.status or "?", one.updated or ""
    step = "" if one.step is None else f"{one.step}"
    halted, left = ("", "") if status == "done" else (_asked_and_failed(one), _left(one))
    line: Line = [("title", one.thread_id), TAB, ("", f"{one.checkpoints}"), TAB, ("", f"{one.branches}"), TAB]
    line += [("", step), TAB, (thread_style(status), status), TAB, ("muted", active), TAB, ("", one.title), TAB]
    return [*line, ("", halted), TAB, ("", left)]


def _asked_and_failed(one: ThreadView) -> str:
    """The questions and errors of a thread, with their nodes."""
    questions = [f"{w.node or '?'}: {question_cell(w)}" + (f" [{w.id}]" if w.id else "") for w in one.interrupts]
    errors = [f"{nested(task.node or '?', task.inside)}: {error(task.error, None)}" for task in one.errors]
    return "; ".join([*questions, *errors])


def _left(one: ThreadView) -> str:
    """What is left of an unfinished thread: ``answered: review``, ``next: model``; ``has answer`` where one is left."""
    marks = (_mark(one, status).strip(" ()") for status in one.statuses)
    mark = next(filter(None, marks), "")
    if one.status != "unfinished":
        return mark
    names = counted(_unfinished(one)) or ("unknown" if one.next is None else "")
    return f"{mark or 'next'}: {names}" if names else mark or "no task is left in this step"


def _unfinished(one: ThreadView) -> list[str]:
    """The nodes of an unfinished thread that were answered, or else run next."""
    return [node or "?" for node in one.answered] or one.next or []


class _Table:
    def __init__(self, view: ThreadsView, page: Page, width: int) -> None:
        self._view = view
        self._page = page
        self._width = width
        most = next(cells for least, cells in _STATUS if width >= least)
        widest = max(line_len(_status(one)) for one in view.threads)
        self._status = min(max(widest, len("status")), most)
        self._short_status = max(_SHORT_STATUS, *(line_len(_marked_status(one)) for one in view.threads))
        self._branches = any(one.branches > 1 for one in view.threads)
        self._title = max(cell_len(one.title) for one in view.threads)

    def lines(self) -> Iterator[Line]:
        columns = [self._columns(one) for one in self._view.threads]
        numbers = {"checkpoints", "branches", "step", "size", "subgraphs"}
        names = [name for name, _ in columns[0]]
        sizes = [max([cell_len(name), *(line_len(row[at][1]) for row in columns)]) for at, name in enumerate(names)]
        most = {"status": self._status, **dict.fromkeys(numbers, 12)}
        sizes = [min(cells, most.get(name, cells)) for name, cells in zip(names, sizes, strict=True)]
        rooms = self._rooms(dict(zip(names, sizes, strict=True)))
        is_titled = self._width - self._cells(rooms) >= len(_ABOUT)
        whole = {name: [dict(row)[name] for row in columns] for name in ("thread", "status")}
        pairs = zip(self._view.threads, whole["status"], strict=True)
        whole["status"] = [_shorter(one, status, rooms["status"]) for one, status in pairs]
        short = {name: short_cells(lines, rooms[name]) for name, lines in whole.items()}
        yield _counted(self._view)
        about: Line = [("muted", _ABOUT)] if is_titled else []
        yield self._line("", {name: [("muted", name)] for name in names}, rooms, numbers, about)
        for at, (one, cells) in enumerate(zip(self._view.threads, columns, strict=True)):
            title: Line = [*_marked(one), ("" if one.title else "muted", one.title or NOTHING)] if is_titled else []
            row_cells = {**dict(cells), **{name: lines[at] for name, lines in short.items()}}
            yield self._line(one.status or "?", row_cells, rooms, numbers, title)
        if self._view.more:
            rest = "and more" if self._view.total is None else f"and {self._view.total - self._view.count:,} more"
            yield [("muted", f"{MORE} {rest}: --limit 0 shows all")]

    def _rooms(self, sizes: dict[str, int]) -> dict[str, int]:
        """The columns for which there is room, with their cells.

        Ids are to be copied and the marks before a status' nodes are short, so titles and nodes are cut before them.
        """
        rooms, order = dict(sizes), self._view.order
        most, least = (min(self._title, title) for title in _TITLES)
        for name in (name for name in _FIRST_TO_GO if name != order):
            if self._lack(rooms, most) > 0:
                rooms.pop(name, None)
        if self._lack(rooms, least) > 0 and order != "step":
            rooms.pop("step")
        self._cut(rooms, "status", self._short_status, least)
        if self._lack(rooms, 0) > 0:
            rooms.pop("active")
        self._cut(rooms, "status", _SHORT_STATUS, 0)
        self._cut(rooms, "thread", _SHORT_ID, 0)
        left = self._width - self._cells(rooms)
        if left < len(_ABOUT):  # no title is shown
            rooms["status"] = min(rooms["status"] + max(left, 0) + len(_GAP), sizes["status"])
        return rooms

    def _cells(self, rooms: dict[str, int]) -> int:
        """The number of cells of these columns, with the sign before them."""
        return len(FINISHED) + 1 + sum(size + len(_GAP) for size in rooms.values())

    def _cut(self, rooms: dict[str, int], name: str, shortest: int, title: int) -> None:
        rooms[name] -= max(min(self._lack(rooms, title), rooms[name] - shortest), 0)

    def _lack(self, rooms: dict[str, int], title: int) -> int:
        """The number of cells that are missing for a title of so many cells beside these columns."""
        return self._cells(rooms) + title - self._width

    def _line(self, status: str, cells: dict[str, Line], rooms: dict[str, int], numbers: set[str], title: Line) -> Line:
        line: Line = []
        for name, room in rooms.items():
            cell = cells[name]
            blank = ("", " " * max(room - line_len(cell), 0))
            line += [blank, *cell] if name in numbers else pad_line(fit(cell, room), room)
            line.append(("", _GAP))
        return strip_line([(thread_style(status), f"{thread_sign(status)} "), *line, *title])

    def _columns(self, one: ThreadView) -> list[tuple[str, Line]]:
        columns: list[tuple[str, Line]] = [
            ("thread", [("title", visible(one.thread_id))]),
            ("active", [("muted", _ago(one.updated, self._page))]),
            ("step", [("", "" if one.step is None else str(one.step))]),
            ("checkpoints", [("", f"{one.checkpoints:,}")]),
        ]
        if self._branches:
            columns.append(("branches", [("", f"{one.branches:,}" if one.branches > 1 else "")]))
        columns.append(("status", _status(one)))
        more = self._more(one)
        return [*columns, *(column for column in more if self._view.wide or column[0] == self._view.order)]

    def _more(self, one: ThreadView) -> list[tuple[str, Line]]:
        return [
            ("subgraphs", [("", f"{one.namespaces:,}" if one.namespaces else "")]),
            ("size", [("", size(one.size))]),
            ("head", [("id", one.short)]),
            ("began", [("muted", _day(one.created))]),
            ("metadata", [("muted", truncate(_metadata(one), 40))]),
        ]


def _counted(view: ThreadsView) -> Line:
    """The number of threads, and how many of the shown ones have each status; the line says if these aren't all."""
    counts = Counter(status for one in view.threads for status in one.statuses or [one.status or "unreadable"])
    count = view.count
    total = f"{count:,}" if not view.more else f"more than {count:,}" if view.total is None else f"{view.total:,}"
    first = "the first: " if count == 1 else f"the first {count:,}: "
    parts: list[Line] = []
    for status in sorted(counts, key=lambda status: _ORDER.index(status) if status in _ORDER else len(_ORDER)):
        style = thread_style(status) if status in THREAD_STATUS else "bad"
        parts.append([(style, f"{counts[status]:,} {status}" if count > 1 else status)])
    one = count == 1 and view.total in (None, 1)
    line: Line = [("title", f"{total} thread{'' if one else 's'}"), ("muted", f" {BETWEEN} ")]
    return [*line, *([("muted", first)] if view.more else []), *join_lines(parts, f" {BETWEEN} ")]


def _marked(one: ThreadView) -> Line:
    return [("bad", f"{UNREADABLE} metadata unreadable"), ("", _GAP)] if one.metadata_problem else []


def _metadata(one: ThreadView) -> str:
    return " ".join(f"{key}={brief(value, 20).strip(OPEN_QUOTE + CLOSE_QUOTE)}" for key, value in one.metadata.items())


def _status(one: ThreadView) -> Line:
    """Each status of a thread, with its mark, then the nodes that wait, failed, were answered or run next."""
    nodes = {
        "waiting": [question.node or "?" for question in one.interrupts],
        "failed": [nested(failed.node or "?", failed.inside) for failed in one.errors],
        "unfinished": _unfinished(one),
    }
    line: Line = []
    for status in one.statuses or [one.status or "?"]:
        line += [("muted", f" {BETWEEN} ")] if line else []
        line += [(thread_style(status), status), ("muted", _mark(one, status))]
        named = nodes.get(status, [])
        names = counted(dict.fromkeys(named) if status == "waiting" else named)  # one task may ask several questions
        line += [("muted", _COLON), ("node", names)] if names else []
    return line


def _shorter(one: ThreadView, line: Line, cells: int) -> Line:
    """The line of `_status` for a room: without nodes that would only be ``…``, or without the status before a mark.

    The sign of a row shows the status too; nothing else of the row shows what the mark says.
    """
    status, marked = one.status or "?", line_len(_marked_status(one)) - 1
    mark = _mark(one, status).strip(" ()")
    if line_len(line) <= cells or not mark or marked + len(_COLON) + _SHORT_NODE <= cells:
        return line
    if marked <= cells:
        return line[:2]
    return [(thread_style(status), mark), *(line[2:] if cell_len(mark) + len(_COLON) + _SHORT_NODE <= cells else [])]


def _marked_status(one: ThreadView) -> Line:
    """The first status of a thread, with its mark."""
    status = one.status or "?"
    return [("", status), ("", _mark(one, status)), ("", MORE)]


def _mark(one: ThreadView, status: str) -> str:
    """The words for a thread that has an answer to take, and for one in which an answer, update or fork is the last."""
    if one.old_answers and status == (one.status or "?"):
        return " (has answer)"
    if status != "unfinished":
        return ""
    return " (answered)" if one.answered else _LEFT_BY.get(one.nothing_since, "")


def _ago(time: str | None, page: Page) -> str:
    return "" if time is None else ago(datetime.fromisoformat(time).timestamp(), page.now)


def _day(time: str | None) -> str:
    return "" if time is None else day(datetime.fromisoformat(time).timestamp())
