"""One value as text: a string as it is, scalars in JSON's words, everything else as JSON."""

from collections.abc import Iterator

from ckpt_cli.output.json import text
from ckpt_cli.output.line import Line, Page
from ckpt_cli.values.jsonform import to_json
from ckpt_cli.values.natural import text as natural
from ckpt_cli.values.parts import inside
from ckpt_cli.views.get import GetView


def render(view: GetView, page: Page) -> Iterator[Line]:
    """The value alone; a pipe gets text exactly, a terminal without what would drive it."""
    value = inside(view.value)
    told = value if isinstance(value, str) else natural(value, page.reveal)
    if told is None:
        told = text(to_json(value, reveal=page.reveal), indent=2)
    if page.width is None:
        yield [("exact", told)]
        return
    yield from ([("value", line)] for line in told.split("\n"))
