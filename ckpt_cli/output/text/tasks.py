"""Shows tasks, in the same way for all commands: node, status, question or error."""

from collections.abc import Iterator, Sequence
from typing import Any

from ckpt_cli.output.cells import cell_len, fit, line_len, pad, wrap
from ckpt_cli.output.line import Line, Page, Span
from ckpt_cli.output.text.values import brief, value_after
from ckpt_cli.output.theme import ASKED, TASK_STATUS
from ckpt_cli.shell_words import argument
from ckpt_cli.views.interrupts import InterruptView
from ckpt_cli.views.show import TaskLine

_ANSWER_CELLS = 24


def task_lines(task: TaskLine, page: Page, column: int, *, consumed: bool) -> Iterator[Line]:
    """The lines of a task: its error, questions and called subgraphs; the node takes at least `column` cells.

    The questions of a `consumed` checkpoint are no longer open.
    """
    node = task.node or "unknown node"
    line: Line = [("", "  "), ("node", pad(node, max(column, cell_len(node)))), ("", "  ")]
    line.append(ASKED.span if consumed and task.status == "waiting" else TASK_STATUS[task.status].span)
    if task.answers and task.status == "answered":
        line += answers(task.answers, page)
    if task.answers and task.status == "failed":
        line += [("muted", " with the answer "), ("value", _brief(task.answers, page))]
    if task.error is not None and task.status != "failed":
        line.append(("muted", "  failed before:"))
    if task.error is None and task.id is not None:
        line += [("muted", f"  {task.id}")]
    yield from problem(task.error, line, page) if task.error is not None else [line]
    yield from questions(task.interrupts, page, 4, 4, is_open=not consumed)
    for ns in task.namespaces:
        yield fit([("", "    "), ("muted", "in    "), ("", f"--ns {argument(ns)}")], page.width)


def answers(values: Sequence[Any], page: Page) -> Line:
    """The recorded answers that a task takes when it is resumed."""
    return [("value", f": {_brief(values, page)}"), ("muted", ", continues when resumed")]


def old_answers(values: Sequence[Any], page: Page) -> Iterator[Line]:
    """The lines about an answer that is stored without its question, which the next run gives to its first question."""
    if not values:
        return
    what = f"the answer {_brief(values, page)} is stored for no particular question"
    what = f"{what}: the next run gives it to its first question"
    room = max((page.width or len(what) + 2) - 2, 20)
    yield from ([("", "  "), ("waiting", part)] for part in wrap(what, room))


def _brief(values: Sequence[Any], page: Page) -> str:
    return ", ".join(brief(value, _ANSWER_CELLS, reveal=page.reveal) for value in values)


def problem(error: Any, line: Line, page: Page) -> Iterator[Line]:
    """The lines of an error: at the end of `line`, or below it if the error is long."""
    text = error if isinstance(error, str) else _javascript(error) or brief(error, reveal=page.reveal)
    if page.width is None or ("\n" not in text and line_len(line) + cell_len(text) + 2 <= page.width):
        yield [*line, ("", "  "), ("bad", text)]
        return
    yield line
    yield from ([("", "      "), ("bad", part)] for part in wrap(text, max(page.width - 6, 20)))


def _javascript(error: Any) -> str:
    """The name and message of an error that LangGraph.js stored; "" for any other value."""
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return ""
    return f"{error.get('name') or 'Error'}: {error['message']}"


def questions(
    interrupts: Sequence[InterruptView], page: Page, indent: int, column: int, *, is_open: bool
) -> Iterator[Line]:
    """The questions of a task, each with its id for an answer; labels take `column` cells after the indent."""
    label: Span = ("waiting", pad("asks", column)) if is_open else ("muted", pad("asked", column))
    margin = " " * indent
    for question in interrupts:
        yield from value_after([("", margin), label], question.value, page, indent + 2)
        if question.id:
            yield [("", margin), ("muted", f"{pad('id', column)}  {question.id}")]
