"""Shows tags, one per line."""

from collections.abc import Iterator

from ckpt_cli.output.cells import cell_len, pad
from ckpt_cli.output.line import Line, Page, row
from ckpt_cli.views.tag import TagLine, TagView


def render(view: TagView, page: Page) -> Iterator[Line]:
    """The tags, sorted by thread and name."""
    if page.width is None:
        for tag in view.tags:
            cells = [("title", tag.thread_id), ("muted", tag.ns), ("head", tag.name), ("id", tag.id)]
            yield row([cell] for cell in [*cells, ("bad", "gone" if tag.gone else "")])
        return
    if not view.tags:
        yield [("muted", "no tags")]
    widest = max((cell_len(tag.name) for tag in view.tags), default=0)
    for tag in view.tags:
        yield _line(tag, view.did, widest)


def _line(tag: TagLine, action: str, widest: int) -> Line:
    line: Line = [("head", pad(f"tag:{tag.name}", widest + 4)), ("", "  "), ("id", tag.id), ("", "  ")]
    line += [("title", tag.thread_id), *([("muted", f"  {tag.ns}")] if tag.ns else [])]
    line += [("bad", "  gone from the database")] if tag.gone else []
    return [*line, *([("muted", f"  {action}")] if action != "listed" else [])]
