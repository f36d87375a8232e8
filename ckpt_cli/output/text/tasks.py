"""Tasks as text, the same wherever they are shown: node, how far it came, its question or error."""

from collections.abc import Iterator, Sequence

from ckpt_cli.output.cells import pad
from ckpt_cli.output.line import Line, Page
from ckpt_cli.output.text.values import block, brief, inline
from ckpt_cli.views.show import Question, TaskLine

STATUS = {
    "finished": ("good", "✓ finished"),
    "waiting": ("waiting", "⏸ waiting"),
    "failed": ("bad", "✗ failed"),
    "due": ("muted", "○ due"),
}


def task_lines(task: TaskLine, page: Page) -> Iterator[Line]:
    """A task, its error, its questions, and the subgraphs it called."""
    line: Line = [("", "  "), ("node", task.node or "unknown node"), ("", "  "), STATUS[task.status]]
    if task.error is not None:
        room = None if page.width is None else max(page.width - sum(len(text) for _, text in line) - 2, 20)
        error = task.error if isinstance(task.error, str) else brief(task.error, room, reveal=page.reveal)
        line += [("", "  "), ("bad", error)]
    elif task.id is not None:
        line += [("muted", f"  {task.id}")]
    yield line
    yield from questions(task.interrupts, page, 4, 4)
    for ns in task.namespaces:
        yield [("", "    "), ("muted", "in    "), ("", f"--ns {ns}")]


def questions(asked: Sequence[Question], page: Page, indent: int, column: int) -> Iterator[Line]:
    """What a task asks, with the id to answer it by; labels take so many cells behind the indent."""
    margin = " " * indent
    for question in asked:
        label: Line = [("", margin), ("waiting", pad("asks", column)), ("", "  ")]
        line = inline(question.value, page, indent + column + 2)
        if line is not None:
            yield [*label, line]
        else:
            yield label
            yield from block(question.value, page, indent + 2)
        if question.id:
            yield [("", margin), ("muted", f"{pad('id', column)}  {question.id}")]
