"""Shows what each node of a thread contributed: sums in tables, or step by step, with bars for the time."""

from collections.abc import Iterable, Iterator, Sequence

from ckpt_cli.history.tasks.task_names import counted
from ckpt_cli.output.cells import cell_len, fit, flow, line_len, pad, truncate
from ckpt_cli.output.line import Line, Page, Span, row
from ckpt_cli.output.quantities import elapsed, size
from ckpt_cli.output.text.contributors import KINDS, name_of
from ckpt_cli.output.text.steps import command_words
from ckpt_cli.output.theme import BAR, BETWEEN, LEADS_TO, MORE, NOTHING, SHORT_BAR
from ckpt_cli.values.counts import count_text
from ckpt_cli.views.trace import ChannelSum, NodeSum, TaskLine, TraceStep, TraceView

_NAME = 32  # cells for the first column of a table
_WAITS = {
    "waiting": "waited for an answer",
    "stopped": "stood still after a failure",
    "between": "between runs",
    "unstored": "and steps that aren't stored",
}


def render(view: TraceView, page: Page) -> Iterator[Line]:
    """The sums or the steps; rows for a pipe; or Chrome trace JSON."""
    if view.form != "text":
        from ckpt_cli.output.text import trace_events

        yield from trace_events.source(view)
        return
    if page.width is None:
        yield from _piped(view)
        return
    yield from _heading(view, page.width)
    yield []
    lines = {"nodes": _tables, "steps": _steps, "timeline": _timeline}[view.shown](view, page.width)
    yield from (fit(line, page.width) for line in lines)
    for note in view.notes:
        yield from ([("muted", text)] for text in flow(note, page.width))


def _heading(view: TraceView, width: int) -> Iterator[Line]:
    sums = view.sums
    is_known = any(step.spent == "running" and step.depth == 0 and step.seconds is not None for step in view.steps)
    times = [f"ran {elapsed(sums.running)}"] if is_known else []
    times += [
        f"{word} {elapsed(spent)}" for spent, word in ((sums.waiting, "waited"), (sums.stopped, "stopped")) if spent
    ]
    times += [f"{_between(view.steps)} {elapsed(sums.between)}"] if sums.between else []
    times += [f"in or before steps that aren't stored {elapsed(sums.unstored)}"] if sums.unstored else []
    name: Line = [("title", truncate(view.thread_id, width // 2)), ("id", f"  {view.short}"), ("", "   ")]
    first, *others = _together(times or ["no time is known"], width - line_len(name))
    yield [*name, ("muted", first)]
    yield from ([("muted", f"  {text}")] for text in others)
    facts = [count_text(sums.runs, "run"), f"{count_text(sums.writes, 'write')} {size(sums.bytes)}"]
    if sums.state_bytes is not None:
        facts.append(f"state {size(sums.state_bytes)} in {count_text(sums.checkpoints, 'checkpoint')}")
    read, wrote = sums.input_tokens + sums.unplaced_tokens[0], sums.output_tokens + sums.unplaced_tokens[1]
    facts += [f"tokens {read:,} {LEADS_TO} {wrote:,}"] if read or wrote else []
    yield from ([("muted", text)] for text in _together(facts, width))


def _between(steps: Iterable[TraceStep]) -> str:
    between = [step for step in steps if step.depth == 0 and step.spent == "between"]
    is_mixed = any(step.ran_nodes or not step.recorded for step in between)
    return "between runs, and in steps whose start isn't known" if is_mixed else "between runs"


def _together(parts: Sequence[str], cells: int) -> list[str]:
    """The parts in lines of so many cells."""
    lines = [parts[0]]
    for part in parts[1:]:
        longer = _joined([lines[-1], part])
        if cell_len(longer) <= cells:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines


def _joined(parts: Iterable[str]) -> str:
    return f" {BETWEEN} ".join(parts)


def _tables(view: TraceView, width: int) -> Iterator[Line]:
    heads = ("NODE", "RUNS", "TIME", "TOKENS", "WRITES", "BYTES", "ASKED", "FAILED", "AGAIN")
    yield from _table(heads, [_node(one) for one in view.nodes], view.limit)
    yield []
    inside = any(one.state_bytes is not None for one in view.channels)
    heads = ("CHANNEL", "WRITES", "BYTES", *(("STATE", "REPEATED") if inside else ()))
    yield from _table(
        (*heads, "BY"), [_channel(one, width, inside=inside) for one in view.channels], view.limit, left=1
    )
    yield []


def _node(one: NodeSum) -> list[Span]:
    time = NOTHING if one.seconds is None else elapsed(one.seconds)
    tokens = f"{one.input_tokens:,} {LEADS_TO} {one.output_tokens:,}" if one.input_tokens or one.output_tokens else ""
    counts = (one.asked or "", one.failed or "", one.again or "")
    numbers = (f"{one.runs:,}" if one.runs else "", time, tokens, f"{one.writes:,}", size(one.bytes), *map(str, counts))
    styles = ("", "", "", "", "", "waiting", "bad", "changed")
    return [("node", name_of(one.path, one.node, one.kind)), *zip(styles, numbers, strict=True)]


def _channel(one: ChannelSum, room: int, *, inside: bool) -> list[Span]:
    state = [("", size(one.state_bytes)), ("", size(one.repeated_bytes))] if inside else []
    by = ", ".join(f"{KINDS.get(node, node)} {size(count)}" for node, count in one.nodes.items())
    return [("key", one.channel), ("", f"{one.writes:,}"), ("", size(one.bytes)), *state, ("muted", truncate(by, room))]


def _table(heads: Sequence[str], rows: list[list[Span]], limit: int, left: int = 0) -> Iterator[Line]:
    """A table without its empty columns; the first column, and the last `left` ones, are left-aligned."""
    shown = rows[:limit] if limit else rows
    kept = [at for at in range(len(heads)) if at == 0 or any(cells[at][1] for cells in shown)]
    widths = {
        at: min(max(cell_len(text) for text in (heads[at], *(r[at][1] for r in shown))), _NAME if at == 0 else 99)
        for at in kept
    }
    for cells in ([("muted", head) for head in heads], *shown):
        line: Line = []
        for at in kept:
            style, text = cells[at]
            right = 0 < at < len(heads) - left
            cut = truncate(text, widths[at])
            line += [("", "  ")] if at else []
            line.append((style, cut if at == kept[-1] and not right else pad(cut, widths[at], right=right)))
        yield line
    if len(rows) > len(shown):
        yield [("muted", f"{MORE} {len(rows) - len(shown):,} more: -n 0 shows all")]


def _steps(view: TraceView, _: int) -> Iterator[Line]:
    heads = ("STEP", "TIME", "WRITES", "BYTES", "TOKENS", "NODES")
    rows = []
    for step in view.steps:
        number = "" if step.step is None else str(step.step)
        read, wrote = sum(task.input_tokens for task in step.tasks), sum(task.output_tokens for task in step.tasks)
        rows.append(
            [
                ("muted", f"{'  ' * step.depth}{number}"),
                (
                    "" if step.spent == "running" else "muted",
                    NOTHING if step.seconds is None else elapsed(step.seconds),
                ),
                ("", f"{sum(task.writes for task in step.tasks):,}"),
                ("", size(sum(task.bytes for task in step.tasks))),
                ("", f"{read:,} {LEADS_TO} {wrote:,}" if read or wrote else ""),
                ("node", _who(step)),
            ]
        )
    yield from _table(heads, rows, view.limit, left=1)


def _who(step: TraceStep) -> str:
    names = counted(f"{name_of(step.path, task.node, task.kind)}{_mark(task)}" for task in step.tasks)
    wait = _WAITS.get(step.spent, "")
    if step.spent == "between" and (step.ran_nodes or not step.recorded):
        wait = f"{'includes' if step.recorded else 'may include'} the time {wait}"
    lost = "" if step.recorded or step.spent == "unstored" else "left no writes"
    command = "" if step.command is None else f"pending Command: {command_words(step.command)}"
    return f" {BETWEEN} ".join(part for part in (names, lost, wait, command) if part)


def _mark(task: TaskLine) -> str:
    words = ["kept"] * task.kept + ["asked"] * task.asked + ["failed"] * task.failed + ["finished too"] * task.again
    return f" ({', '.join(words)})" if words else ""


def _timeline(view: TraceView, width: int) -> Iterator[Line]:
    """A bar for each running step of the traced graph and its subgraphs; waits are not drawn to scale but named."""
    shown = view.steps[-view.limit :] if view.limit else view.steps
    if len(shown) < len(view.steps):
        yield [("muted", f"{MORE} {len(view.steps) - len(shown):,} earlier: -n 0 shows all")]
    total = sum(step.seconds or 0 for step in shown if step.depth == 0 and step.spent == "running") or 1.0
    names = min(max((cell_len(_who(step)) + 2 * step.depth for step in shown), default=0), max(width // 2, 12))
    room, begin = max(width - names - 12, 8), 0.0
    inner: dict[int, float] = {}
    for step in shown:
        name = pad(truncate("  " * step.depth + _who(step), names), names)
        seconds, depth = step.seconds or 0.0, step.depth
        time = pad(NOTHING if step.seconds is None else elapsed(step.seconds), 8, right=True)
        if step.spent != "running":
            yield [("muted", f"{name} {time}")]
            continue
        start = begin if depth == 0 else inner.get(depth, inner.get(depth - 1, begin))
        inner = {at: value for at, value in inner.items() if at < depth} | {
            depth: start if depth == 0 else start + seconds
        }
        bar = BAR * round(seconds / total * room) or SHORT_BAR
        yield [("node", name), ("", f" {time} "), ("", " " * min(int(start / total * room), room - 1)), ("good", bar)]
        begin += seconds if depth == 0 else 0


def _piped(view: TraceView) -> Iterator[Line]:
    for name, value in view.sums._asdict().items():
        texts = (
            [str(part) for part in value] if isinstance(value, tuple) else ["" if value is None else f"{value:.15g}"]
        )
        yield row([[("key", "sum")], [("", name)], *([("", text)] for text in texts)])
    for node in view.nodes:
        yield row([[("key", "node")], *([("", _plain(part))] for part in node[:-1])])
    for channel in view.channels:
        yield row([[("key", "channel")], *([("", _plain(part))] for part in channel)])
    for step in view.steps:
        names = ",".join(name_of("", task.node, task.kind) for task in step.tasks)
        waits = "" if step.command is None else command_words(step.command)
        parts = [[("", _plain(part))] for part in step[:-2]]
        yield row([[("key", "step")], *parts, [("node", names)], [("changed", waits)]])


def _plain(part: object) -> str:
    if isinstance(part, dict):
        return ",".join(f"{key}={value}" for key, value in part.items())
    return "" if part is None else str(part)
