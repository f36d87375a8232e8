"""Shows tasks, in the same way for all commands: node, status, question or error."""

from collections.abc import Iterator, Sequence
from typing import Any

from ckpt_cli.history.tasks.task_names import nested
from ckpt_cli.output.cells import cell_len, fit, line_len, pad, wrap
from ckpt_cli.output.line import Line, Page, Span
from ckpt_cli.output.text.questions import whole_lines
from ckpt_cli.output.text.sends import argument_lines, beside_questions
from ckpt_cli.output.text.steps import FAILED_BEFORE, FAILED_TOO, task_name
from ckpt_cli.output.text.values import brief, value_after
from ckpt_cli.output.theme import task_look
from ckpt_cli.shell_words import argument
from ckpt_cli.views.interrupts import InterruptView
from ckpt_cli.views.show import TaskLine

_ANSWER_CELLS = 24
_ANSWERED = len("answered")
_ABORTED = "aborted before, or after its node had returned (then its edges are missing)"


def task_lines(task: TaskLine, page: Page, column: int, *, consumed: bool, full: bool = False) -> Iterator[Line]:
    """The lines of a task: error, Send, questions, called subgraphs; the node takes at least `column` cells.

    At a `consumed` checkpoint, no question is open and no task is due any more.
    """
    node = task_name(task, "unknown node")
    line: Line = [("", "  "), ("node", pad(node, max(column, cell_len(node)))), ("", "  ")]
    line.append(task_look(task.status, consumed=consumed).span)
    if task.answers and task.status == "answered":
        line += answers(task.answers, page)
    if task.answers and task.status == "failed":
        line += [("muted", " with the answer "), ("value", _brief(task.answers, page))]
    error = None if task.aborted else task.error
    if error is not None and task.status != "failed":
        where = f" (in {nested(task.inside[0], task.inside[1:])})" if task.inside and task.status == "waiting" else ""
        when = FAILED_BEFORE if task.status == "finished" else f"{FAILED_TOO}{where}"
        line.append(("muted", f"  {when}:"))
    is_stored = task.status not in ("due", "left")  # other ids are computed, without triggers that never fired
    shown_id: Line = [("muted", f"  {task.id}")] if is_stored and error is None and task.id is not None else []
    fits = page.width is None or line_len([*line, *shown_id]) <= page.width
    line += shown_id if fits else []
    yield from problem(error, line, page) if error is not None else [line]
    if shown_id and not fits:
        yield [("", "  "), *shown_id]
    if task.aborted:
        yield from _aborted(task.error, page)
    if task.handler:
        yield [("", "    "), ("muted", f"its error handler: {task.handler}")]
    send = task.send if full else beside_questions(task.send, [*task.interrupts, *task.asked])
    yield from argument_lines(send, "" if consumed else task.status, page, 4, full=full)
    yield from questions(task.interrupts, page, 4, 5 if consumed else 4, is_open=not consumed, full=full)
    yield from questions(task.asked, page, 4, _ANSWERED, is_open=False, full=full)
    if task.taken:
        yield from value_after([("", "    "), ("muted", "answered")], _one_or_all(task.taken), page, 6, full=full)
    for ns in task.namespaces:
        yield fit([("", "    "), ("muted", "in    "), ("", f"--ns {argument(ns)}")], page.width)


def _aborted(error: Any, page: Page) -> Iterator[Line]:
    text = f"{_ABORTED}: {_text(error, page)}"
    room = len(text) if page.width is None else max(page.width - 4, 20)
    yield from ([("", "    "), ("muted", part)] for part in wrap(text, room))


def answers(values: Sequence[Any], page: Page) -> Line:
    """The recorded answers that a task takes when it is resumed."""
    return [("value", f": {_brief(values, page)}"), ("muted", ", continues when resumed")]


def old_answers(values: Sequence[Any], page: Page) -> Iterator[Line]:
    """The lines about an answer that is stored without its question, which a task of the next step may take."""
    if not values:
        return
    what = f"the answer {_brief(values, page)} is stored for no particular question"
    what = f"{what}: the first interrupt() without an answer in the next step takes it"
    room = max((page.width or len(what) + 2) - 2, 20)
    yield from ([("", "  "), ("waiting", part)] for part in wrap(what, room))


def _one_or_all(values: Sequence[Any]) -> Any:
    return values[0] if len(values) == 1 else list(values)


def _brief(values: Sequence[Any], page: Page) -> str:
    return ", ".join(brief(value, _ANSWER_CELLS, reveal=page.reveal) for value in values)


def problem(error: Any, line: Line, page: Page) -> Iterator[Line]:
    """The lines of an error: at the end of `line`, or below it if the error is long."""
    text = _text(error, page)
    if page.width is None or ("\n" not in text and line_len(line) + cell_len(text) + 2 <= page.width):
        yield [*line, ("", "  "), ("bad", text)]
        return
    yield line
    yield from ([("", "      "), ("bad", part)] for part in wrap(text, max(page.width - 6, 20)))


def _text(error: Any, page: Page) -> str:
    return error if isinstance(error, str) else _javascript(error) or brief(error, reveal=page.reveal)


def _javascript(error: Any) -> str:
    """The name and message of an error that LangGraph.js stored; "" for any other value."""
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return ""
    return f"{error.get('name') or 'Error'}: {error['message']}"


def questions(
    interrupts: Sequence[InterruptView], page: Page, indent: int, column: int, *, is_open: bool, full: bool = False
) -> Iterator[Line]:
    """The questions of a task, each with its id for an answer; labels take `column` cells after the indent.

    A question about tool calls shows each argument on a line of its own; long values are folded, unless `full`.
    """
    column = max(column, len("asks" if is_open else "asked"))
    label: Span = ("waiting", pad("asks", column)) if is_open else ("muted", pad("asked", column))
    margin = " " * indent
    for question in interrupts:
        head: Line = [("", margin), label]
        if question.requests:
            first, *rest = whole_lines(question, page, line_len(head) + 2, full=full)
            yield [*head, ("", "  "), *first[1:]]
            yield from rest
        else:
            yield from value_after(head, question.value, page, indent + 2, full=full)
            if question.response_schema is not None:
                room = None if page.width is None else max(page.width - line_len(head) - 2, 20)
                shown = brief(question.response_schema, room, reveal=page.reveal)
                yield [("", margin), ("muted", f"{pad('fits', column)}  {shown}")]
        if question.id:
            yield [("", margin), ("muted", f"{pad('id', column)}  {question.id}")]
