"""Shows threads that wait, failed or are unfinished, each with why it does, in a block of lines.

Those that only wait or only failed are shown with each question or error whole. A list of several kinds, as
``--status stuck`` gives it, has a line for each task.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from ckpt_cli.history.tasks.task_names import nested, numbered
from ckpt_cli.output.cells import cell_len, cut_middle, fit, flow, line_len, pad, wrap
from ckpt_cli.output.line import Line, Page
from ckpt_cli.output.quantities import ago
from ckpt_cli.output.short_names import short_names
from ckpt_cli.output.text.questions import plain_lines, short_lines, whole_lines
from ckpt_cli.output.text.sends import argument, beside_questions
from ckpt_cli.output.text.steps import STOPPED, error, join_lines
from ckpt_cli.output.theme import MORE, quoted, thread_sign, thread_style
from ckpt_cli.output.visible_names import visible
from ckpt_cli.shell_words import command
from ckpt_cli.views.threads import FailedView, ThreadsView, ThreadView, WaitingView

_NAMES = 24  # at most this many cells for the names of tasks beside their questions and errors, or a share of the page
_WHOLE, _SHORT = 5, 3  # that share, beside whole questions and in lines
_TITLE = 8  # a title is not cut to fewer cells, but left out
_GAP = "  "
_QUESTIONS = "--status waiting shows questions whole, each with the command that answers; "
_REST = "ckpt show THREAD has the rest"


def blocks(view: ThreadsView, page: Page, width: int, counts: Line) -> Iterator[Line]:
    """The lines of threads of which none is done: whole if the user asked only for those that wait or only for failed.

    `counts` is the heading of the others, which are short.
    """
    if view.asked in (["waiting"], ["failed"]):
        names = _short_names(view, max(width // _WHOLE, _NAMES))
        yield [("title", _headline(view))]
        for one in view.threads:
            yield []
            yield from _whole(one, view.asked[0], page, width, names)
    else:
        names = _short_names(view, max((width - 4) // _SHORT, _NAMES))
        yield counts
        for one in view.threads:
            yield _heading(one, one.status or "?", page, width)
            yield from (fit([("", "    "), *line], width) for line in _reasons(one, page, width - 4, names))
        yield []
        more = f"{_QUESTIONS}{_REST}" if any("waiting" in one.statuses for one in view.threads) else _REST
        yield from ([("muted", part)] for part in flow(more, width))
    if view.more:
        yield []
        yield [("muted", f"{MORE} and more: --limit 0 shows all")]


def _heading(one: ThreadView, status: str, page: Page, width: int) -> Line:
    """``⏸ support-42   39m ago   “My order is late”``."""
    head: Line = [(thread_style(status), thread_sign(status)), ("", " ")]
    head.append(("title", cut_middle(visible(one.thread_id), width - line_len(head), width // 2)))
    title = one.title if one.title.startswith(("{", "[")) else quoted(one.title)
    for text, least in ((_ago(one, page), 0), (title if one.title else "", _TITLE)):
        longer = join_lines([head, [("muted", text)] if text else []], "   ")
        if line_len(longer) - max(cell_len(text) - least, 0) * bool(least) <= width:
            head = fit(longer, width)
    return head


def _since(one: ThreadView, page: Page) -> str:
    """`` for 10m``, `` since 2026-11-01``; "" if the time of the last checkpoint isn't known."""
    when = _ago(one, page)
    return f" for {when.removesuffix(' ago')}" if when.endswith(" ago") else f" since {when}" if when else ""


def _ago(one: ThreadView, page: Page) -> str:
    return "" if one.updated is None else ago(datetime.fromisoformat(one.updated).timestamp(), page.now)


def _short_names(view: ThreadsView, cells: int) -> Mapping[str, str]:
    """The names of all tasks that are shown, in at most `cells` cells each; different ones stay different."""
    return short_names((_name(task) for one in view.threads for task in _halted(one)), cells)


def _whole(one: ThreadView, status: str, page: Page, width: int, names: Mapping[str, str]) -> Iterator[Line]:
    """The lines of a waiting or failed thread.

    Its last activity, its questions in full with their ids, or its errors, and a command to go on or see more.
    """
    yield _heading(one, status, page, width)
    column = max((cell_len(names[_name(task)]) for task in _halted(one)), default=0)
    for interrupt in one.interrupts:
        lines = _question(interrupt, page, width - column - 6)
        yield from _labelled(interrupt, pad(names[_name(interrupt)], column), lines, page)
    for failed in one.errors:
        texts = _lines(error(failed.error, None), width - column - 6, 6)
        yield from _labelled(failed, pad(names[_name(failed)], column), [[("bad", line)] for line in texts], page)
    if one.old_answers:
        from ckpt_cli.output.text.tasks import old_answers

        yield from old_answers(one.old_answers, page)
    asked = [(interrupt.node, interrupt.send) for interrupt in one.interrupts]
    if asked and all((failed.node, failed.send) in asked for failed in one.errors):
        from ckpt_cli.output.text.answer_commands import command_lines

        yield from command_lines(one.thread_id, one.interrupts, width)
    else:
        yield [("muted", f"    {command('ckpt show', one.thread_id)}")]


def _reasons(one: ThreadView, page: Page, width: int, names: Mapping[str, str]) -> Iterator[Line]:
    """Why a thread isn't done: each question and error in a line, or what its next nodes wait for."""
    for task in _halted(one):
        name: Line = [("node", names[_name(task)]), ("", _GAP)]
        room = max(width - cell_len(name[0][1]) - len(_GAP), 20)
        if isinstance(task, WaitingView):
            yield from ([*name, *line] for line in short_lines(task, room))
        else:
            yield [*name, ("bad", error(task.error, room))]
    if one.old_answers:
        yield [("waiting", "an answer is stored; the next step's first interrupt() without one takes it")]
    if not _halted(one):
        yield _unfinished(one, page)


def _unfinished(one: ThreadView, page: Page) -> Line:
    nodes = [name or "?" for name in one.answered] or one.next
    if nodes == []:
        return [("muted", "no task is left in this step: the next run begins by applying the writes")]
    if one.answered:
        about = "answered, continues when resumed"
    elif one.nothing_since:
        about = f"would run next; nothing recorded since the {one.nothing_since}"
    else:
        about = f"unfinished{_since(one, page)}: {STOPPED}"
    return [("node", ", ".join(dict.fromkeys(nodes or ["unknown node"]))), ("", _GAP), ("muted", about)]


def _headline(view: ThreadsView) -> str:
    """The heading: the number of threads; if not all are shown, the number of shown threads."""
    count = view.count
    one, many, end = ("waits", "wait", "for an answer") if view.asked == ["waiting"] else ("has", "have", "failed")
    verb = many if count > 1 else one
    if view.more:
        return f"the first {f'{count:,} threads' if count > 1 else 'thread'} that {verb} {end}"
    return f"{count:,} thread{'s' if count > 1 else ''} {verb} {end}"


def _halted(one: ThreadView) -> list[WaitingView | FailedView]:
    return [*one.interrupts, *one.errors]


def _name(task: WaitingView | FailedView) -> str:
    return nested(numbered(task.node or "?", task.send), task.inside if isinstance(task, FailedView) else ())


def _question(interrupt: WaitingView, page: Page, width: int) -> Iterator[Line]:
    """A question whole, as somebody must see it who answers; then its id."""
    narrow = page._replace(width=max(width, 20))
    if interrupt.requests:
        yield from whole_lines(interrupt, narrow, 0, full=True)
    else:
        yield from plain_lines(interrupt.value, narrow, max(width, 20))
    known: Line = [("id", interrupt.id)] if interrupt.id else [("muted", "none: NodeInterrupt takes no answer")]
    yield [("muted", "interrupt id  "), *known]


def _lines(text: str, width: int, most: int) -> list[str]:
    lines = list(wrap(text, max(width, 20)))
    return lines if len(lines) <= most else [*lines[: most - 1], MORE]


def _labelled(task: WaitingView | FailedView, name: str, lines: Iterable[Line], page: Page) -> Iterator[Line]:
    """The lines beside the name of a task; the first is the argument of its Send, if it has one."""
    column = cell_len(name)
    room = None if page.width is None else max(page.width - column - 4, 20)
    shown = beside_questions(task.send, [task]) if isinstance(task, WaitingView) else task.send
    sent = argument(shown, room, reveal=page.reveal)[1:]
    for number, line in enumerate([sent, *lines] if sent else lines):
        yield [("node", "    " + (" " * column if number else name)), ("", _GAP), *line]
