"""Tasks as text, the same wherever they are shown: node, how far it came, its question or error."""

from collections.abc import Iterator, Sequence
from typing import Any

from ckpt_cli.output.cells import cell_len, fit, line_len, pad, wrap
from ckpt_cli.output.line import Line, Page
from ckpt_cli.output.text.values import behind, brief
from ckpt_cli.output.theme import TASK_STATUS
from ckpt_cli.shell_words import argument
from ckpt_cli.views.interrupts import InterruptView
from ckpt_cli.views.show import TaskLine

_ANSWER = 24


def task_lines(task: TaskLine, page: Page, column: int) -> Iterator[Line]:
    """A task, its error, its questions, and the subgraphs it called; nodes take so many cells."""
    node = task.node or "unknown node"
    line: Line = [("", "  "), ("node", pad(node, max(column, cell_len(node)))), ("", "  ")]
    line.append(TASK_STATUS[task.status].span)
    if task.answers and task.status == "answered":
        line += answers(task.answers, page)
    if task.answers and task.status == "failed":
        line += [("muted", " with the answer "), ("value", _brief(task.answers, page))]
    if task.error is None and task.id is not None:
        line += [("muted", f"  {task.id}")]
    yield from problem(task.error, line, page) if task.error is not None else [line]
    yield from questions(task.interrupts, page, 4, 4)
    for ns in task.namespaces:
        yield fit([("", "    "), ("muted", "in    "), ("", f"--ns {argument(ns)}")], page.width)


def answers(given: Sequence[Any], page: Page) -> Line:
    """What a task has been answered, and when it takes it."""
    return [("value", f": {_brief(given, page)}"), ("muted", ", goes on when resumed")]


def _brief(given: Sequence[Any], page: Page) -> str:
    return ", ".join(brief(one, _ANSWER, reveal=page.reveal) for one in given)


def problem(error: Any, line: Line, page: Page) -> Iterator[Line]:
    """An error at the end of a line, or below it where it is long."""
    told = error if isinstance(error, str) else _javascript(error) or brief(error, reveal=page.reveal)
    if page.width is None or ("\n" not in told and line_len(line) + cell_len(told) + 2 <= page.width):
        yield [*line, ("", "  "), ("bad", told)]
        return
    yield line
    yield from ([("", "      "), ("bad", part)] for part in wrap(told, max(page.width - 6, 20)))


def _javascript(error: Any) -> str:
    """LangGraph.js stores what an error says and what it is called."""
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return ""
    return f"{error.get('name') or 'Error'}: {error['message']}"


def questions(asked: Sequence[InterruptView], page: Page, indent: int, column: int) -> Iterator[Line]:
    """What a task asks, with the id to answer it by; labels take so many cells behind the indent."""
    margin = " " * indent
    for question in asked:
        yield from behind([("", margin), ("waiting", pad("asks", column))], question.value, page, indent + 2)
        if question.id:
            yield [("", margin), ("muted", f"{pad('id', column)}  {question.id}")]
