"""Shows what the threads of a database do and what takes its space: a few figures, then tables.

In a pipe, each line begins with the name of its table.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from ckpt_cli.history.tasks.task_names import nested
from ckpt_cli.output.cells import fit, flow
from ckpt_cli.output.line import Line, Page, Span, row
from ckpt_cli.output.quantities import size
from ckpt_cli.output.text import openmetrics
from ckpt_cli.output.text.drawn_table import Column, Table, draw
from ckpt_cli.output.theme import BETWEEN, NOTHING, THREAD_STATUS
from ckpt_cli.values.counts import count_text
from ckpt_cli.views.stats import AdviceLine, HaltedView, PeriodLine, SizeLine, StatsView, TextCount

_THREAD = (Column("checkpoints", True), Column("writes", True), Column("bytes", True), Column("last day", True))
_COUNTS = (Column("checkpoints", True), Column("channels", True), Column("writes", True), Column("bytes", True))


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
        yield from (fit(line, page.width) for line in draw(table, page.width))
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


def _tables(view: StatsView) -> Iterator[Table]:
    for status in ("waiting", "failed"):
        rows = [
            [("title", one.thread_id), ("muted", duration(one.age)), ("node", _place(one)), ("", one.text)]
            for one in view.halted
            if one.status == status
        ]
        title = "waiting longest" if status == "waiting" else "failed first"
        more = view.more_waiting if status == "waiting" else view.more_failed
        columns = (Column("for", True), Column(""), Column(""))
        yield Table(status, title, columns, rows, more, f"ckpt threads --status {status}")
    for key, lines in (("question", view.questions), ("error", view.errors)):
        rows = [[("", one.text), ("node", _place(one)), ("", f"{one.threads:,}")] for one in lines]
        yield Table(key, f"{key}s", (Column("node"), Column("threads", True)), rows)
    rows = [
        [("key" if a.value is not None else "muted", f"{a.key} {a.value or NOTHING}"), ("", f"{a.threads:,}")]
        for a in view.agents
    ]
    yield Table("agent", "agents", (Column("threads", True),), rows)
    rows = [
        [("title", t.thread_id), *_numbers(t.checkpoints, t.writes), ("", _bytes(t.bytes)), ("", f"{t.last_day:,}")]
        for t in view.largest
    ]
    if len(rows) > 1 or not view.selected:
        yield Table("thread", "largest threads", _THREAD, rows)
        rows = [[("title", t.thread_id), *_numbers(t.last_day, t.checkpoints)] for t in view.talkers]
        yield Table("talker", "top talkers", (Column("last day", True), Column("checkpoints", True)), rows)
    yield from _sizes(view)


def _place(one: HaltedView | TextCount) -> str:
    return nested(one.node or "", one.inside)


def _sizes(view: StatsView) -> Iterator[Table]:
    rows = [[("", _period(one)), *_counts(one)] for one in view.by_period]
    yield Table("period", "growth", _COUNTS, rows)
    for key, lines in (
        ("namespace", view.by_namespace),
        ("channel", view.by_channel),
        ("node", view.by_node),
        ("type", view.by_type),
    ):
        yield Table(key, f"by {key}", _COUNTS, [[("key", _name(key, one)), *_counts(one)] for one in lines])
    columns = (Column("values", True), Column("bytes", True), Column("repeated", True), Column("grown", True))
    rows = [
        [
            ("key", one.name),
            ("", f"{one.values:,}"),
            *(("", size(n)) for n in (one.bytes, one.repeated_bytes, one.grown_bytes)),
        ]
        for one in view.channels
    ]
    yield Table("inside", "channels inside checkpoints", columns, rows)
    rows = [[("", name), ("", size(number))] for name, number in view.tables.items()]
    yield Table("table", "tables and indexes", (Column("bytes", True),), rows)


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
                *([("", text)] for text in (one.thread_id, one.since or "", _place(one), one.text)),
            ]
        )
    for key, number in (("more_waiting", view.more_waiting), ("more_failed", view.more_failed)):
        yield row([[("key", key)], [("", str(number))]])
    for key, texts in (("question", view.questions), ("error", view.errors)):
        for text in texts:
            yield row([[("key", key)], [("", str(text.threads))], [("", _place(text))], [("", text.text)]])
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
