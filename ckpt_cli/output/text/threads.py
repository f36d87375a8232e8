"""Shows threads as a table, or with all questions or errors if the user asked only for waiting or failed threads."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from ckpt_cli.history.tasks.task_names import counted, numbered
from ckpt_cli.output.cells import cell_len, fit, line_len, pad, truncate, wrap
from ckpt_cli.output.line import Line, Page, Span, row
from ckpt_cli.output.quantities import ago, day, size
from ckpt_cli.output.text.brief import brief
from ckpt_cli.output.text.questions import cell as question_cell
from ckpt_cli.output.text.questions import plain_lines, whole_lines
from ckpt_cli.output.text.sends import argument, beside_questions
from ckpt_cli.output.text.steps import error, join_lines, pad_line
from ckpt_cli.output.theme import (
    BETWEEN,
    CLOSE_QUOTE,
    FINISHED,
    MORE,
    NOTHING,
    OPEN_QUOTE,
    THREAD_STATUS,
    UNKNOWN,
    UNREADABLE,
    quoted,
    thread_style,
)
from ckpt_cli.output.visible_names import visible
from ckpt_cli.shell_words import command
from ckpt_cli.views.threads import FailedView, ThreadsView, ThreadView, WaitingView

_ORDER = ("waiting", "failed", "unfinished", "unknown", "unreadable", "done")
_ID = (28, 48)  # cells for a thread's id, on a narrow page and on a wide one
_STATUS = (26, 44)
_NARROW = 100
_GAP = "  "
_TITLE = 20  # at most this many cells are reserved for titles
_LEFT_BY = {"update": " (updated)", "fork": " (forked)", None: ""}
_FIRST_TO_GO = ("metadata", "began", "head", "subgraphs", "branches", "size", "checkpoints")
_CUT = {"status": 16, "thread": 16}  # if more room is needed, these columns are cut, but not below this many cells


def render(view: ThreadsView, page: Page) -> Iterator[Line]:
    """A table or blocks; in a pipe id, checkpoints, branches, step, status, last activity, title, questions, errors."""
    if page.width is None:
        yield from map(_plain, view.threads)
        return
    view.threads = list(view.threads)
    if not view.threads:
        yield [("muted", _nothing(view))]
    elif view.asked in (["waiting"], ["failed"]):
        yield from _blocks(view, page, page.width)
    else:
        yield from (fit(line, page.width) for line in _Table(view, page, page.width).lines())


def _nothing(view: ThreadsView) -> str:
    if view.narrowed:
        return "no thread fits"
    states = ("has failed" if status == "failed" else f"is {status}" for status in view.asked)
    return f"no thread {' or '.join(states)}" if view.asked else "no threads"


def _plain(one: ThreadView) -> Line:
    questions = [f"{w.node or '?'}: {question_cell(w)}" + (f" [{w.id}]" if w.id else "") for w in one.interrupts]
    errors = [f"{task.node or '?'}: {error(task.error, None)}" for task in one.errors]
    status = one.status or "?"
    columns: list[Span] = [("title", one.thread_id), ("", f"{one.checkpoints}"), ("", f"{one.branches}")]
    columns += [("", "" if one.step is None else f"{one.step}"), (thread_style(status), status)]
    columns += [("muted", one.updated or ""), ("", one.title), ("", "; ".join([*questions, *errors]))]
    return row([span] for span in columns)


class _Table:
    def __init__(self, view: ThreadsView, page: Page, width: int) -> None:
        self._view = view
        self._page = page
        self._width = width
        narrow = width < _NARROW
        most = _STATUS[not narrow]
        self._status = min(max(line_len(_status(one, most)) for one in view.threads), most)
        self._branches = any(one.branches > 1 for one in view.threads)
        self._title = min(max(cell_len(one.title) for one in view.threads), _TITLE)
        self._id = min(max(cell_len(visible(one.thread_id)) for one in view.threads), _ID[not narrow])

    def lines(self) -> Iterator[Line]:
        columns = [self._columns(one) for one in self._view.threads]
        numbers = {"checkpoints", "branches", "step", "size", "subgraphs"}
        names = [name for name, _ in columns[0]]
        sizes = [max([cell_len(name), *(line_len(row[at][1]) for row in columns)]) for at, name in enumerate(names)]
        sizes = [min(cells, 12) if name in numbers else cells for name, cells in zip(names, sizes, strict=True)]
        places = self._kept(names, sizes)
        columns = [[row[at] for at in places] for row in columns]
        names = [names[at] for at in places]
        sizes = self._cut(names, [sizes[at] for at in places])
        yield _counted(self._view)
        yield self._line("", [[("muted", name)] for name in names], sizes, names, numbers, [("muted", "about")])
        for one, cells in zip(self._view.threads, columns, strict=True):
            title: Line = [*_marked(one), ("" if one.title else "muted", one.title or NOTHING)]
            yield self._line(one.status or "?", [line for _, line in cells], sizes, names, numbers, title)
        if self._view.more:
            rest = "and more" if self._view.total is None else f"and {self._view.total - self._view.count:,} more"
            yield [("muted", f"{MORE} {rest}: --limit 0 shows all")]

    def _kept(self, names: list[str], sizes: list[int]) -> list[int]:
        """The indices of the columns for which there is room beside the title."""
        places = list(range(len(names)))
        for name in (name for name in _FIRST_TO_GO if name != self._view.order):
            if self._lack([sizes[at] for at in places]) <= 0:
                break
            places = [at for at in places if names[at] != name]
        return places

    def _cut(self, names: list[str], sizes: list[int]) -> list[int]:
        """The sizes of the columns; status and thread are cut until there is room for the title."""
        for name, least in _CUT.items():
            at = names.index(name)
            sizes[at] -= max(min(self._lack(sizes), sizes[at] - least), 0)
        return sizes

    def _lack(self, sizes: list[int]) -> int:
        """The number of cells that are missing for the title if columns of these sizes are shown."""
        return len(FINISHED) + 1 + sum(size + len(_GAP) for size in sizes) + self._title - self._width

    def _line(
        self, status: str, cells: Sequence[Line], sizes: list[int], names: list[str], numbers: set[str], title: Line
    ) -> Line:
        line: Line = []
        for name, cell, room in zip(names, cells, sizes, strict=True):
            blank = ("", " " * max(room - line_len(cell), 0))
            line += [blank, *cell] if name in numbers else pad_line(cell, room)
            line.append(("", _GAP))
        return [(thread_style(status), f"{_sign(status)} "), *line, *title]

    def _columns(self, one: ThreadView) -> list[tuple[str, Line]]:
        columns: list[tuple[str, Line]] = [
            ("thread", [("title", truncate(visible(one.thread_id), self._id))]),
            ("active", [("muted", _ago(one.updated, self._page))]),
            ("step", [("", "" if one.step is None else str(one.step))]),
            ("checkpoints", [("", f"{one.checkpoints:,}")]),
        ]
        if self._branches:
            columns.append(("branches", [("", f"{one.branches:,}" if one.branches > 1 else "")]))
        columns.append(("status", fit(_status(one, self._status), self._status)))
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


def _sign(status: str) -> str:
    look = THREAD_STATUS.get(status)
    return look.sign if look is not None else UNKNOWN if status else " "


def _marked(one: ThreadView) -> Line:
    return [("bad", f"{UNREADABLE} metadata unreadable"), ("", _GAP)] if one.metadata_problem else []


def _metadata(one: ThreadView) -> str:
    return " ".join(f"{key}={brief(value, 20).strip(OPEN_QUOTE + CLOSE_QUOTE)}" for key, value in one.metadata.items())


def _status(one: ThreadView, room: int) -> Line:
    """Each status of a thread, with the nodes that wait, failed, were answered or run next.

    The remark about what was recorded last is given only if all of it has room.
    """
    nodes = {
        "waiting": [question.node or "?" for question in one.interrupts],
        "failed": [error.node or "?" for error in one.errors],
        "unfinished": [node or "?" for node in one.answered] or one.next or [],
    }
    line: Line = []
    for status in one.statuses or [one.status or "?"]:
        line += [("muted", f" {BETWEEN} ")] if line else []
        line.append((thread_style(status), status))
        named = nodes.get(status, [])
        names = counted(dict.fromkeys(named) if status == "waiting" else named)  # one task may ask several questions
        line += [("muted", ": "), ("node", names)] if names else []
        remark = _remark(one, status)
        line += [("muted", remark)] if line_len(line) + len(remark) <= room else []
    return line


def _remark(one: ThreadView, status: str) -> str:
    """The words for a waiting thread that has an answer, and for one in which an answer, update or fork is the last."""
    if status == "waiting" and one.old_answers:
        return " (has answer)"
    if status != "unfinished":
        return ""
    return " (answered)" if one.answered else _LEFT_BY.get(one.nothing_since, "")


def _ago(time: str | None, page: Page) -> str:
    return "" if time is None else ago(datetime.fromisoformat(time).timestamp(), page.now)


def _day(time: str | None) -> str:
    return "" if time is None else day(datetime.fromisoformat(time).timestamp())


def _blocks(view: ThreadsView, page: Page, width: int) -> Iterator[Line]:
    """The lines of waiting or failed threads.

    For each thread: its last activity, its questions in full with their ids, or its errors, and a command to see more.
    """
    style = "waiting" if view.asked == ["waiting"] else "bad"
    yield [("title", _headline(view))]
    for one in view.threads:
        yield []
        head: list[Line] = [[(style, _sign(view.asked[0])), ("", " "), ("title", visible(one.thread_id))]]
        head.append([("muted", _ago(one.updated, page))])
        title = one.title if one.title.startswith(("{", "[")) else quoted(one.title)
        head.append([("muted", title)] if one.title else [])
        yield fit(join_lines(head, "   "), width)
        column = min(max((cell_len(name) for name in _asking(one)), default=0), 24)
        for interrupt in one.interrupts:
            yield from _labelled(interrupt, column, _question(interrupt, page, width - column - 6), page)
        for failed in one.errors:
            lines = _lines(error(failed.error, None), width - column - 6, 6)
            yield from _labelled(failed, column, [[("bad", line)] for line in lines], page)
        if one.old_answers:
            from ckpt_cli.output.text.tasks import old_answers

            yield from old_answers(one.old_answers, page)
        if one.interrupts and not one.errors:
            from ckpt_cli.output.text.answer_commands import command_lines

            yield from command_lines(one.thread_id, one.interrupts, width)
        else:
            yield [("muted", f"    {command('ckpt show', one.thread_id)}")]
    if view.more:
        yield []
        yield [("muted", f"{MORE} and more: --limit 0 shows all")]


def _headline(view: ThreadsView) -> str:
    """The heading: the number of threads; if not all are shown, the number of shown threads."""
    count = view.count
    one, many, end = ("waits", "wait", "for an answer") if view.asked == ["waiting"] else ("has", "have", "failed")
    verb = many if count > 1 else one
    if view.more:
        return f"the first {f'{count:,} threads' if count > 1 else 'thread'} that {verb} {end}"
    return f"{count:,} thread{'s' if count > 1 else ''} {verb} {end}"


def _asking(one: ThreadView) -> list[str]:
    tasks: list[WaitingView | FailedView] = [*one.interrupts, *one.errors]
    return [numbered(task.node or "?", task.send) for task in tasks]


def _question(interrupt: WaitingView, page: Page, width: int) -> Iterator[Line]:
    """A question whole, as somebody must see it who answers; then its id."""
    narrow = page._replace(width=max(width, 20))
    if interrupt.requests:
        yield from whole_lines(interrupt, narrow, 0, full=True)
    else:
        yield from plain_lines(interrupt.value, narrow, max(width, 20))
    known: Line = [("id", interrupt.id)] if interrupt.id else [("muted", "none, resume with a bare value")]
    yield [("muted", "interrupt id  "), *known]


def _lines(text: str, width: int, most: int) -> list[str]:
    lines = list(wrap(text, max(width, 20)))
    return lines if len(lines) <= most else [*lines[: most - 1], MORE]


def _labelled(task: WaitingView | FailedView, column: int, lines: Iterable[Line], page: Page) -> Iterator[Line]:
    """The lines beside the name of a task; the first is the argument of its Send, if it has one."""
    room = None if page.width is None else max(page.width - column - 4, 20)
    shown = beside_questions(task.send, [task]) if isinstance(task, WaitingView) else task.send
    sent = argument(shown, room, reveal=page.reveal)[1:]
    for number, line in enumerate([sent, *lines] if sent else lines):
        name = "" if number else numbered(task.node or "?", task.send)
        yield [("node", "    " + pad(name, column)), ("", _GAP), *line]
