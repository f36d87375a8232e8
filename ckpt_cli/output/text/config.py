"""Shows the config of a checkpoint, to paste into code: in one line if it fits, else broken where JSON allows it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ckpt_cli.output.cells import cell_len
from ckpt_cli.output.line import Line, Page


def config_lines(config: Mapping[str, Any], page: Page, style: str, encode: Callable[[Any], str]) -> Iterator[Line]:
    """The lines of ``{"configurable": {…}}``; they are broken here because a terminal would break them inside an id."""
    head, tail = '{"configurable": {', "}}"
    line = head
    for at, (key, value) in enumerate(config["configurable"].items()):
        part = f"{encode(key)}: {encode(value)}"
        part += tail if at == len(config["configurable"]) - 1 else ", "
        if page.width is not None and cell_len(line) + cell_len(part.rstrip()) > page.width:
            yield [(style, line.rstrip())]
            line = " " * len(head)
        line += part
    yield [(style, line)]
