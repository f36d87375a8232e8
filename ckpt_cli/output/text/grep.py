"""Shows what grep found: threads as headings, each hit with its place and how long it stayed; in a pipe, rows."""

from collections.abc import Iterator

from ckpt_cli.output.cells import cell_len, fit, line_len
from ckpt_cli.output.line import Line, Page, row
from ckpt_cli.output.theme import MORE
from ckpt_cli.views.grep import GrepView, Hit, Sighted, ThreadCount


def render(view: GrepView, page: Page) -> Iterator[Line]:
    """The hits, as they come."""
    heading = None
    for one in view.hits:
        if page.width is None:
            yield _row(one)
        elif isinstance(one, ThreadCount):
            yield [("title", one.thread_id), ("", "  "), ("muted", f"{one.hits} {'hit' if one.hits == 1 else 'hits'}")]
        else:
            if heading != (one.thread_id, one.ns):
                yield from [[]] if heading is not None else []
                yield [("title", one.thread_id), ("muted", f"  {one.ns}" if one.ns else "")]
                heading = (one.thread_id, one.ns)
            yield from _hit(one, page.width)
    if page.width is not None:
        yield from _end(view)


def _hit(hit: Hit, width: int) -> Iterator[Line]:
    where = hit.path if hit.place == "state" else f"{hit.place} {hit.path}"
    head: Line = [("", "  "), *_lasting(hit), ("", "  "), ("key", where)]
    text: Line = [("value", hit.before), ("changed", hit.match), ("value", hit.after), *_more(hit)]
    if line_len(head) + 2 + line_len(text) <= width:
        yield [*head, ("", "  "), *text]
        return
    yield head
    room = width - 4
    excess = max(cell_len(hit.before) + cell_len(hit.match) - room + 12, 0)
    before = f"{MORE}{hit.before[excess + 1 :]}" if 0 < excess < len(hit.before) else hit.before
    yield fit([("", "    "), ("value", before), *text[1:]], width)


def _lasting(hit: Hit) -> Line:
    if hit.checkpoints == 1:
        return _checkpoint(hit.first)
    end: Line = [("head", "@")] if hit.present else _checkpoint(hit.last)
    return [*_checkpoint(hit.first), ("muted", f" {MORE} "), *end, ("muted", f" ({hit.checkpoints})")]


def _checkpoint(one: Sighted) -> Line:
    return [("id", one.short), ("muted", f" step {one.step}" if one.step is not None else "")]


def _more(hit: Hit) -> Line:
    return [("muted", f"  +{hit.more} more")] if hit.more else []


def _row(one: Hit | ThreadCount) -> Line:
    """A row: thread, namespace, first and last checkpoint, place, path, and the matching line."""
    if isinstance(one, ThreadCount):
        return row([[("title", one.thread_id)], [("", str(one.hits))]])
    cells: list[Line] = [[("title", one.thread_id)], [("muted", one.ns)]]
    cells += [[("id", one.first.checkpoint_id)], [("id", one.last.checkpoint_id)], [("muted", one.place)]]
    return row([*cells, [("key", one.path)], [("value", one.before), ("changed", one.match), ("value", one.after)]])


def _end(view: GrepView) -> Iterator[Line]:
    if not view.found:
        threads = "1 thread" if view.searched == 1 else f"{view.searched} threads"
        yield [("muted", f"nothing in {threads}")]
