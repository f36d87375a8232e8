"""Shows since when each part of a value stands, what was removed, or a value through time; in a pipe, rows."""

from collections.abc import Iterable, Iterator, Sequence

from ckpt_cli.history.state.channels import counter
from ckpt_cli.output.cells import cell_len, fit, flow, line_len, pad, truncate
from ckpt_cli.output.line import Line, Page, row
from ckpt_cli.output.text.brief import brief
from ckpt_cli.output.text.steps import pad_line
from ckpt_cli.output.text.time_column import Clock
from ckpt_cli.output.theme import LEADS_TO
from ckpt_cli.values.counts import count_text
from ckpt_cli.views.blame import BlameLine, BlameView, GoneLine, GoneView, Origin, PastValue, PastView, Unread

_UNKNOWN = "?"
_THERE = "still there"
_EQUAL = "equal parts: the values don't show which of them went"
_WHO = (18, 32)  # cells for who made it, on a narrow terminal and on a wide one
_PATH = (16, 40)
_NARROW = 100
_SHOWN = 20  # checkpoints that can't be read, for one reason; --json has all
_AT_ONCE = 200  # rows whose columns are aligned together

Row = BlameLine | GoneLine | PastValue


def render(view: BlameView | GoneView | PastView, page: Page) -> Iterator[Line]:
    """A row for each part, removal or value; on a terminal below a heading, and above the reasons."""
    rows: Iterable[Row] = view.values if isinstance(view, PastView) else view.lines
    if page.width is None:
        yield from (_plain(one, page) for one in rows)
        return
    yield from _heading(view, page)
    reasons, number = dict[str, None](), 0
    for some in _chunks(rows):
        number += len(some)
        yield from _Table(some, view.path, page).lines()
        reasons.update((one.why, None) for one in map(_origin, some) if one is not None and one.why)
        reasons.update((_EQUAL, None) for one in some if isinstance(one, GoneLine) and one.elsewhere)
    if not number:
        yield [("muted", "nothing was removed or replaced")]
    yield from (line for why in reasons for line in _wrapped(f"{_UNKNOWN} {why}", page))
    for text in _not_read(view.unread):
        yield from _wrapped(text, page, "bad")


def _not_read(unread: Sequence[Unread]) -> Iterator[str]:
    """A sentence for each problem, with the checkpoints that have it."""
    by_problem: dict[str, list[str]] = {}
    for one in unread:
        by_problem.setdefault(one.problem, []).append(one.short)
    for problem, shorts in by_problem.items():
        more = f" and {len(shorts) - _SHOWN:,} more" if len(shorts) > _SHOWN else ""
        yield f"not read: {', '.join(shorts[:_SHOWN])}{more}: {problem}"


def _chunks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    some: list[Row] = []
    for one in rows:
        some.append(one)
        if len(some) == _AT_ONCE:
            yield some
            some = []
    if some:
        yield some


def _heading(view: BlameView | GoneView | PastView, page: Page) -> Iterator[Line]:
    line: Line = [("title", view.thread_id), ("muted", f"  {view.ns}" if view.ns else ""), ("", "  ")]
    line += [("key", view.path), ("", "  "), ("id", view.short)]
    line += [("muted", f"  step {view.step}" if view.step is not None else "")]
    yield fit([*line, ("muted", f"  {count_text(view.checkpoints, 'checkpoint')}")], page.width)


def _origin(one: Row) -> Origin | None:
    return one.gone if isinstance(one, GoneLine) else one.since


class _Table:
    def __init__(self, rows: Sequence[Row], path: str, page: Page) -> None:
        self._rows = rows
        self._page = page
        self._width = page.width or 0
        wide = self._width >= _NARROW
        origins = [one for one in map(_origin, rows) if one is not None]
        self._path = path
        self._labels = [self._label(one) for one in rows]
        self._label_cells = min(max(map(cell_len, self._labels), default=0), _PATH[wide])
        self._id = max((cell_len(one.short) for one in origins), default=0)
        self._step = max((len(_number(one.step)) for one in origins), default=0)
        self._turn = max((len(_number(one.turn)) for one in origins), default=0) if wide else 0
        self._who = min(max((line_len(who(one)) for one in origins), default=0), _WHO[wide])
        self._clock = Clock(one.time for one in origins)

    def lines(self) -> Iterator[Line]:
        for one, label in zip(self._rows, self._labels, strict=True):
            yield fit(self._line(one, label), self._width)
        if self._clock.beside and self._clock.cells:
            yield [("muted", self._clock.beside)]

    def _line(self, one: Row, label: str) -> Line:
        line, origin = list[tuple[str, str]](), _origin(one)
        if origin is None:
            turn = self._turn + 7 if self._turn else 0
            cells = self._id + self._step + self._who + 6 + turn + self._clock.cells
            line += [("muted", pad(_THERE, max(cells, len(_THERE))))]
        else:
            line += [("id", pad(origin.short, self._id)), ("muted", f"  {_number(origin.step):>{self._step}}")]
            line += [("", "  "), *pad_line(who(origin), self._who)]
            if self._turn:
                line += [("muted", f"  turn {_number(origin.turn):>{self._turn}}")]
            line += [("muted", f"  {self._clock(origin.time)}")]
        if self._label_cells:
            line += [("", "  "), ("key", pad(truncate(label, self._label_cells), self._label_cells))]
        room = max(self._width - line_len(line) - 2, 8)
        return [*line, ("", "  "), *self._value(one, room)]

    def _label(self, one: Row) -> str:
        """The part's path behind the path that all rows share."""
        if one.path is None:
            return ""
        shared = self._path.rpartition("[")[0] if ":" in self._path.rpartition("[")[2] else self._path
        label = one.path[len(shared) :].removeprefix(".") if one.path.startswith(shared) else one.path
        return f"{label}{_UNKNOWN}" if isinstance(one, GoneLine) and one.elsewhere else label

    def _value(self, one: Row, room: int) -> Line:
        reveal = self._page.reveal
        if isinstance(one, PastValue):
            version: Line = [("muted", f"v{counter(one.version)}  ")] if one.version is not None else []
            if one.path is None:
                return [*version, ("muted", "nothing")]
            return [*version, ("value", brief(one.value, room - line_len(version), reveal=reveal))]
        if isinstance(one, GoneLine) and one.replaced:
            old = brief(one.value, room // 2 - 2, reveal=reveal)
            after = brief(one.after, max(room - cell_len(old) - 3, 8), reveal=reveal)
            return [("removed", old), ("muted", f" {LEADS_TO} "), ("added", after)]
        if isinstance(one, GoneLine):
            return [("removed" if one.gone is not None else "value", brief(one.value, room, reveal=reveal))]
        counts = ((one.unread_before, "before it"), (one.unread, "since"))
        sides = ", ".join(f"{count} {where}" for count, where in counts if count)
        unread = f"  {_UNKNOWN} not read: {sides}" if sides else ""
        return [("value", brief(one.value, max(room - len(unread), 8), reveal=reveal)), ("bad", unread)]


def who(origin: Origin) -> Line:
    """Who changed the value: a node, or words for what else did it; else the candidates."""
    if origin.by == "node":
        return [("node", origin.node or "unknown node")]
    if origin.by == "input":
        return [("human", "input")]
    if origin.by == "channel":
        return [("muted", "emptied itself")]
    if origin.by == "default":
        return [("muted", "default")]
    if origin.by:
        joined = " as " if origin.by == "update" else " of "
        return [("changed", origin.by), *([("muted", joined), ("node", origin.node)] if origin.node else [])]
    return [("muted", f"{_UNKNOWN} {', '.join(origin.candidates)}".rstrip())]


def _plain(one: Row, page: Page) -> Line:
    """Path, checkpoint, step, by, nodes, task, time, turn, run, why it isn't known, value; replacement or version."""
    origin, cells = _origin(one), [one.path or ""]
    if origin is None:
        cells += ["", "", _THERE, "", "", "", "", "", ""]
    else:
        nodes = origin.node or ",".join(origin.candidates)
        cells += [origin.checkpoint_id, _number(origin.step), origin.by or _UNKNOWN, nodes, origin.task or ""]
        cells += [origin.time or "", _number(origin.turn), origin.run_id or "", origin.why or _doubt(one)]
    cells.append("" if one.path is None else brief(one.value, reveal=page.reveal))
    if isinstance(one, GoneLine) and one.replaced:
        cells.append(brief(one.after, reveal=page.reveal))
    if isinstance(one, PastValue):
        cells.append("" if one.version is None else str(one.version))
    return row([[("", cell)] for cell in cells])


def _doubt(one: Row) -> str:
    """That a value may be older than the checkpoint since which it is seen, or that an equal one may have gone."""
    if isinstance(one, GoneLine) and one.elsewhere:
        return f"or {', '.join(one.elsewhere)}: {_EQUAL}"
    before = one.unread_before if isinstance(one, BlameLine) else 0
    return f"{before} checkpoint{'' if before == 1 else 's'} before it can't be read" if before else ""


def _number(number: int | None) -> str:
    return "" if number is None else str(number)


def _wrapped(text: str, page: Page, style: str = "muted") -> Iterator[Line]:
    return ([(style, part)] for part in flow(text, page.width or 80))
