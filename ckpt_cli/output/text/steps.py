"""Parts of the line about a checkpoint in `log` and `tree`: made by, marks, tags, questions, tips, times."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from ckpt_cli.history.lineage.printed_times import zone
from ckpt_cli.history.tasks.task_names import counted, nested, numbered
from ckpt_cli.output.cells import fit, line_len, truncate
from ckpt_cli.output.line import Line, Span
from ckpt_cli.output.text.brief import brief
from ckpt_cli.output.text.questions import short_lines
from ckpt_cli.output.text.sends import argument, beside_questions
from ckpt_cli.output.theme import DUE, FAILED, FINISHED, MORE, TIMES, UNREADABLE, WAITING
from ckpt_cli.views.steps import HaltView, StepView, TaskView

_TASKS = 6  # at most this many finished tasks of one node get a line each
_NODE = 24  # a node's name is not cut below this many cells
STOPPED = "running, stopped, killed or copied"
"""What a due task may be: a breakpoint, a kill and a copy leave the same data."""
_COUNTED = {"finished": "finished", "left": "left nothing here; the graph above has gone on"}


def joined_inputs(steps: Iterable[StepView]) -> dict[str, StepView]:
    """The inputs that have no row of their own, by the id of the checkpoint that took each in and shows it in its row.

    An input that has marks, or that several runs took in, keeps its row.
    """
    steps = list(steps)
    inputs = {step.checkpoint_id: step for step in steps if step.source == "input"}
    taken = {step.checkpoint_id: inputs[step.input_id] for step in steps if step.input_id in inputs}
    return {taker: one for taker, one in taken.items() if is_plain_input(one)}


def is_plain_input(step: StepView) -> bool:
    """Whether the row of an input has nothing to show but what was given."""
    marked = step.tags or step.halts or step.head or step.missing or step.problem
    return step.children == 1 and not marked


def made_by(step: StepView, *, as_input: bool = False) -> Line:
    """The nodes whose step made a checkpoint, or the word input, update or fork.

    A step that shows its input in the same row (`as_input`) is called like the input.
    """
    if step.source == "update":
        return [("changed", "update"), *([("muted", " as "), *nodes(step.nodes)] if step.nodes else [])]
    if step.source == "input" or as_input:
        return [("human", "input")]
    if step.source == "fork":
        return [("changed", "fork")]
    return nodes(step.nodes) if step.nodes else [("muted", step.source if step.source != "loop" else MORE)]


def nodes(counts: Mapping[str, int]) -> Line:
    """Nodes with their numbers of tasks: ``triage, work ×12``."""
    line: Line = []
    for node, count in counts.items():
        line += [("muted", ", ")] if line else []
        line += [("node", node)] + ([("muted", f" {TIMES}{count}")] if count > 1 else [])
    return line


def marks(step: StepView, branches: int) -> Line:
    """The marks of a checkpoint: ``@`` for the head, ``branch:2`` for a tip if there are several branches, tags."""
    spans = [("head", "@")] if step.head else []
    if step.branch is not None and branches > 1:
        spans.append(("head", f"branch:{step.branch}"))
    spans += [("head", f"tag:{name}") for name in step.tags]
    spans += [("bad", f"{UNREADABLE} unreadable")] if step.problem else []
    return _spaced(spans)


def halts(step: StepView) -> Line:
    """The open questions and the errors at a checkpoint; muted: earlier errors, and the nodes whose questions ended."""
    waiting = {task.node for task in step.tasks if task.status == "waiting"}
    failed, asks, failed_then, asked = list[HaltView](), list[HaltView](), list[HaltView](), list[HaltView]()
    for halt in step.halts:
        over = halt.over or bool(step.children)
        if halt.kind != "interrupt":
            (failed_then if over else failed).append(halt)
        else:
            (asks if not over and halt.node in waiting else asked).append(halt)
    spans = [("bad", f"{FAILED} {name}".strip()) for name in _halted(failed)]
    spans += [("waiting", f"{WAITING} {name}".strip()) for name in _halted(asks)]
    if failed_then:
        spans.append(("muted", f"{', '.join(filter(None, _halted(failed_then)))} failed then".strip()))
    if asked:
        spans.append(("muted", f"{', '.join(filter(None, dict.fromkeys(h.node or '' for h in asked)))} asked".strip()))
    return _spaced(spans)


def _halted(halts: Sequence[HaltView]) -> list[str]:
    """The nodes of some tasks, each once: with the number of its Send, or the number of its tasks."""
    by_node: dict[str, list[HaltView]] = {}
    for halt in halts:
        by_node.setdefault(halt.node or "", []).append(halt)
    return [
        numbered(node, some[0].send) if len(some) == 1 else counted(node for _ in some)
        for node, some in by_node.items()
    ]


def change_summary(step: StepView, cells: int | None) -> Line:
    """The changes of a step in one line; empty for a fork that could not be compared with its parent."""
    if step.changes is None and step.source == "fork":
        return []
    from ckpt_cli.output.text.changes import words

    return words(step.changes, cells)


def strip_line(line: Line) -> Line:
    """A line without blanks at its end."""
    while line and not line[-1][1].strip():
        line = line[:-1]
    return line


def _spaced(spans: Iterable[Span]) -> Line:
    return join_lines([[span] for span in spans])


def join_lines(parts: Iterable[Line], between: str = " ") -> Line:
    """The parts that are not empty, one after the other."""
    line: Line = []
    for part in parts:
        line += [("", between), *part] if line and part else part
    return line


def number(step: StepView) -> str:
    """The number of the step as text; "" if it is unknown."""
    return "" if step.step is None else str(step.step)


def pad_line(line: Line, cells: int) -> Line:
    """A styled line in exactly `cells` cells."""
    line = fit(line, cells)
    return [*line, ("", " " * (cells - line_len(line)))]


def tip_lines(step: StepView, cells: int | None) -> Iterator[Line]:
    """The lines about the tasks at a tip. Many finished or due tasks of one node share a line with their number."""
    tasks, due = step.tasks, _due_words(step)
    kinds = Counter((task.status, task.node) for task in tasks)
    counted = set()
    for task in tasks:
        kind = (task.status, task.node)
        count = kinds[kind]
        if task.status in ("waiting", "answered", "failed") or count <= (_TASKS if task.status == "finished" else 1):
            yield from _task_lines(task, cells, due)
        elif kind not in counted:
            counted.add(kind)
            sign, style = (FINISHED, "good") if task.status == "finished" else (DUE, "muted")
            yield [
                (style, f"{sign} "),
                ("node", task.node or "?"),
                ("muted", f" {TIMES}{count}  {_COUNTED.get(task.status, due)}"),
            ]


def _due_words(step: StepView) -> str:
    """The words for tasks that are due at a tip.

    After an update or a fork nothing need have run, but a run that was killed in its first step leaves the same data.
    What other tasks left there may be carried from the checkpoint before.
    """
    if step.source not in ("update", "fork"):
        return f"{STOPPED}; would run next"
    is_untouched = all(task.status == "due" for task in step.tasks)
    return f"would run next; nothing recorded since the {step.source}" if is_untouched else "would run next"


def _task_lines(task: TaskView, cells: int | None, due: str) -> Iterable[Line]:
    """The lines about one task at a tip: its questions, error, answers or writes, or how it was left."""
    shown = nested(numbered(task.node or "?", task.send), task.inside)
    name: Line = [("node", shown if cells is None else truncate(shown, max(cells // 3, _NODE)))]
    room = None if cells is None else max(cells - line_len(name) - 4, 20)
    name += argument(beside_questions(task.send, task.interrupts), room and room // 2)
    room = None if cells is None else max(cells - line_len(name) - 4, 20)
    if task.status == "waiting":
        for interrupt in task.interrupts:
            for line in short_lines(interrupt, room):
                yield [("waiting", f"{WAITING} "), *name, ("", "  "), *line]
        if not task.interrupts:
            yield [("waiting", f"{WAITING} "), *name, ("muted", "  waits")]
    elif task.status == "failed":
        yield [("bad", f"{FAILED} "), *name, ("", "  "), ("bad", error(task.error, room))]
    elif task.status == "finished":
        from ckpt_cli.output.text.changes import words

        yield [("good", f"{FINISHED} "), *name, ("", "  "), *(words(task.changes, room) or [("muted", "no change")])]
    elif task.status == "answered":
        answers = ", ".join(brief(answer, room) for answer in task.answers)
        yield [("good", f"{DUE} "), *name, ("muted", "  answered: "), ("value", answers)]
    else:
        yield [("muted", f"{DUE} "), *name, ("muted", f"  {_COUNTED.get(task.status, due)}")]


def error(value: Any, cells: int | None) -> str:
    """An error in one line: the ``repr`` text that LangGraph stored; for LangGraph.js, the error's name and message."""
    if isinstance(value, dict) and isinstance(value.get("message"), str):
        value = f"{value.get('name') or 'Error'}: {value['message']}"
    text = value if isinstance(value, str) else "error not read" if value is None else brief(value, cells)
    return brief(text, None if cells is None else cells + 2)[1:-1] if isinstance(text, str) else text


class Clock:
    """Writes the times of a column; the parts that all times share are left out.

    Args:
        times: the times of the column (ISO 8601).
        wide: write each time in full and without a zone, for a pipe.

    Attributes:
        beside: the text to write once beside the column: the date or year that all times share, and their zone.
    """

    def __init__(self, times: Iterable[str | None], wide: bool = False) -> None:
        moments = [datetime.fromisoformat(time).astimezone() for time in times if time]
        zones = set() if wide else {zone(moment) for moment in moments}
        shared = _shared_date(moments, wide)
        self._zoned = len(zones) > 1  # before and after a change to summer time
        short = "%m-%d %H:%M" if shared else "%Y-%m-%d %H:%M:%S"
        self._format = "%H:%M:%S" if len(shared) > 4 else short
        self.beside = " ".join([*([shared] if shared else []), *(zones if len(zones) == 1 else [])])
        example = datetime(2000, 1, 1).strftime(self._format)
        self.cells = len(example) + (7 if self._zoned else 0) if moments else 0

    def __call__(self, time: str | None) -> str:
        """One time, in `cells` cells; blank if it isn't known."""
        if time is None:
            return " " * self.cells
        moment = datetime.fromisoformat(time).astimezone()
        words = moment.strftime(self._format)
        return f"{words} {zone(moment)}".ljust(self.cells) if self._zoned else words


def _shared_date(moments: Sequence[datetime], wide: bool) -> str:
    """The date that all times share, else their year, unless they are to be written in full; "" if neither."""
    if moments and len({moment.date() for moment in moments}) == 1:
        return f"{moments[0]:%Y-%m-%d}"
    return f"{moments[0]:%Y}" if not wide and len({moment.year for moment in moments}) == 1 else ""
