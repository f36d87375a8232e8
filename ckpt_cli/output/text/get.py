"""Shows one value: a string as it is, a known simple object as its text, everything else as JSON."""

from collections.abc import Iterator

from ckpt_cli.output.json import text
from ckpt_cli.output.line import Line, Page
from ckpt_cli.values.jsonform import to_json
from ckpt_cli.values.parts import inside
from ckpt_cli.values.well_known_types import text as natural
from ckpt_cli.views.get import GetView


def render(view: GetView, page: Page) -> Iterator[Line]:
    """The value and nothing else. A pipe gets text exactly as it is, a terminal gets it without control characters."""
    value = inside(view.value)
    shown = value if isinstance(value, str) else natural(value, page.reveal)
    if shown is None:
        shown = text(to_json(value, reveal=page.reveal), indent=2)
    if page.width is None:
        yield [("exact", shown)]
        return
    yield from ([("value", line)] for line in shown.split("\n"))
