"""Shows a log: one checkpoint per line."""

from collections.abc import Iterator

from ckpt_cli.output.cells import cell_len, fit, line_len
from ckpt_cli.output.line import Line, Page, row
from ckpt_cli.output.short_names import short_cells
from ckpt_cli.output.text.steps import (
    NO_PARENT,
    change_summary,
    halts,
    has_no_parent,
    join_lines,
    made_by,
    marks,
    number,
    pad_line,
    pending_command,
    short_halts,
    strip_line,
)
from ckpt_cli.output.text.time_column import Clock
from ckpt_cli.output.text.turns import joined_inputs
from ckpt_cli.output.theme import BETWEEN, MORE, TIMES
from ckpt_cli.views.log import LogView
from ckpt_cli.views.steps import StepView

_WHO = (16, 32)
_NARROW = 100
_CHANGES = 30
_NODE = 16  # beside long changes, a node that asked or failed gets a quarter of the page, and at least so many cells


def render(view: LogView, page: Page) -> Iterator[Line]:
    """Aligned columns on a terminal; in a pipe complete rows: id, step, source, nodes, changes, time and marks."""
    if page.width is None:
        yield from (_plain(step, view.branches) for step in view.steps)
        return
    yield from (fit(line, page.width) for line in _Table(view, list(view.steps), page.width).lines())


def _plain(step: StepView, branches: int) -> Line:
    changes: Line = (
        [("", "; ".join(change.text for change in step.changes))] if step.changes is not None else [("", MORE)]
    )
    beside = join_lines([marks(step, branches), halts(step), pending_command(step)])
    who_made: Line = [("", ", ".join(name if n == 1 else f"{name} {TIMES}{n}" for name, n in step.nodes.items()))]
    columns = [[("id", step.checkpoint_id)], [("", number(step))], [("", step.source)], who_made, changes]
    return row([*columns, [("", step.time or "")], beside])


class _Table:
    def __init__(self, view: LogView, steps: list[StepView], width: int) -> None:
        self._view = view
        self._steps = steps
        self._width = width
        self._inputs = {} if view.all_steps else joined_inputs(steps)
        hidden = {step.checkpoint_id for step in self._inputs.values()}
        self._rows = [(at, step) for at, step in enumerate(steps) if step.checkpoint_id not in hidden]
        self._clock = Clock(step.time for step in steps)
        self._rail = max((cell_len(rail.lanes) for rail in view.rails), default=0)
        self._id = max((cell_len(step.short) for step in steps), default=0)
        self._step = max((len(number(step)) for step in steps), default=0)
        most = _WHO[width >= _NARROW]
        makers = [self._made_by(step) for _, step in self._rows]
        self._who = min(max(map(line_len, makers), default=0), most)
        self._makers = short_cells(makers, self._who)
        self._halts = short_halts(steps, max(width // 4, _NODE))

    def lines(self) -> Iterator[Line]:
        for (at, step), maker in zip(self._rows, self._makers, strict=True):
            rail = self._view.rails[at] if self._view.rails else None
            if rail is not None and rail.joins:
                yield [("muted", rail.joins.rstrip())]
            yield self._line(step, maker, rail.lanes if rail is not None else "")
        yield from self._footer()

    def _line(self, step: StepView, maker: Line, lanes: str) -> Line:
        line: Line = [("muted", f"{lanes:<{self._rail}}")] if self._rail else []
        line.append(("id", step.short + " " * (self._id - cell_len(step.short))))
        if not self._view.oneline:
            line.append(("muted", f"  {number(step):>{self._step}}"))
        line += [("", "  "), *pad_line(maker, self._who), ("", "  ")]
        room = self._width - line_len(line)
        if not self._view.oneline and room - self._clock.cells >= _CHANGES:
            line += [("muted", self._clock(step.time)), ("", "  ")]
            room -= self._clock.cells + 2
        marked, command = marks(step, self._view.branches), pending_command(step)
        beside = join_lines([marked, halts(step), command])
        if room - line_len(beside) - 2 < line_len(change_summary(step, _CHANGES)):
            beside = join_lines([marked, halts(step, self._halts), command])
        if step.missing:
            words = f"parent {step.parent_id} is not stored"
            if room - line_len(beside) - len(words) < _CHANGES:
                words = "parent is not stored"
            beside = join_lines([beside, [("bad", words)]])
        elif self._begins_anew(step):
            beside = join_lines([beside, [("muted", NO_PARENT)]])
        left = max(room - (line_len(beside) + 2 if beside else 0), 8)
        return strip_line([*line, *join_lines([fit(change_summary(step, left), left), beside], "  ")])

    def _made_by(self, step: StepView) -> Line:
        return made_by(step, as_input=step.checkpoint_id in self._inputs or self._is_cut_off(step))

    def _begins_anew(self, step: StepView) -> bool:
        """Whether a row without a parent is drawn above others, shown or not: its lane doesn't lead to them."""
        begin = self._inputs.get(step.checkpoint_id, step)
        is_above = begin is not self._steps[-1] or bool(self._view.omitted)
        return bool(self._view.rails) and has_no_parent(begin) and is_above

    def _is_cut_off(self, step: StepView) -> bool:
        """Whether the input of this step was left out only because the list ends here."""
        view = self._view
        return bool(step.input_id and view.omitted and step is self._steps[-1] and not view.all_steps)

    def _footer(self) -> Iterator[Line]:
        view = self._view
        facts = []
        if view.omitted:
            facts.append(f"{view.omitted:,} more")
        if view.other_branches:
            branches = "branch" if view.other_branches == 1 else "branches"
            facts.append(f"{view.other_branches:,} other {branches}: --all, --graph")
        if self._clock.beside and self._steps and not view.oneline:
            facts.append(self._clock.beside)
        if not self._steps:
            facts.append("no checkpoint fits")
        if facts:
            yield [("muted", f" {BETWEEN} ".join(facts))]
