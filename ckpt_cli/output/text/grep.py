"""Shows the hits of grep below their threads, each with its place and its checkpoints; in a pipe, rows."""

from collections.abc import Iterator

from ckpt_cli.output.cells import cell_len, fit, line_len
from ckpt_cli.output.line import Line, Page, row
from ckpt_cli.output.theme import MORE
from ckpt_cli.values.counts import count_text
from ckpt_cli.views.grep import GrepView, Hit, Sighted, ThreadCount


def render(view: GrepView, page: Page) -> Iterator[Line]:
    """The lines of the hits; each hit is shown as soon as it is found."""
    heading = None
    for result in view.hits:
        if page.width is None:
            yield _row(result)
        elif isinstance(result, ThreadCount):
            yield [
                ("title", result.thread_id),
                ("", "  "),
                ("muted", f"{result.hits} {'hit' if result.hits == 1 else 'hits'}"),
            ]
        else:
            if heading != (result.thread_id, result.ns):
                yield from [[]] if heading is not None else []
                yield [("title", result.thread_id), ("muted", f"  {result.ns}" if result.ns else "")]
                heading = (result.thread_id, result.ns)
            yield from _hit(result, page.width)
    if page.width is not None:
        yield from _end(view)


def _hit(hit: Hit, width: int) -> Iterator[Line]:
    place_and_path = hit.path if hit.place == "state" else f"{hit.place} {hit.path}"
    head: Line = [("", "  "), *_first_to_last(hit), ("", "  "), ("key", place_and_path)]
    key: Line = [("muted", "the key ")] if hit.is_key else []
    text: Line = [*key, ("value", hit.before), ("changed", hit.match), ("value", hit.after), *_more(hit)]
    if line_len(head) + 2 + line_len(text) <= width:
        yield [*head, ("", "  "), *text]
        return
    yield head
    room = width - 4
    excess = max(cell_len(hit.before) + cell_len(hit.match) - room + 12, 0)
    before = f"{MORE}{hit.before[excess + 1 :]}" if 0 < excess < len(hit.before) else hit.before
    yield fit([("", "    "), *key, ("value", before), *text[len(key) + 1 :]], width)


def _first_to_last(hit: Hit) -> Line:
    if hit.checkpoints == 1:
        return _checkpoint(hit.first)
    end: Line = [("head", "@")] if hit.present else _checkpoint(hit.last)
    return [*_checkpoint(hit.first), ("muted", f" {MORE} "), *end, ("muted", f" ({hit.checkpoints})")]


def _checkpoint(seen: Sighted) -> Line:
    return [("id", seen.short), ("muted", f" step {seen.step}" if seen.step is not None else "")]


def _more(hit: Hit) -> Line:
    return [("muted", f"  +{hit.more} more")] if hit.more else []


def _row(result: Hit | ThreadCount) -> Line:
    """A row: thread, namespace, first and last checkpoint, place, path, the matching line, and ``key`` if it is one."""
    if isinstance(result, ThreadCount):
        return row([[("title", result.thread_id)], [("", str(result.hits))]])
    cells: list[Line] = [[("title", result.thread_id)], [("muted", result.ns)]]
    cells += [
        [("id", result.first.checkpoint_id)],
        [("id", result.last.checkpoint_id)],
        [("muted", result.place)],
    ]
    return row(
        [
            *cells,
            [("key", result.path)],
            [("value", result.before), ("changed", result.match), ("value", result.after)],
            [("muted", "key" if result.is_key else "")],
        ]
    )


def _end(view: GrepView) -> Iterator[Line]:
    if not view.found:
        yield [("muted", f"nothing in {count_text(view.searched, 'thread')}")]
