"""Shows a log: one checkpoint per line."""

from collections.abc import Iterator

from ckpt_cli.output.cells import cell_len, fit, line_len
from ckpt_cli.output.line import Line, Page, row
from ckpt_cli.output.text.steps import (
    Clock,
    change_summary,
    halts,
    join_lines,
    joined_inputs,
    made_by,
    marks,
    number,
    pad_line,
    strip_line,
)
from ckpt_cli.output.theme import BETWEEN, MORE, TIMES
from ckpt_cli.views.log import LogView
from ckpt_cli.views.steps import StepView

_WHO = (16, 32)
_NARROW = 100
_CHANGES = 30


def render(view: LogView, page: Page) -> Iterator[Line]:
    """Aligned columns on a terminal; in a pipe complete rows: id, step, source, nodes, changes, time and marks."""
    if page.width is None:
        several = _branches(view)
        yield from (_plain(step, several) for step in view.steps)
        return
    yield from (fit(line, page.width) for line in _Table(view, page.width).lines())


def _branches(view: LogView) -> int:
    """2 if the shown steps are known to belong to several branches, else 1. A single branch gets no number."""
    tips = {step.branch for step in view.steps} - {None}
    return 2 if view.other_branches or len(tips) > 1 or (view.rails and view.omitted) else 1


def _plain(step: StepView, branches: int) -> Line:
    changes: Line = (
        [("", "; ".join(change.text for change in step.changes))] if step.changes is not None else [("", MORE)]
    )
    beside = join_lines([marks(step, branches), halts(step)])
    who_made: Line = [("", ", ".join(name if n == 1 else f"{name} {TIMES}{n}" for name, n in step.nodes.items()))]
    columns = [[("id", step.checkpoint_id)], [("", number(step))], [("", step.source)], who_made, changes]
    return row([*columns, [("", step.time or "")], beside])


class _Table:
    def __init__(self, view: LogView, width: int) -> None:
        self._view = view
        self._width = width
        self._inputs = {} if view.all_steps else joined_inputs(view.steps)
        hidden = {step.checkpoint_id for step in self._inputs.values()}
        self._rows = [(at, step) for at, step in enumerate(view.steps) if step.checkpoint_id not in hidden]
        self._clock = Clock(step.time for step in view.steps)
        self._rail = max((cell_len(rail.lanes) for rail in view.rails), default=0)
        self._id = max((cell_len(step.short) for step in view.steps), default=0)
        self._step = max((len(number(step)) for step in view.steps), default=0)
        most = _WHO[width >= _NARROW]
        self._who = min(max((line_len(self._made_by(step)) for _, step in self._rows), default=0), most)
        self._branches = _branches(view)

    def lines(self) -> Iterator[Line]:
        for at, step in self._rows:
            rail = self._view.rails[at] if self._view.rails else None
            if rail is not None and rail.joins:
                yield [("muted", rail.joins.rstrip())]
            yield self._line(step, rail.lanes if rail is not None else "")
        yield from self._footer()

    def _line(self, step: StepView, lanes: str) -> Line:
        line: Line = [("muted", f"{lanes:<{self._rail}}")] if self._rail else []
        line.append(("id", step.short + " " * (self._id - cell_len(step.short))))
        if not self._view.oneline:
            line.append(("muted", f"  {number(step):>{self._step}}"))
        line += [("", "  "), *pad_line(self._made_by(step), self._who), ("", "  ")]
        room = self._width - line_len(line)
        if not self._view.oneline and room - self._clock.cells >= _CHANGES:
            line += [("muted", self._clock(step.time)), ("", "  ")]
            room -= self._clock.cells + 2
        beside = join_lines([marks(step, self._branches), halts(step)])
        if step.missing:
            words = f"parent {step.parent_id} is not stored"
            if room - line_len(beside) - len(words) < _CHANGES:
                words = "parent is not stored"
            beside = join_lines([beside, [("bad", words)]])
        left = max(room - (line_len(beside) + 2 if beside else 0), 8)
        return strip_line([*line, *join_lines([fit(change_summary(step, left), left), beside], "  ")])

    def _made_by(self, step: StepView) -> Line:
        return made_by(step, as_input=step.checkpoint_id in self._inputs or self._is_cut_off(step))

    def _is_cut_off(self, step: StepView) -> bool:
        """Whether the input of this step was left out only because the list ends here."""
        view = self._view
        return bool(step.input_id and view.omitted and step is view.steps[-1] and not view.all_steps)

    def _footer(self) -> Iterator[Line]:
        view = self._view
        facts = []
        if view.omitted:
            facts.append(f"{view.omitted:,} more")
        if view.other_branches:
            branches = "branch" if view.other_branches == 1 else "branches"
            facts.append(f"{view.other_branches:,} other {branches}: --all, --graph")
        if self._clock.beside and view.steps and not view.oneline:
            facts.append(self._clock.beside)
        if not view.steps:
            facts.append("no checkpoint fits")
        if facts:
            yield [("muted", f" {BETWEEN} ".join(facts))]
