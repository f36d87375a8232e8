"""Draws the tables of `stats`: as wide as their cells, cut where there is no room."""

from collections.abc import Iterator
from typing import NamedTuple

from ckpt_cli.output.cells import cell_len, pad
from ckpt_cli.output.line import Line, Span
from ckpt_cli.output.theme import MORE

_LONGEST_NAME, _SHORTEST_NAME = 40, 12  # cells
_ROWS = 10  # rows of a table on a terminal; a pipe gets all


class Column(NamedTuple):
    """A column by its heading, and whether its cells are aligned right."""

    title: str
    right: bool = False


class Table(NamedTuple):
    """A table; `key` begins its lines in a pipe, `title` is its heading on a terminal, and heads the first column.

    Attributes:
        more: how many rows there are beside these.
        all: what shows every row.
    """

    key: str
    title: str
    columns: tuple[Column, ...]
    rows: list[list[Span]]
    more: int = 0
    all: str = "--json"


def draw(table: Table, room: int) -> Iterator[Line]:
    """The lines of a table for a terminal with so many cells; rows beyond the first ones are counted."""
    table = _without_zeros(table)
    shown = table.rows[:_ROWS]
    heads = [table.title, *(column.title for column in table.columns)]
    widths = [min(max(cell_len(cell[1]) for cell in cells), _LONGEST_NAME) for cells in zip(*shown, strict=True)]
    widths = [max(width, cell_len(head)) for width, head in zip(widths, heads, strict=True)]
    rights = [False, *(column.right for column in table.columns)]
    last = len(heads) - 1
    widths = _narrowed(widths, rights, room)
    yield _aligned([("muted", head) for head in heads], widths, rights, last)
    for cells in shown:
        yield _aligned(cells, widths, rights, last)
    if more := len(table.rows) - len(shown) + table.more:
        yield [("muted", f"{MORE} {more:,} more: {table.all}")]


def _narrowed(widths: list[int], rights: list[bool], room: int) -> list[int]:
    """The widths in a narrow terminal: nodes are cut before what is asked, and this before what the row is about."""
    texts = [at for at, right in enumerate(rights) if not right]
    over = sum(widths) + 2 * (len(widths) - 1) - room
    narrowed = [*widths]
    for at in [*texts[1:], *texts[:1]]:
        cut = min(max(over, 0), max(narrowed[at] - _SHORTEST_NAME, 0))
        narrowed[at] -= cut
        over -= cut
    return narrowed


def _without_zeros(table: Table) -> Table:
    """The table without its columns of zeros, such as channels where none are stored apart."""
    kept = [at for at, _ in enumerate(table.columns, 1) if any(cells[at][1] != "0" for cells in table.rows)]
    columns = tuple(table.columns[at - 1] for at in kept)
    return table._replace(columns=columns, rows=[[cells[0], *(cells[at] for at in kept)] for cells in table.rows])


def _aligned(cells: list[Span], widths: list[int], rights: list[bool], last: int) -> Line:
    line: Line = []
    while cells and not cells[-1][1]:
        cells = cells[:-1]
    for at, (style, text) in enumerate(cells):
        line += [("", "  ")] if at else []
        line.append((style, text if at == last and not rights[at] else pad(text, widths[at], right=rights[at])))
    return line
