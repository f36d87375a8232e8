"""Names cut to the width of a column so that different names stay different: `tenant-4711:…:chat-2`."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile

from ckpt_cli.output.cells import cut_middle, fit, line_len, truncate
from ckpt_cli.output.clean import clean
from ckpt_cli.output.line import Line
from ckpt_cli.output.theme import MORE

_BEGIN = 4  # cells that stay of the beginning of a name that is cut in its middle, if they can


def short_names(names: Iterable[str], cells: int) -> Mapping[str, str]:
    """Each name in at most `cells` cells.

    A name is cut at its end, or in its middle where another name would look the same: ids of one tenant and nodes of
    one middleware often differ only behind what they share.
    """
    alike: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        alike.setdefault(truncate(name, cells), []).append(name)
    short = {some[0]: text for text, some in alike.items() if len(some) == 1}
    for some in alike.values():
        if len(some) > 1:
            short |= _cut_apart(some, cells)
    return short


def short_cells(cells: Sequence[Line], room: int) -> list[Line]:
    """The cells of a column, each in at most `room` cells: the name at its end is cut as `short_names` cuts it."""
    rooms = [room - line_len(cell[:-1]) for cell in cells]
    names: dict[int, list[str]] = {}
    for cell, left in zip(cells, rooms, strict=True):
        if cell and left > 0:
            names.setdefault(left, []).append(cell[-1][1])
    short = {left: short_names(some, left) for left, some in names.items()}
    return [
        [*cell[:-1], (cell[-1][0], short[left][cell[-1][1]])] if cell and left > 0 else fit(cell, room)
        for cell, left in zip(cells, rooms, strict=True)
    ]


def _cut_apart(names: list[str], cells: int) -> dict[str, str]:
    """The names, cut so that most of them differ: the part by which they differ stays, if it fits."""
    texts = {name: clean(name) for name in names}
    shared = len(list(takewhile(lambda letters: len({*letters}) == 1, zip(*texts.values(), strict=False))))
    longest = max(map(len, texts.values())) - shared
    ends = (min(max(longest, cells // 3), cells - _BEGIN - 1), cells // 2, cells - 2)
    ways = [{name: cut_middle(text, cells, end) for name, text in texts.items()} for end in ends if end > 0]
    ways.append({name: truncate(f"{MORE}{text[shared:]}", cells) for name, text in texts.items()})
    return max(ways, key=lambda short: len({*short.values()}))
