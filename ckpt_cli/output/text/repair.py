"""Shows threads with lists of messages that models refuse: what is wrong, with which calls and tools, how old."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from ckpt_cli.output.cells import cell_len, fit, flow, pad
from ckpt_cli.output.line import Line, Page, row
from ckpt_cli.output.quantities import ago
from ckpt_cli.output.visible_names import visible
from ckpt_cli.views.repair import BrokenThread, FaultLine, RepairView

_HEADS = ("THREAD", "FAULT", "CALLS", "TOOL", "HEAD")
_STYLES = ("title", "bad", "", "key", "muted")
_TOOL = _HEADS.index("TOOL")
_ID, _NARROWEST, _NARROWEST_TOOL = 40, 16, 8  # cells that a thread's id gets if there is room, and the least


def render(view: RepairView, page: Page) -> Iterator[Line]:
    """A line for each fault, and in a terminal a line below it for what becomes of it; the sum at the end."""
    if page.width is None:
        for one in view.listed:
            yield from (_row(one, fault) for fault in one.faults)
        return
    table = {id(one): [_cells(one, fault, page) for fault in one.faults] for one in view.listed}
    widths = _widths([_HEADS, *(cells for rows in table.values() for cells in rows)], page.width)
    if table:
        yield fit([("head", _joined(_HEADS, widths))], page.width)
    for one in view.listed:
        for number, cells in enumerate(table[id(one)]):
            yield fit(_styled([cells[0] if number == 0 else "", *cells[1:]], widths), page.width)
            if number == 0 and (one.left_alone or one.mend):
                note = f"left alone: {one.left_alone}" if one.left_alone else f"{view.option}: {one.mend}"
                yield from ([("", "    "), ("muted", part)] for part in flow(note, max(page.width - 4, 20)))
    yield from _end(view, page.width)


def _widths(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """The widths of the columns: tools are cut before an id, so that an id as applications make it can be copied."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for at, least in ((0, _ID), (_TOOL, _NARROWEST_TOOL), (0, _NARROWEST)):
        over = sum(widths) + 2 * (len(widths) - 1) - width
        widths[at] = max(widths[at] - max(over, 0), min(widths[at], least))
    return widths


def _joined(cells: Sequence[str], widths: list[int]) -> str:
    return "  ".join(pad(text, width) for text, width in zip(cells, widths, strict=True)).rstrip()


def _styled(cells: Sequence[str], widths: list[int]) -> Line:
    line: Line = []
    for style, text, width in zip(_STYLES[:-1], cells, widths, strict=False):
        line += [(style, pad(text, width)), ("", "  ")]
    return [*line, (_STYLES[-1], cells[-1])]


def _end(view: RepairView, width: int) -> Iterator[Line]:
    count = view.broken
    text = f"{f'{count:,}' if count else 'none'} of {view.searched:,} thread{'' if view.searched == 1 else 's'}"
    text += " with tool calls that models refuse"
    text += f"; {view.left_alone:,} more left alone" if view.left_alone and view.lists_all else ""
    if view.cut:
        text += f"; {view.cut}"
    if count:
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
