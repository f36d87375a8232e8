"""Shows what was added to a bundle: a line for each thread, and the sums."""

from collections.abc import Iterator

from ckpt_cli.output.line import Line, Page, row
from ckpt_cli.output.quantities import size
from ckpt_cli.views.export import ExportLine, ExportView


def render(view: ExportView, page: Page) -> Iterator[Line]:
    """The threads that are in the bundle now, and those that were left out."""
    if page.width is None:
        for one in view.threads:
            numbers = [("muted", str(number)) for number in (one.checkpoints, one.writes, one.bytes)]
            yield row([cell] for cell in [("title", one.thread_id), *numbers, ("bad", one.refused)])
        return
    for one in view.threads:
        yield _line(one)
    bundle = "nothing was written" if view.size is None else f"{view.file} has {size(view.size)} now"
    total = sum(one.bytes for one in view.threads)
    exported = sum(not one.refused for one in view.threads)
    yield [("head", f"{exported} thread{'' if exported == 1 else 's'}"), ("", f", {size(total)} of values; {bundle}")]


def _line(one: ExportLine) -> Line:
    if one.refused:
        return [("title", one.thread_id), ("", "  "), ("bad", f"left out: {one.refused}")]
    if not one.checkpoints and not one.writes:
        return [("title", one.thread_id), ("", "  "), ("muted", "the bundle has all of it")]
    counts = f"{one.checkpoints} checkpoints, {one.writes} writes, {size(one.bytes)}"
    return [("title", one.thread_id), ("", "  "), ("muted", counts)]
