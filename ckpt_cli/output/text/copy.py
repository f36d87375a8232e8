"""Shows what `copy --follow` copies, each thread when it happens."""

from collections.abc import Iterator

from ckpt_cli.output.cells import fit
from ckpt_cli.output.line import Line, Page, row
from ckpt_cli.output.text.time_column import Clock
from ckpt_cli.output.visible_names import visible
from ckpt_cli.views.copy import CopiedView, FollowView


def render(view: FollowView, page: Page) -> Iterator[Line]:
    """A line for each thread; in a pipe a row of time, thread, state, what was copied or the problem, operation."""
    for one in view.copies:
        text = one.problem or one.summary
        if page.width is None:
            number = "" if one.operation is None else str(one.operation)
            yield row([("", cell)] for cell in (one.time, one.thread_id, one.state, text, number))
        else:
            yield fit(_line(one, text), None if one.problem else page.width)


def _line(one: CopiedView, text: str) -> Line:
    place = "" if one.operation is None else f"  operation {one.operation}"
    time = Clock([one.time])(one.time)
    style = "bad" if one.problem else ""
    return [("muted", f"{time}  "), ("title", visible(one.thread_id)), (style, f"  {visible(text)}"), ("muted", place)]
