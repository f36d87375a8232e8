"""The config of a checkpoint, to paste into code; broken between keys if it is too long for one line."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ckpt_cli.output.cells import cell_len
from ckpt_cli.output.line import Line, Page


def config_lines(config: Mapping[str, Any], page: Page, style: str, encode: Callable[[Any], str]) -> Iterator[Line]:
    """The lines of ``{"configurable": {…}}``, broken between keys; a terminal would break an id."""
    head, tail = '{"configurable": {', "}}"
    line = head
    for index, (key, value) in enumerate(config["configurable"].items()):
        part = f"{encode(key)}: {encode(value)}"
        part += tail if index == len(config["configurable"]) - 1 else ", "
        if page.width is not None and cell_len(line) + cell_len(part.rstrip()) > page.width:
            yield [(style, line.rstrip())]
            line = " " * len(head)
        line += part
    yield [(style, line)]
