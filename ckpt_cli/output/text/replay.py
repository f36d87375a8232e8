"""Shows a replayed checkpoint: its tasks, the state after their writes, and the tasks that would run again."""

from collections.abc import Iterator, Sequence

from ckpt_cli.history.tasks.passed_over import passed_over_words
from ckpt_cli.history.tasks.task_names import counted, numbered
from ckpt_cli.output.cells import cell_len, fit, flow, line_len, pad, truncate, wrap
from ckpt_cli.output.line import Line, Page, row
from ckpt_cli.output.text.brief import brief
from ckpt_cli.output.text.diff import difference_lines
from ckpt_cli.output.text.sends import argument, send_cells
from ckpt_cli.output.text.tasks import old_answers
from ckpt_cli.output.theme import task_look
from ckpt_cli.views.replay import PlayedView, ReplayedTask, ReplayView
from ckpt_cli.views.write_line import WriteLine


def render(view: ReplayView | PlayedView, page: Page) -> Iterator[Line]:
    """The tasks and the state, or, with ``--to``, the steps one by one; in a pipe, one row for each task or write."""
    if isinstance(view, PlayedView):
        from ckpt_cli.output.text.replayed_steps import replayed_lines

        yield from replayed_lines(view, page)
        return
    if page.width is None:
        if view.command or view.goto:
            yield row([("", cell)] for cell in ("input", "", "" if view.consumed else "kept", _commanded(view, page)))
        for task in view.tasks:
            runs = "run" if task.status == "due" else "again"
            outcome = runs if task.again else "kept" if task.status == "finished" else ""
            cells = (task.node or "", task.status, outcome, _summary(task, None, page))
            yield row([cell] for cell in [*(("", cell) for cell in cells), *send_cells(task.send, page)])
        return
    yield [("title", view.thread), ("", "  "), ("id", view.short), ("muted", f"  step {view.step}")]
    if view.command or view.goto:
        line = [("node", "input"), ("", f"  {_commanded(view, page)}")]
        yield fit([*line, ("muted", "" if view.consumed else "  kept")], page.width)
    if not view.tasks and not view.undecided and not view.unplayed:
        yield [("muted", "nothing runs there")]
        return
    column = max((cell_len(_name(task)) for task in view.tasks), default=0)
    for task in view.tasks:
        yield _task(task, column, page, view)
    yield from _state(view, page)


def _task(task: ReplayedTask, column: int, page: Page, view: ReplayView) -> Line:
    consumed = view.consumed
    runs = "would run" if task.status == "due" else "would run again"  # nothing shows whether a due task ever began
    outcome = (
        ""
        if consumed or task.status == "left"
        else "kept by --commit"
        if not view.head and task.status == "finished"
        else runs
        if not view.head
        else "continues when resumed"
        if task.status == "answered"
        else runs
        if task.again
        else "not run again: its error handler runs"
        if task.status == "failed"
        else "not started"
        if task.status == "due"
        else "kept, not run again"
    )
    status = task_look(task.status, consumed=consumed).span
    line: Line = [("node", pad(_name(task), column)), ("", "  "), status]
    result, free = _summary(task, None, page), (page.width or 0) - line_len(line) - len(outcome) - 4
    line += [*argument(task.send, max(free // 2, free - cell_len(result), 8), reveal=page.reveal), ("", "  ")]
    room = (page.width or 0) - line_len(line) - len(outcome) - 2
    summary: Line = [("", truncate(result, max(room, 8)))]
    return fit([*line, *summary, ("muted", f"  {outcome}" if summary[0][1] and outcome else outcome)], page.width)


def _name(task: ReplayedTask) -> str:
    return numbered(task.node or "unknown node", task.send)


def _summary(task: ReplayedTask, room: int | None, page: Page) -> str:
    if task.status == "answered":
        return ", ".join(brief(answer, room, reveal=page.reveal) for answer in task.answers)
    if task.asks:
        return brief(task.asks[0], room, reveal=page.reveal)
    if task.error is not None and task.status != "finished":
        return task.error if isinstance(task.error, str) else brief(task.error, room, reveal=page.reveal)
    return _written(task.writes, page, room)


def _written(writes: Sequence[WriteLine], page: Page, room: int | None = None) -> str:
    return ", ".join(f"{write.channel} {brief(write.value, room, reveal=page.reveal)}" for write in writes)


def _commanded(view: ReplayView, page: Page) -> str:
    goto = [f"goto {', '.join(view.goto)}"] if view.goto else []
    return ", ".join([*([_written(view.command, page)] if view.command else []), *goto])


def _state(view: ReplayView, page: Page) -> Iterator[Line]:
    if view.changes or view.unknown:
        yield [("muted", "the state would be")]
        yield from difference_lines(view.changes, page, 2)
    if view.unplayed:
        yield from _wrapped("muted", f"The state after the step can't be computed: {view.unplayed}.", page)
    for channel, why in view.unknown.items():
        lines = wrap(f"{channel}  unknown: {why}", max((page.width or 0) - 4, 20))
        yield from ([("muted", f"{'    ' if place else '  ? '}{part}")] for place, part in enumerate(lines))
    if view.reducers:
        yield from _wrapped("muted", f"Reducers: {', '.join(view.reducers)}", page)
    if view.doubt:
        yield from _wrapped("muted", f"{view.doubt[0].upper()}{view.doubt[1:]}.", page)
    again = [task.node or "an unknown node" for task in view.tasks if task.again]
    if view.consumed:
        yield [("muted", "The checkpoint has a child: none of these writes is pending.")]
        return
    if any(task.status == "left" for task in view.tasks):
        yield [("muted", "The call of this subgraph has finished: no run continues here.")]
        return
    if view.head and (again or not view.unplayed):
        yield from _wrapped("", f"If resumed now: {_runs(view, again)}", page)
        yield from old_answers(view.old_answers, page)
        if view.passed_over:
            words = passed_over_words(view.passed_over)
            yield from _wrapped("", f"{words[0].upper()}{words[1:]}.", page)
    elif not view.head:
        yield from _wrapped("", "This isn't the head: a run from here runs the whole step again.", page)
    if view.unplayed:
        yield from _wrapped("muted", "Nothing written. `ckpt writes` shows what has finished.", page)
        return
    after = "can't be known" if view.next is None else f"would be {counted(view.next) or 'nothing'}"
    lost = [_name(task) for task in view.tasks if task.by_goto and task.status == "finished"]
    but = f", but not what {', '.join(lost)} wrote, which a Command's goto started," if lost else ""
    abandoned = f" and abandons {counted(again)}" if again else ""
    options = "".join(f" --reducer {channel}=NAME" for channel in [*view.unknown, *view.unproven])
    options += "".join(f" --deferred {node}=no/yes" for node in view.deferred)
    hint = f"Nothing written. --commit{options} keeps what has finished{but}{abandoned}: next {after}."
    yield from _wrapped("muted", hint, page)


def _runs(view: ReplayView, again: Sequence[str]) -> str:
    """What the next run does, also where the library would raise an error at the writes that are kept."""
    doubt = f"{', '.join(view.undecided)} would run, unless deferred: nothing here shows it"
    if not view.tasks:
        return f"{doubt}."
    runs = f"{counted(again)} would run" if again else "all tasks have finished"
    if view.undecided:
        return f"{runs}; {doubt}."
    if not view.unfit:
        open_channels = ", ".join(view.unknown)
        unless = (
            f", unless this raises an error: what {open_channels} does with them isn't known" if open_channels else ""
        )
        return f"{runs}." if again else f"{runs}, and their writes would be applied{unless}."
    channels = ", ".join(view.unfit)
    fails = f"applying the {'kept ' if again else ''}writes to {channels} raises an error, as far as the steps show"
    return f"{runs}; {fails} what {'it makes' if len(view.unfit) == 1 else 'they make'} of writes."


def _wrapped(style: str, text: str, page: Page) -> Iterator[Line]:
    return ([(style, part)] for part in flow(text, page.width or cell_len(text)))
