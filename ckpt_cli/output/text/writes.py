"""Shows writes: a heading for each task, a line for each write; in a pipe, one row for each write."""

from collections.abc import Iterator

from ckpt_cli.history.tasks.task_ids import caller
from ckpt_cli.history.tasks.task_names import numbered
from ckpt_cli.output.cells import cell_len, line_len, pad
from ckpt_cli.output.line import Line, Page, row
from ckpt_cli.output.text.brief import brief
from ckpt_cli.output.text.sends import GIVEN, argument_lines, send_cells
from ckpt_cli.output.text.tasks import problem, questions
from ckpt_cli.output.text.values import value_after
from ckpt_cli.output.theme import TASK_STATUS, WRITE_KINDS, task_look
from ckpt_cli.views.writes import TaskWrites, WritesView, Written

_LABEL_CELLS = 24
_LABELS = {"error": "error", "interrupt": "asks", "resume": "answer", "nothing": "wrote nothing"}
_WRITER_NAMES = {"input": "the step itself", "update": "update_state", "run": "stored at the end of its run"}


def render(view: WritesView, page: Page) -> Iterator[Line]:
    """The writes by task on a terminal, tab-separated rows in a pipe."""
    if page.width is None:
        yield from _rows(view, page)
        return
    pending = "no writes"
    if view.tasks:
        pending = "history: a child continues it" if view.consumed else "pending"
    step = f"  step {view.step}" if view.step is not None else ""
    yield [("title", view.thread_id), ("", "  "), ("id", view.short), ("muted", f"{step}  {pending}")]
    for task in view.tasks:
        yield []
        yield from _task(task, view, page)


def _task(task: TaskWrites, view: WritesView, page: Page) -> Iterator[Line]:
    line: Line = [("node", _name(task))]
    if task.status:
        line += [("", "  "), task_look(task.status, consumed=view.consumed).span]
    shown_id: Line = [("muted", f"  {task.id}")] if task.by not in ("input", "update") else []
    if page.width is None or line_len([*line, *shown_id]) <= page.width:
        yield [*line, *shown_id]
    else:
        yield from (line, shown_id)
    shown = [write for write in task.writes if view.full or write.kind != "trigger"]
    labels = [*map(_label, shown), *([GIVEN] if task.send is not None else [])]
    column = min(max(map(cell_len, labels), default=0), _LABEL_CELLS)
    is_open = task.status == "waiting" and not view.consumed
    status = "" if view.consumed else task.status
    yield from argument_lines(task.send, status, page, column, indent=2, full=view.full)
    for write in shown:
        yield from _write(write, column, view.full, page, is_open=is_open)
    hidden = len(task.writes) - len(shown)
    if hidden:
        yield [("muted", f"  {hidden} to the graph's own channels (--full)")]


def _name(task: TaskWrites) -> str:
    if task.by == "task":
        return numbered(task.node or "unknown node", task.send)
    writer = f"called by {caller(task.path) or 'a task'}" if task.by == "call" else _WRITER_NAMES[task.by]
    return f"{task.node}  {writer}" if task.node else writer


def _label(write: Written) -> str:
    return f"Send to {write.to}" if write.kind == "send" else _LABELS.get(write.kind, write.channel)


def _write(write: Written, column: int, full: bool, page: Page, *, is_open: bool) -> Iterator[Line]:
    label = _label(write)
    width = max(column, cell_len(label))
    style = WRITE_KINDS.get(write.kind, "key")
    head: Line = [("", "  "), (style, pad(label, width) if write.kind != "nothing" else label)]
    if write.kind == "nothing":
        yield head
    elif write.kind == "interrupt" and write.interrupts:
        yield from questions(write.interrupts, page, 2, width, is_open=is_open, full=full)
    elif write.kind == "error":
        yield from problem(write.value, head, page)
    else:
        yield from value_after(head, write.value, page, 4, full=full)


def _rows(view: WritesView, page: Page) -> Iterator[Line]:
    """A row for each write: node, status, channel, value, task id, and of a Send its number and argument."""
    for task in view.tasks:
        for write in task.writes:
            value = write.value if write.kind != "interrupt" else [question.value for question in write.interrupts]
            shown = value if write.kind == "error" and isinstance(value, str) else brief(value, reveal=page.reveal)
            channel = f"{write.channel}:{write.to}" if write.to else write.channel
            status = TASK_STATUS[task.status].style if task.status else ""
            cells = [("node", task.node or task.by), (status, task.status), ("key", channel), ("value", shown)]
            yield row([cell] for cell in [*cells, ("muted", task.id), *send_cells(task.send, page)])
