"""Shows ``replay --to``: each task's writes, the changed state, whether the recorded one is the same."""

from collections.abc import Iterator

from ckpt_cli.output.cells import cell_len, fit, line_len, pad, wrap
from ckpt_cli.output.line import Line, Page, row
from ckpt_cli.output.text.brief import brief
from ckpt_cli.output.text.diff import difference_lines, side_lines
from ckpt_cli.output.text.reducers import notable_reducers
from ckpt_cli.output.text.steps import FAILED_BEFORE, error
from ckpt_cli.output.theme import LEADS_TO, TIMES, VERDICTS, task_look
from ckpt_cli.values.counts import count_text
from ckpt_cli.views.replay import PlayedStep, PlayedTask, PlayedView, PlayedWrite

_BY = {"input": "input", "update": "update"}
_MIN_VALUE = 12  # the reducer is left out if the value beside it would get fewer cells than this


def replayed_lines(view: PlayedView, page: Page) -> Iterator[Line]:
    """The steps one after the other on a terminal; in a pipe, one row for each write."""
    if page.width is None:
        for step in view.steps:
            yield from _rows(step, page)
        return
    yield from side_lines(view.before, view.after, page.width)
    for step in view.steps:
        yield []
        yield from _step(step, page)
    if view.count:
        yield []
        yield from _end(view, page.width)
    else:
        yield [("muted", "no steps: it is the same checkpoint")]


def _step(step: PlayedStep, page: Page) -> Iterator[Line]:
    width = page.width or 0
    number = f"  step {step.step}" if step.step is not None else ""
    head: Line = [("id", step.short), ("muted", number), ("", "  "), ("node", _who(step)), ("", "  ")]
    yield fit([*head, VERDICTS[step.verdict].span], width)
    if step.why:
        yield from ([("", "  "), ("muted", part)] for part in wrap(step.why, max(width - 2, 20)))
    column = max((cell_len(_node(task)) for task in step.tasks), default=0)
    for task in step.tasks:
        yield from _task(task, column, page)
    yield from difference_lines(step.changes, page, 2)


def _who(step: PlayedStep) -> str:
    if step.source in ("input", "update", "fork"):
        return step.source
    names = dict.fromkeys(task.node or "unknown node" for task in step.tasks if task.by == "task")
    return ", ".join(names) or "loop"


def _node(task: PlayedTask) -> str:
    return task.node or _BY.get(task.by, "unknown node")


def _task(task: PlayedTask, column: int, page: Page) -> Iterator[Line]:
    """The writes of a task, each with the reducer that combined it; "nothing" if there are none and this is known."""
    node = _node(task)
    lines: list[Line] = [_write(write, column + 4, page) for write in task.writes]
    if task.sends:
        counts = {name: task.sends.count(name) for name in task.sends}
        nodes = ", ".join(f"{name} {TIMES}{count}" if count > 1 else name for name, count in counts.items())
        lines.append([("muted", f"{LEADS_TO} "), ("node", nodes)])
    if task.error is not None:
        lines.insert(0, _failure(task, (page.width or 0) - column - 4))
    if not task.stored:
        lines.append([("muted", "its writes, if there were any, are not stored")])
    for place, line in enumerate(lines or [[("muted", "nothing")]]):
        label = pad(node if place == 0 else "", max(column, cell_len(node)))
        yield fit([("", "  "), ("node", label), ("", "  "), *line], page.width)


def _failure(task: PlayedTask, cells: int) -> Line:
    """The error of a task, in the words of ``show``."""
    line: Line = [task_look("finished" if task.finished else "failed", consumed=True).span]
    if task.finished:
        line.append(("muted", f"  {FAILED_BEFORE}:"))
    return [*line, ("", "  "), ("bad", error(task.error, max(cells - line_len(line) - 2, 10)))]


def _write(write: PlayedWrite, used: int, page: Page) -> Line:
    line: Line = [("key", write.channel), ("", "  ")]
    reducer: Line = [("muted", f"  by {write.reducer}")] if write.reducer else []
    room = (page.width or 0) - used - line_len(line) - line_len(reducer)
    if room < _MIN_VALUE:
        room, reducer = room + line_len(reducer), []
    return [*line, ("value", brief(write.value, max(room, 1), reveal=page.reveal)), *reducer]


def _end(view: PlayedView, width: int) -> Iterator[Line]:
    if named := notable_reducers(view.reducers):
        yield from ([("muted", part)] for part in wrap(f"Reducers: {', '.join(named)}", width))
    counts = ", ".join(f"{count} {VERDICTS[verdict].word}" for verdict, count in view.verdicts.items())
    yield [("", f"{count_text(view.count, 'step')} played: {counts}.")]


def _rows(step: PlayedStep, page: Page) -> Iterator[Line]:
    """Rows of checkpoint, step, verdict, node, channel, reducer and value."""
    first = (step.checkpoint_id, "" if step.step is None else str(step.step), step.verdict)
    rows = [
        (_node(task), write.channel, write.reducer or "", brief(write.value, reveal=page.reveal))
        for task in step.tasks
        for write in task.writes
    ]
    for cells in rows or [(_who(step), "", "", "")]:
        yield row([("", cell)] for cell in (*first, *cells))
