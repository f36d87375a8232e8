"""Shows what the threads of a database do and what takes its space: a few figures, then tables.

In a pipe, each line begins with the name of its table.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from ckpt_cli.output.cells import cell_len, fit, flow, pad
from ckpt_cli.output.line import Line, Page, Span, row
from ckpt_cli.output.quantities import size
from ckpt_cli.output.text import openmetrics
from ckpt_cli.output.theme import BETWEEN, MORE, NOTHING, THREAD_STATUS
from ckpt_cli.values.counts import count_text
from ckpt_cli.views.stats import AdviceLine, PeriodLine, SizeLine, StatsView

_LONGEST_NAME, _SHORTEST_NAME = 40, 12  # cells
_ROWS = 10  # rows of a table on a terminal; a pipe gets all


class _Column(NamedTuple):
    title: str
    right: bool = False


class _Table(NamedTuple):
    """A table; `key` begins its lines in a pipe, `title` is its heading on a terminal, and heads the first column.

    Attributes:
        more: how many rows there are beside these.
        all: what shows every row.
    """

    key: str
    title: str
    columns: tuple[_Column, ...]
    rows: list[list[Span]]
    more: int = 0
    all: str = "--json"


_THREAD = (_Column("checkpoints", True), _Column("writes", True), _Column("bytes", True), _Column("last day", True))
_COUNTS = (_Column("checkpoints", True), _Column("channels", True), _Column("writes", True), _Column("bytes", True))


def render(view: StatsView, page: Page) -> Iterator[Line]:
    """The figures, the tables, and notes about what isn't known; or OpenMetrics."""
    if view.samples is not None:
        yield from openmetrics.render(view.samples)
        return
    if page.width is None:
        yield from _piped(view)
        return
    yield from (fit(line, page.width) for line in _figures(view))
    for table in filter(lambda one: one.rows, _tables(view)):
        yield []
        yield from (fit(line, page.width) for line in _table(table, page.width))
    yield from _ending(view, page.width)


def _figures(view: StatsView) -> Iterator[Line]:
    yield [("title", view.location)]
    threads: list[Line] = [[("title", f"{view.threads:,} thread{'' if view.threads == 1 else 's'}")]]
    for status in THREAD_STATUS.values():
        number = getattr(view, status.word)
        if number:
            threads.append([(status.style, f"{number:,} {status.word}")])
    if view.unreadable:
        threads.append([("bad", f"{view.unreadable:,} unreadable")])
    if view.done is None and view.threads:
        threads.append([("muted", "the others: --values")])
    yield _joined(threads)
    takes = (count_text(view.checkpoints, "checkpoint"), count_text(view.writes, "write"), _bytes(view.bytes))
    yield [("", f" {BETWEEN} ".join(takes) + " of records")]
    disk = [f"{size(view.file_bytes)} on disk"] if view.file_bytes is not None else []
    disk += [f"{size(view.free_bytes)} of it free"] if view.free_bytes is not None else []
    if disk:
        yield [("", f" {BETWEEN} ".join(disk))]
    if view.idle is not None and view.rate is not None:
        yield [("", f"newest checkpoint {duration(view.idle)} ago {BETWEEN} {view.rate:,} in the last hour")]


def _tables(view: StatsView) -> Iterator[_Table]:
    for status in ("waiting", "failed"):
        rows = [
            [("title", one.thread_id), ("muted", duration(one.age)), ("node", one.node or ""), ("", one.text)]
            for one in view.halted
            if one.status == status
        ]
        title = "waiting longest" if status == "waiting" else "failed first"
        more = view.more_waiting if status == "waiting" else view.more_failed
        columns = (_Column("for", True), _Column(""), _Column(""))
        yield _Table(status, title, columns, rows, more, f"ckpt threads --status {status}")
    for key, lines in (("question", view.questions), ("error", view.errors)):
        rows = [[("", one.text), ("node", one.node or ""), ("", f"{one.threads:,}")] for one in lines]
        yield _Table(key, f"{key}s", (_Column("node"), _Column("threads", True)), rows)
    rows = [
        [("key" if a.value is not None else "muted", f"{a.key} {a.value or NOTHING}"), ("", f"{a.threads:,}")]
        for a in view.agents
    ]
    yield _Table("agent", "agents", (_Column("threads", True),), rows)
    rows = [
        [("title", t.thread_id), *_numbers(t.checkpoints, t.writes), ("", _bytes(t.bytes)), ("", f"{t.last_day:,}")]
        for t in view.largest
    ]
    if len(rows) > 1 or not view.selected:
        yield _Table("thread", "largest threads", _THREAD, rows)
        rows = [[("title", t.thread_id), *_numbers(t.last_day, t.checkpoints)] for t in view.talkers]
        yield _Table("talker", "top talkers", (_Column("last day", True), _Column("checkpoints", True)), rows)
    yield from _sizes(view)


def _sizes(view: StatsView) -> Iterator[_Table]:
    rows = [[("", _period(one)), *_counts(one)] for one in view.by_period]
    yield _Table("period", "growth", _COUNTS, rows)
    for key, lines in (
        ("namespace", view.by_namespace),
        ("channel", view.by_channel),
        ("node", view.by_node),
        ("type", view.by_type),
    ):
        yield _Table(key, f"by {key}", _COUNTS, [[("key", _name(key, one)), *_counts(one)] for one in lines])
    columns = (_Column("values", True), _Column("bytes", True), _Column("repeated", True), _Column("grown", True))
    rows = [
        [
            ("key", one.name),
            ("", f"{one.values:,}"),
            *(("", size(n)) for n in (one.bytes, one.repeated_bytes, one.grown_bytes)),
        ]
        for one in view.channels
    ]
    yield _Table("inside", "channels inside checkpoints", columns, rows)
    rows = [[("", name), ("", size(number))] for name, number in view.tables.items()]
    yield _Table("table", "tables and indexes", (_Column("bytes", True),), rows)


def _table(table: _Table, room: int) -> Iterator[Line]:
    table = _without_zeros(table)
    shown = table.rows[:_ROWS]
    heads = [table.title, *(column.title for column in table.columns)]
    widths = [min(max(cell_len(cell[1]) for cell in cells), _LONGEST_NAME) for cells in zip(*shown, strict=True)]
    widths = [max(width, cell_len(head)) for width, head in zip(widths, heads, strict=True)]
    rights = [False, *(column.right for column in table.columns)]
    last = len(heads) - 1
    widths = _narrowed(widths, rights, room)
    yield _aligned([("muted", head) for head in heads], widths, rights, last)
    for cells in shown:
        yield _aligned(cells, widths, rights, last)
    if more := len(table.rows) - len(shown) + table.more:
        yield [("muted", f"{MORE} {more:,} more: {table.all}")]


def _narrowed(widths: list[int], rights: list[bool], room: int) -> list[int]:
    """The widths in a narrow terminal: nodes are cut before what is asked, and this before what the row is about."""
    texts = [at for at, right in enumerate(rights) if not right]
    over = sum(widths) + 2 * (len(widths) - 1) - room
    narrowed = [*widths]
    for at in [*texts[1:], *texts[:1]]:
        cut = min(max(over, 0), max(narrowed[at] - _SHORTEST_NAME, 0))
        narrowed[at] -= cut
        over -= cut
    return narrowed


def _without_zeros(table: _Table) -> _Table:
    """The table without its columns of zeros, such as channels where none are stored apart."""
    kept = [at for at, _ in enumerate(table.columns, 1) if any(cells[at][1] != "0" for cells in table.rows)]
    columns = tuple(table.columns[at - 1] for at in kept)
    return table._replace(columns=columns, rows=[[cells[0], *(cells[at] for at in kept)] for cells in table.rows])


def _aligned(cells: list[Span], widths: list[int], rights: list[bool], last: int) -> Line:
    line: Line = []
    while cells and not cells[-1][1]:
        cells = cells[:-1]
    for at, (style, text) in enumerate(cells):
        line += [("", "  ")] if at else []
        line.append((style, text if at == last and not rights[at] else pad(text, widths[at], right=rights[at])))
    return line


def _ending(view: StatsView, width: int) -> Iterator[Line]:
    notes = [f"bytes are {view.unit}", *view.notes]
    if view.after_delete:
        notes.append(view.after_delete)
    if view.repeated_bytes is not None:
        grown = sum(one.grown_bytes for one in view.channels)
        notes.append(
            f"values that didn't change were stored again: {size(view.repeated_bytes)}; "
            f"and the beginnings of lists that grew: {size(grown)}"
        )
    if view.unread_checkpoints:
        notes.append(f"{count_text(view.unread_checkpoints, 'checkpoint')} couldn't be split into channels")
    yield []
    for note in notes:
        yield from ([("muted", part)] for part in flow(note, width))
    for check in view.checks:
        known = f"{'' if check.value is None else 'it is '}{check.shown}"
        yield [
            ("good" if check.holds else "bad", f"{'holds' if check.holds else 'FAILED'}: {check.condition} ({known})")
        ]
    if view.advised:
        yield from _advice(view.advice, width)


def _advice(lines: Iterable[AdviceLine], width: int) -> Iterator[Line]:
    found = False
    for one in lines:
        found = True
        yield []
        yield from ([("title", part)] for part in flow(one.why, width))
        yield from ([("", f"    {command}")] for command in one.commands)
    if not found:
        yield [("muted", "the sizes speak for no change")]


def _piped(view: StatsView) -> Iterator[Line]:
    names = ("threads", "waiting", "failed", "done", "unfinished", "unknown", "unreadable", "checkpoints", "writes")
    more = ("bytes", "file_bytes", "free_bytes", "repeated_bytes", "oldest_waiting", "oldest_failed", "idle", "rate")
    for name in (*names, *more):
        value = getattr(view, name)
        yield row([[("key", name)], [("", "" if value is None else f"{value:.15g}")]])
    for one in view.halted:
        yield row(
            [
                [("key", one.status)],
                *([("", text)] for text in (one.thread_id, one.since or "", one.node or "", one.text)),
            ]
        )
    for key, number in (("more_waiting", view.more_waiting), ("more_failed", view.more_failed)):
        yield row([[("key", key)], [("", str(number))]])
    for key, texts in (("question", view.questions), ("error", view.errors)):
        for text in texts:
            yield row([[("key", key)], [("", str(text.threads))], [("", text.node or "")], [("", text.text)]])
    for agent in view.agents:
        yield row([[("key", "agent")], [("", str(agent.threads))], [("", agent.key)], [("", agent.value or "")]])
    for key, threads in (("thread", view.largest), ("talker", view.talkers)):
        for thread in threads:
            yield row([[("key", key)], *([("", "" if part is None else str(part))] for part in thread)])
    sizes = {"namespace": view.by_namespace, "channel": view.by_channel, "node": view.by_node, "type": view.by_type}
    for key, lines in sizes.items():
        for line in lines:
            yield row([[("key", key)], *([("", "" if part is None else str(part))] for part in line)])
    for period in view.by_period:
        parts = (period.begin, period.end, *period[3:])
        yield row([[("key", "period")], *([("", "" if part is None else str(part))] for part in parts)])
    for channel in view.channels:
        yield row([[("key", "inside")], *([("", str(part))] for part in channel)])
    for check in view.checks:
        known = "" if check.value is None else f"{check.value:.15g}"
        yield row(
            [[("key", "check")], [("", "holds" if check.holds else "failed")], [("", check.condition)], [("", known)]]
        )
    for advice in view.advice:
        yield row([[("key", "advice")], [("", advice.why)], *([("", command)] for command in advice.commands)])


def _numbers(*numbers: int) -> list[Span]:
    return [("", f"{number:,}") for number in numbers]


def _counts(one: SizeLine | PeriodLine) -> list[Span]:
    return [*_numbers(one.checkpoints, one.channels, one.writes), ("", _bytes(one.bytes))]


def _name(key: str, one: SizeLine) -> str:
    if one.name is None:
        return "(unknown)"
    empty = {"namespace": "(root graph)", "channel": "(whole checkpoints)", "node": "(no task)", "type": "(untagged)"}
    return one.name or empty[key]


def _period(one: PeriodLine) -> str:
    if not one.dated:
        return "(no time in the ids)"
    begin, end = (datetime.fromisoformat(text).astimezone() if text else None for text in (one.begin, one.end))
    if begin is None:
        return f"before {end:%Y-%m-%d}" if end is not None else "all"
    long = end is None or (end - begin).days > 1
    return f"{begin:%Y-%m-%d}{f' to {end:%m-%d}' if long and end is not None else ''}"


def _bytes(number: int | None) -> str:
    return NOTHING if number is None else size(number)


def _joined(parts: Iterable[Line]) -> Line:
    line: Line = []
    for part in parts:
        line += ([("muted", f" {BETWEEN} ")] if line else []) + part
    return line


def duration(seconds: float) -> str:
    """``39m``, ``2h``, ``5d``, ``12s``."""
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= length:
            return f"{int(seconds // length)}{unit}"
    return f"{int(seconds)}s"
