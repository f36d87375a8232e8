"""Shows a tree: rails at the left, the changes of each step at the right."""

from collections.abc import Iterable, Iterator, Mapping

from ckpt_cli.history.tasks.task_names import counted, nested
from ckpt_cli.output.cells import cell_len, fit, line_len, truncate
from ckpt_cli.output.line import Line, Page, Span
from ckpt_cli.output.short_names import short_cells
from ckpt_cli.output.text.steps import (
    NO_PARENT,
    change_summary,
    halts,
    has_no_parent,
    join_lines,
    made_by,
    marks,
    nodes,
    number,
    pad_line,
    short_halts,
    strip_line,
    tip_lines,
)
from ckpt_cli.output.text.time_column import Clock
from ckpt_cli.output.text.turns import joined
from ckpt_cli.output.theme import BETWEEN, CHECKPOINT, FOLDED, HEAD, JOINT, MORE, RAIL, SUBGRAPH, UNKNOWN, thread_style
from ckpt_cli.views.steps import StepView
from ckpt_cli.views.tree import AsideView, FoldView, SubgraphView, TreeRow, TreeView

_CALLERLESS = "called by checkpoints that aren't stored or aren't known:"
_RAILS = 12  # at most this many rails are drawn; only a specially made tree of at least 4096 checkpoints has more
_WHO = (18, 32)  # at most this many cells for the nodes that made a step, on a narrow page and on a wide one
_NARROW = 100
_FIRST_TO_GO = ("subgraphs", "checkpoints", "branches")  # the facts of the heading that are left out first
_HALTED = {"waiting": "waiting for you", "failed": "failed"}  # a thread may have both statuses
_LEAST_STATUS = 12  # the status in the heading is not cut below this many cells
_NODES = 10  # if the nodes of a folded run would get fewer cells than this beside the changes, they are left out
_NODE = 16  # beside long changes, a node that asked or failed gets a quarter of the page, and at least so many cells
_GAIN = 8  # a row leaves the column of the marks if its changes get so many more cells
_CHANGES = 30  # if the changes would get fewer cells than this, the time is left out


def render(view: TreeView, page: Page) -> Iterator[Line]:
    """The lines of the drawing, or of its source text for Mermaid or Graphviz."""
    if view.form != "text":
        from ckpt_cli.output.text import graphs

        yield from graphs.source(view)
        return
    yield from (fit(strip_line(line), page.width) for line in _Tree(view, page).lines())


def _all(rows: Iterable[TreeRow], *, is_inner: bool = False) -> Iterator[tuple[TreeRow, bool]]:
    """The rows of a tree and of its subgraphs, and whether each is one of a subgraph."""
    for row in rows:
        yield row, is_inner
        for subgraph in row.subgraphs:
            yield from _all(subgraph.rows, is_inner=True)


class _Tree:
    """One drawing; all of its rows have the same columns."""

    def __init__(self, view: TreeView, page: Page) -> None:
        self._view = view
        self._width = page.width
        self._drawn = view.rows if view.full else joined(list(view.rows))
        self._head_step: StepView | None = None
        self._halts: Mapping[str, str] | None = None
        times: dict[str, str] = {}  # one of each minute shows the dates and zones of all
        makers: dict[tuple[Span, ...], None] = {}
        marked: list[TreeRow] = []
        self._left = self._step = self._beside = 0
        self._first = next((row.step.checkpoint_id for row in self._drawn if row.step is not None), None)
        for row, is_inner in _all(self._drawn):
            step = row.step
            if step is None:
                continue
            times[(step.time or "")[:16]] = step.time or ""
            self._step = max(self._step, len(number(step)))
            makers[tuple(made_by(step))] = None
            if beside := line_len(self._marked(step)):
                marked.append(row)
                self._beside = max(self._beside, beside)
            if not is_inner:
                self._left = max(self._left, _left(row))
                self._head_step = step if step.head and self._head_step is None else self._head_step
        self._clock = Clock(times.values(), wide=page.width is None)
        names = [list(maker) for maker in makers]
        self._who = min(max(map(line_len, names), default=0), _WHO[page.width is None or page.width >= _NARROW])
        self._makers = dict(zip(makers, names if page.width is None else short_cells(names, self._who), strict=True))

        room = None if page.width is None else page.width - self._left - self._step - self._who - 5
        self._timed = room is None or room - self._clock.cells - 2 >= _CHANGES
        self._room = None if room is None else room - (self._clock.cells + 2 if self._timed else 0)
        if self._is_narrow:
            steps = [row.step for row in marked if row.step is not None]
            self._halts = short_halts(steps, max((page.width or 0) // 4, _NODE))
            self._beside = max((line_len(self._marked(step)) for step in steps), default=0)
        self._told = max((line_len(self._changes(row, self._beside)) for row in marked), default=0)

    def lines(self) -> Iterator[Line]:
        yield self._head()
        yield from self._rows(self._drawn, [])

    def _head(self) -> Line:
        view = self._view
        name = view.thread_id if self._width is None else truncate(view.thread_id, max(self._width // 3, 20))
        line: Line = [("title", name), *([("key", f" {self._ns(view.ns)}")] if view.ns else []), ("", "   ")]
        facts: dict[str, Line] = {"checkpoints": [("muted", _count(view.checkpoints, "checkpoint"))]}
        if len(view.branches) > 1:
            facts["branches"] = [("muted", f"{len(view.branches):,} branches")]
        facts["status"] = self._status()
        if view.subgraph_checkpoints:
            facts["subgraphs"] = [("muted", f"{view.subgraph_checkpoints:,} in subgraphs")]
        if self._clock.beside:
            facts["time"] = [("muted", self._clock.beside)]
        dot = f" {BETWEEN} "
        for name in _FIRST_TO_GO if self._timed else ("time", *_FIRST_TO_GO):
            if self._width is None or line_len([*line, *join_lines(facts.values(), dot)]) <= self._width:
                break
            facts.pop(name, None)
        if self._width is not None:  # the zone of the times below stays
            missing = line_len([*line, *join_lines(facts.values(), dot)]) - self._width
            facts["status"] = fit(facts["status"], max(line_len(facts["status"]) - max(missing, 0), _LEAST_STATUS))
        return [*line, *join_lines(facts.values(), dot)]

    def _ns(self, ns: str) -> str:
        """The text of a namespace; its task ids are shortened if there is no room for them."""
        if self._width is None or len(ns) <= self._width // 3:
            return ns
        return "|".join(_shortened_task(part) if len(part) > 20 else part for part in ns.split("|"))

    def _status(self) -> Line:
        view = self._view
        if view.problem and view.status is None:
            return [("bad", f"{UNKNOWN} can't be read")]
        head = self._head_step
        if view.status in _HALTED and head is not None:
            return join_lines((_halted(head, status) for status in _HALTED), f" {BETWEEN} ")
        style = thread_style(view.status or "")
        if view.status == "unfinished" and head is not None and head.next:
            return [(style, "next: " + counted(head.next))]
        return [(style, view.status or "?")]

    def _rows(self, rows: Iterable[TreeRow], before: Line) -> Iterator[Line]:
        for row in rows:
            rails = [*before, *_rails(row)]
            below = [*before, ("muted", RAIL * min(row.depth, _RAILS)), ("muted", "  " if row.ends else RAIL)]
            if row.step is not None:
                yield self._checkpoint(row, row.step, rails)
                room = None if self._width is None else self._width - line_len(below)
                yield from ([*below, *line] for line in tip_lines(row.step, room))
            elif row.fold is not None:
                yield [*rails, ("muted", f"{FOLDED} "), *_folded(row.fold, row.aside)]
            elif row.aside is not None:
                yield [*rails, ("muted", f"{FOLDED} {_aside(row.aside)}")]
            elif row.lacks_caller:
                yield fit([*before, ("muted", _CALLERLESS)], self._width)
            for subgraph in row.subgraphs:
                yield from self._subgraph(subgraph, below)

    def _checkpoint(self, row: TreeRow, step: StepView, rails: Line) -> Line:
        glyph: Span = ("head", f"{HEAD} ") if step.head and step.ns == self._view.ns else ("muted", f"{CHECKPOINT} ")
        line: Line = [*rails, glyph, ("id", step.short)]
        line.append(("", " " * max(self._left - line_len(line), 0)))
        maker = self._makers[tuple(made_by(step))]
        line += [("muted", f" {number(step):>{self._step}}  "), *pad_line(maker, self._who), ("", "  ")]
        if self._timed:
            line += [("muted", self._clock(step.time)), ("", "  ")]
        beside = self._marked(step)
        own = line_len(beside)
        changes = self._changes(row, own if self._is_narrow and self._beside - own >= _GAIN else self._beside)
        if beside:  # marks begin in one column, unless a row would have little room for another row's marks
            changes = pad_line(changes, max(self._told, line_len(changes)))
        return [*line, *changes, ("", "  "), *beside]

    @property
    def _is_narrow(self) -> bool:
        """Whether the longest marks leave little room for changes."""
        return self._room is not None and self._room - self._beside - 2 < _CHANGES

    def _changes(self, row: TreeRow, beside: int) -> Line:
        """The changes of a step and the folded run of its turn, cut for marks of so many cells if it has some."""
        step = row.step
        if step is None:
            return []
        room = None if self._room is None else max(self._room - (beside + 2 if self._marked(step) else 0), 8)
        if row.fold is None:
            return fit(change_summary(step, room), room)
        after: Line = [("muted", f"{FOLDED} "), *_folded(row.fold, None)]
        if room is None:
            return join_lines([change_summary(step, None), after], "  ")
        short: Line = [("muted", f"{FOLDED} {_count(row.fold.checkpoints, 'step')}")]
        changes = change_summary(step, max(room - line_len(short) - 2, 8))
        left = room - line_len(changes) - 2
        after = fit(after, left) if left >= line_len(short) + _NODES else short
        return fit(join_lines([changes, after], "  "), room)

    def _marked(self, step: StepView) -> Line:
        """The marks of a checkpoint; they are never cut."""
        beside = marks(step, len(self._view.branches)) if step.ns == self._view.ns else []
        if step.children:
            beside = join_lines([halts(step, self._halts), beside])
        if step.missing:
            beside = join_lines([[("bad", f"parent {_shortened(step.parent_id)} is not stored")], beside])
        elif has_no_parent(step) and step.ns == self._view.ns and step.checkpoint_id != self._first:
            beside = join_lines([[("muted", NO_PARENT)], beside])
        return beside

    def _subgraph(self, subgraph: SubgraphView, below: Line) -> Iterator[Line]:
        counted = _count(subgraph.checkpoints, "checkpoint") + (
            f" + {subgraph.nested:,} nested" if subgraph.nested else ""
        )
        yield [*below, ("muted", SUBGRAPH), ("node", subgraph.node), ("muted", f"  {counted}  {subgraph.ns}")]
        yield from self._rows(subgraph.rows, [*below, ("", "  ")])


def _left(row: TreeRow) -> int:
    return 2 * min(row.depth, _RAILS) + 2 + (cell_len(row.step.short) if row.step is not None else 0)


def _rails(row: TreeRow) -> Line:
    depth = min(row.depth, _RAILS)
    rails = RAIL * (depth - 1) + (JOINT if row.joint else RAIL) if depth else ""
    return [("muted", rails)]


def _shortened_task(part: str) -> str:
    return f"{part.split(':')[0]}:{part.split(':')[-1][:6]}{MORE}"


def _shortened(checkpoint_id: str | None) -> str:
    text = checkpoint_id or ""
    return text if len(text) <= 12 else f"{MORE}{text[-6:]}"


def _halted(head: StepView, status: str) -> Line:
    """The nodes whose tasks wait or failed at the head, as in `threads`: not those that have an error handler."""
    tasks = (task for task in head.tasks if status in task.statuses)
    nodes = counted(nested(task.node or "?", task.inside if status == "failed" else ()) for task in tasks)
    return [(thread_style(status), f"{_HALTED[status]}: {nodes}")] if nodes else []


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _folded(fold: FoldView, aside: AsideView | None) -> Line:
    length = _count(fold.checkpoints, "step") + (f" in {_count(fold.turns, 'turn')}" if fold.turns else "")
    line: Line = [("muted", length)]
    if fold.nodes:
        line += [("muted", ": "), *_few(fold)]
    more = [_count(fold.edits, "edit")] if fold.edits else []
    more += [f"{fold.subgraphs:,} in subgraphs"] if fold.subgraphs else []
    more += [_aside(aside)] if aside is not None else []
    return [*line, ("muted", "".join(f" {BETWEEN} {part}" for part in more))]


def _few(fold: FoldView, most: int = 6) -> Line:
    shown = dict(list(fold.nodes.items())[:most])
    rest = len(fold.nodes) - len(shown)
    return [*nodes(shown), *([("muted", f" and {rest} more")] if rest else [])]


def _aside(aside: AsideView) -> str:
    branches = f"{aside.branches:,} branch{'es' if aside.branches > 1 else ''}"
    return f"{branches} with {_count(aside.checkpoints, 'checkpoint')}"
