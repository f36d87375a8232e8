"""Parts of the line about a checkpoint in `log` and `tree`: made by, marks, tags, questions, tips."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ckpt_cli.history.tasks.task_names import counted, nested, numbered
from ckpt_cli.output.cells import cell_len, fit, line_len
from ckpt_cli.output.line import Line, Span
from ckpt_cli.output.short_names import short_names
from ckpt_cli.output.text.brief import brief
from ckpt_cli.output.text.questions import short_lines
from ckpt_cli.output.text.sends import argument, beside_questions
from ckpt_cli.output.theme import DUE, FAILED, FINISHED, MORE, TIMES, UNREADABLE, WAITING
from ckpt_cli.views.steps import CommandView, HaltView, StepView, TaskView

if TYPE_CHECKING:
    from ckpt_cli.views.show import TaskLine

_TASKS = 6  # at most this many finished tasks of one node get a line each
_NODE = 24  # a node's name is not cut below this many cells
STOPPED = "running, stopped, killed or copied"
"""What a due task may be: a breakpoint, a kill and a copy leave the same data."""
FAILED_BEFORE = "failed before, or in its conditional edge"
"""Of a task with a result and an error: it ran again and finished, or an edge raised after its node had returned."""
FAILED_TOO = "failed too, before or after it asked"
"""Of a task that waits and ended with an error: nothing stored shows which came first."""
_NOT_CONTINUED = "no result here; the thread's next run doesn't continue this call"
_HALTED = ("waiting", "answered", "failed")
_COUNTED = {"finished": "finished", "left": "no result here; the graph above has gone on"}

NO_PARENT = "no parent"
"""The words beside a checkpoint that is drawn in the line of another one without being its child."""


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
    """The marks of a checkpoint: ``@`` for the head, ``branch:2`` for a tip among several, tags, a gap before it."""
    spans = [("head", "@")] if step.head else []
    if step.branch is not None and branches > 1:
        spans.append(("head", f"branch:{step.branch}"))
    spans += [("head", f"tag:{name}") for name in step.tags]
    spans += [("bad", f"{UNREADABLE} unreadable")] if step.problem else []
    if step.unstored_steps is None:
        those = "between its parent and it" if step.parent_id else "before it"
        spans.append(("muted", f"the steps {those} are on another branch, or aren't stored"))
    elif step.unstored_steps:
        are = "step before it isn't" if step.unstored_steps == 1 else "steps before it aren't"
        spans.append(("muted", f"{step.unstored_steps:,} {are} stored"))
    return _spaced(spans)


def has_no_parent(step: StepView) -> bool:
    """Whether a checkpoint is the beginning of a line, and none of its marks says so."""
    return not step.parent_id and step.unstored_steps == 0


def short_halts(steps: Iterable[StepView], cells: int) -> Mapping[str, str]:
    """The nodes that asked or failed at these checkpoints, each in at most `cells` cells; different ones stay so."""
    return short_names((_halted_node(halt) for step in steps for halt in step.halts), cells)


def halts(step: StepView, short: Mapping[str, str] | None = None) -> Line:
    """The open questions and the errors at a checkpoint; muted: earlier errors, and the nodes whose questions ended.

    `short` has shorter names for these nodes.
    """
    waiting = {task.node for task in step.tasks if task.status == "waiting"}
    failed, asks, failed_then, asked = list[HaltView](), list[HaltView](), list[HaltView](), list[HaltView]()
    for halt in step.halts:
        over = halt.over or bool(step.children) or step.not_continued is not None
        if halt.kind != "interrupt":
            (failed_then if over or halt.handler else failed).append(halt)
        else:
            (asks if not over and halt.node in waiting else asked).append(halt)
    short = short or {name: name for name in map(_halted_node, step.halts)}
    spans = [("bad", f"{FAILED} {name}".strip()) for name in _halted(failed, short)]
    spans += [("waiting", f"{WAITING} {name}".strip()) for name in _halted(asks, short)]
    return _spaced([*spans, *_past_halts(failed_then, asked, short)])


def pending_command(step: StepView) -> Line:
    """``pending Command: n, goto b``: what a Command wrote that the next run applies; empty if there is none."""
    return [] if step.command is None else [("changed", f"pending Command: {command_words(step.command)}")]


def command_words(command: CommandView) -> str:
    """``n, goto b``: the channels and nodes of a Command."""
    goto = ", ".join(node or "a Send" for node in command.goto)
    return ", ".join([*command.channels, *([f"goto {goto}"] if goto else [])])


def _past_halts(failed: Sequence[HaltView], asked: Sequence[HaltView], short: Mapping[str, str]) -> Iterator[Span]:
    """The nodes that failed and those that asked. Of a node that did both, nothing stored shows what came first."""
    asking = dict.fromkeys(short[_halted_node(halt)] for halt in asked)
    both = {name for halt in failed if (name := short[_halted_node(halt)]) in asking}
    only_failed = _halted([halt for halt in failed if short[_halted_node(halt)] not in both], short)
    phrases = [f"{', '.join(filter(None, only_failed))} failed then".strip()] if only_failed else []
    if only_asked := [name for name in asking if name not in both]:
        phrases.append(f"{', '.join(filter(None, only_asked))} asked".strip())
    if both:
        phrases.append(f"{', '.join(filter(None, sorted(both)))} asked and failed, in some order".strip())
    if phrases:
        yield "muted", ", ".join(phrases)


def _halted_node(halt: HaltView) -> str:
    return nested(halt.node or "", halt.inside)


def _halted(halts: Sequence[HaltView], short: Mapping[str, str]) -> list[str]:
    """The nodes of some tasks, each once: with the number of its Send, or the number of its tasks."""
    by_node: dict[str, list[HaltView]] = {}
    for halt in halts:
        by_node.setdefault(short[_halted_node(halt)], []).append(halt)
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
    if step.command is not None:
        yield [*pending_command(step), ("muted", "  the next run applies it first")]
    names = [name for task in tasks for name in (task_name(task), _failed_name(task))]
    short = {name: name for name in names} if cells is None else short_names(names, max(cells // 3, _NODE))
    kinds = Counter((task.status, task.node) for task in tasks)
    counted = set()
    for task in tasks:
        kind = (task.status, task.node)
        count = kinds[kind]
        if task.status in ("waiting", "failed") and step.not_continued is not None:
            yield from _past_lines(task, short, cells)
        elif task.error is not None or task.status in _HALTED or count <= (_TASKS if task.status == "finished" else 1):
            yield from _task_lines(task, short, cells, _due_word(due, task))
        elif kind not in counted:
            counted.add(kind)
            sign, style = (FINISHED, "good") if task.status == "finished" else (DUE, "muted")
            yield [
                (style, f"{sign} "),
                ("node", task.node or "?"),
                ("muted", f" {TIMES}{count}  {_COUNTED.get(task.status, _due_word(due, task))}"),
            ]


def task_name(task: "TaskView | TaskLine", unknown: str = "?") -> str:
    """The node of a task; of one that failed and asks nothing, with the nodes in its subgraph down to that failure."""
    return numbered(task.node or unknown, task.send) if task.status == "waiting" else _failed_name(task, unknown)


def _failed_name(task: "TaskView | TaskLine", unknown: str = "?") -> str:
    return nested(numbered(task.node or unknown, task.send), task.inside)


def _past_lines(task: TaskView, names: Mapping[str, str], cells: int | None) -> Iterator[Line]:
    """The questions or the error of a task of a call that the next run with the thread's id alone doesn't continue."""
    name: Line = [("node", names[task_name(task)])]
    did = "asked" if task.status == "waiting" else "asked and failed, in some order" if task.failed_too else "failed"
    yield [("muted", f"{DUE} "), *name, ("muted", f"  {did}; the thread's next run doesn't continue this call")]
    room = None if cells is None else max(cells - 4, 20)
    for interrupt in task.interrupts if task.status == "waiting" else ():
        yield from ([("", "  "), *line] for line in short_lines(interrupt, room))
    if task.status == "failed" or task.failed_too:
        yield [("", "  "), ("muted", error(task.error, room))]


def _due_words(step: StepView) -> str:
    """The words for tasks that are due at a tip.

    After an update or a fork nothing need have run, but a run that was killed in its first step leaves the same data.
    What other tasks left there may be carried from the checkpoint before.
    """
    if step.not_continued is not None:
        return _NOT_CONTINUED
    if step.source not in ("update", "fork"):
        return f"{STOPPED}; would run next"
    is_untouched = all(task.status == "due" for task in step.tasks)
    return f"would run next; nothing recorded since the {step.source}" if is_untouched else "would run next"


def _due_word(due: str, task: TaskView) -> str:
    """The same words for one task; langgraph ignores a Send to a node that the graph doesn't have."""
    return due.replace("would run next", "would run next if the graph has this node") if task.unseen else due


def _task_lines(task: TaskView, names: Mapping[str, str], cells: int | None, due: str) -> Iterable[Line]:
    """The lines about one task at a tip: its questions, error, answers or writes, or how it was left."""
    name: Line = [("node", names[task_name(task)])]
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
        handled = f"  its error handler: {task.handler}" if task.handler else ""
        room = room and max(room - cell_len(handled), 20)
        yield [("bad", f"{FAILED} "), *name, ("", "  "), ("bad", error(task.error, room)), ("muted", handled)]
    elif task.status == "finished":
        from ckpt_cli.output.text.changes import words

        yield [("good", f"{FINISHED} "), *name, ("", "  "), *(words(task.changes, room) or [("muted", "no change")])]
    elif task.status == "answered":
        answers = ", ".join(brief(answer, room) for answer in task.answers)
        yield [("good", f"{DUE} "), *name, ("muted", "  answered: "), ("value", answers)]
    else:
        yield [("muted", f"{DUE} "), *name, ("muted", f"  {_COUNTED.get(task.status, due)}")]
    if task.failed_too:
        when = f"  {FAILED_BEFORE if task.status == 'finished' else FAILED_TOO}:  "
        shown = error(task.error, room and max(room - cell_len(when), 20))
        failed: Line = [("node", names[_failed_name(task)]), *name[1:]]
        yield [("bad", f"{FAILED} "), *failed, ("muted", when), ("bad", shown)]


def error(value: Any, cells: int | None) -> str:
    """An error in one line: the ``repr`` text that LangGraph stored; for LangGraph.js, the error's name and message."""
    if isinstance(value, dict) and isinstance(value.get("message"), str):
        value = f"{value.get('name') or 'Error'}: {value['message']}"
    text = value if isinstance(value, str) else "error not read" if value is None else brief(value, cells)
    return brief(text, None if cells is None else cells + 2)[1:-1] if isinstance(text, str) else text
