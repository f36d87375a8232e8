"""What names a checkpoint in code, to paste there: in one line where it fits, else broken where JSON may be."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ckpt_cli.output.cells import cell_len
from ckpt_cli.output.line import Line, Page


def pasted(config: Mapping[str, Any], page: Page, style: str, encode: Callable[[Any], str]) -> Iterator[Line]:
    """The lines of ``{"configurable": {…}}``; a terminal that breaks a line by itself breaks it inside an id."""
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
