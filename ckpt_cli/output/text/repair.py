"""Shows threads with lists of messages that models refuse: what is wrong, with which calls and tools, how old."""

from collections.abc import Iterator
from datetime import datetime

from ckpt_cli.output.cells import cell_len, fit, flow, pad
from ckpt_cli.output.line import Line, Page, row
from ckpt_cli.output.quantities import ago
from ckpt_cli.output.visible_names import visible
from ckpt_cli.views.repair import BrokenThread, FaultLine, RepairView

_WIDEST = 40  # cells of a thread's id


def render(view: RepairView, page: Page) -> Iterator[Line]:
    """A line for each fault, and in a terminal a line below it for what becomes of it; the sum at the end."""
    if page.width is None:
        for one in view.threads:
            yield from (_row(one, fault) for fault in one.faults)
        return
    cells = [(one, fault, _cells(one, fault, page)) for one in view.threads for fault in one.faults]
    heads = ("THREAD", "FAULT", "CALLS", "TOOL", "HEAD")
    widths = [max([cell_len(head), *(cell_len(some[at]) for *_, some in cells)]) for at, head in enumerate(heads)]
    widths[0] = min(widths[0], _WIDEST)
    if cells:
        yield fit(
            [("head", "  ".join(pad(head, width) for head, width in zip(heads, widths, strict=True)))], page.width
        )
    shown: BrokenThread | None = None
    for one, _, some in cells:
        styles = ("title", "bad", "", "key", "muted")
        line: Line = []
        for style, text, width in zip(styles, some, widths, strict=True):
            line += [("", "  ")] if line else []
            line += [(style, pad("" if style == "title" and one is shown else text, width))]
        yield fit(line, page.width)
        shown, before = one, shown
        if one is not before and (one.left_alone or one.mend):
            note = f"left alone: {one.left_alone}" if one.left_alone else f"{view.option}: {one.mend}"
            yield from ([("", "    "), ("muted", part)] for part in flow(note, max(page.width - 4, 20)))
    yield from _end(view, page.width)


def _end(view: RepairView, width: int) -> Iterator[Line]:
    count, alone = len(view.threads), sum(bool(one.left_alone) for one in view.threads)
    text = (
        f"{count:,} of {view.searched:,} thread{'' if view.searched == 1 else 's'} with tool calls that models refuse"
    )
    text += f", {alone:,} of them left alone" if alone else ""
    if view.cut:
        text += f"; {view.cut}"
    if count > alone:
        more = "--yes mends them" if view.option else "--answer TEXT, --drop-calls or --rollback mends them"
        text += f". Nothing was written: {more}."
    yield from ([("muted", part)] for part in flow(text, width))


def _cells(one: BrokenThread, fault: FaultLine, page: Page) -> list[str]:
    when = datetime.fromisoformat(one.updated).timestamp() if one.updated else None
    names = ", ".join(dict.fromkeys(visible(call.name) for call in fault.calls if call.name))
    return [visible(one.thread_id), fault.kind, str(len(fault.calls)), names, ago(when, page.now)]


def _row(one: BrokenThread, fault: FaultLine) -> Line:
    """A row: thread, channel, position, fault, ids of the calls, tools, rule, time of the head, what becomes of it."""
    ids = ",".join(call.id or "" for call in fault.calls)
    names = ",".join(dict.fromkeys(call.name for call in fault.calls))
    end = f"left alone: {one.left_alone}" if one.left_alone else one.mend
    cells = [
        ("title", one.thread_id),
        ("", fault.channel),
        ("", str(fault.position)),
        ("bad", fault.kind),
        ("id", ids),
        ("key", names),
        ("muted", fault.rule),
        ("muted", one.updated or ""),
        ("", end),
    ]
    return row([cell] for cell in cells)
