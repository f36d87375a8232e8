"""Shows the events of a watch, each when it happens: the line of `log`, behind the thread's id."""

from collections.abc import Iterator
from datetime import datetime

from ckpt_cli.history.lineage.printed_times import printed_time
from ckpt_cli.output.cells import cell_len, fit, line_len
from ckpt_cli.output.line import Line, Page, plain, row
from ckpt_cli.output.text.steps import (
    change_summary,
    halts,
    join_lines,
    made_by,
    marks,
    number,
    pad_line,
    strip_line,
    tip_lines,
)
from ckpt_cli.output.text.time_column import Clock
from ckpt_cli.output.theme import FAILED, MORE, TIMES
from ckpt_cli.views.steps import StepView
from ckpt_cli.views.watch import EventView, WatchView

_WHO = 16
_THREAD = 40  # a thread's id is cut to so many cells, or a third of the line
_INDENT = "  "


def render(view: WatchView, page: Page) -> Iterator[Line]:
    """Columns on a terminal, which widen as longer ids come; in a pipe one row an event.

    A row has thread, event, statuses, id, step, source, nodes, changes, time, marks and namespace.
    """
    table = _Table(page)
    for event in view.events:
        if event.checkpoint is None:
            yield (
                [("bad", f"{FAILED} {event.text}")]
                if page.width is not None
                else row([[], [("", "alert")], [("", event.text)]])
            )
        elif page.width is None:
            yield _plain(event, event.checkpoint)
        else:
            yield from (fit(line, page.width) for line in table.lines(event, event.checkpoint))


def words(thread_id: str, step: StepView, *, is_new: bool) -> str:
    """An event in words, on one line, for messages."""
    tips = [plain(line) for line in tip_lines(step, None)]
    said = [] if is_new else tips or [step.status or "unreadable"]
    if is_new:
        said = [*_said(step), *(tips if step.status in ("waiting", "failed") else [])]
    who = plain(made_by(step))
    return f"{thread_id} {step.short} step {number(step)} {who}: {'; '.join(said)}".removesuffix(": ")


def _said(step: StepView) -> list[str]:
    return [change.text for change in step.changes or ()]


def _plain(event: EventView, step: StepView) -> Line:
    changes = "; ".join(_said(step)) if step.changes is not None else MORE
    if event.event != "checkpoint":
        changes = "; ".join(plain(line) for line in tip_lines(step, None))
    who = ", ".join(name if n == 1 else f"{name} {TIMES}{n}" for name, n in step.nodes.items())
    texts = [event.thread_id or "", event.event, ", ".join(event.statuses), step.checkpoint_id, number(step)]
    columns: list[Line] = [[("", text)] for text in (*texts, step.source, who, changes, step.time or "")]
    return row([*columns, join_lines([marks(step, 1), halts(step)]), [("", step.ns)]])


class _Table:
    def __init__(self, page: Page) -> None:
        self._width = page.width or 0
        self._today = datetime.fromtimestamp(page.now).astimezone().date()
        self._thread = self._id = self._step = 0

    def lines(self, event: EventView, step: StepView) -> Iterator[Line]:
        name = [
            event.thread_id or "",
            *(["|".join(part.partition(":")[0] for part in step.ns.split("|"))] if step.ns else []),
        ]
        self._thread = max(self._thread, min(cell_len(" ".join(name)), _THREAD, self._width // 3))
        beginning: Line = [("title", name[0]), *(("muted", f" {ns}") for ns in name[1:])]
        line: Line = [("muted", f"{self._time(step.time)}  "), *pad_line(beginning, self._thread), ("", "  ")]
        if event.event == "checkpoint":
            yield self._step_line(line, step)
        is_halted = not {"waiting", "failed"}.isdisjoint(event.statuses)
        if event.event == "checkpoint" and not is_halted:
            return
        room = self._width - line_len(line)
        tips = [*tip_lines(step, room)] or [[("muted", f"{step.status or 'unreadable'}")]]
        for tip in tips:
            yield [*line, *tip] if event.event != "checkpoint" else [("", " " * line_len(line)), *tip]

    def _time(self, time: str | None) -> str:
        """A time of the day on which the watch began; another one with its date and zone."""
        moment = None if time is None else datetime.fromisoformat(time)
        if moment is None or moment.astimezone().date() == self._today:
            return Clock([time])(time)
        return printed_time(moment.timestamp())

    def _step_line(self, line: Line, step: StepView) -> Line:
        self._id = max(self._id, cell_len(step.short))
        self._step = max(self._step, len(number(step)))
        line = [*line, ("id", step.short + " " * (self._id - cell_len(step.short)))]
        line += [("muted", f"  {number(step):>{self._step}}  "), *pad_line(made_by(step), _WHO), ("", _INDENT)]
        beside = join_lines([marks(step, 1), halts(step)])
        left = max(self._width - line_len(line) - (line_len(beside) + 2 if beside else 0), 8)
        return strip_line([*line, *join_lines([fit(change_summary(step, left), left), beside], _INDENT)])
