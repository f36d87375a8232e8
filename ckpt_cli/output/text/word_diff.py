"""Shows the difference of two long texts: removed and added words, with enough text around them to find them."""

from collections.abc import Iterator

from ckpt_cli.history.diff.word_diff import REMOVED, SAME, Piece, words
from ckpt_cli.output.cells import cell_len
from ckpt_cli.output.clean import clean
from ckpt_cli.output.line import Line, Span
from ckpt_cli.output.theme import CLOSE_QUOTE, MORE, OPEN_QUOTE

_AROUND = 24
_CHANGED = 160
_CHANGES = 12


def word_diff_lines(before: str, after: str, room: int | None, *, full: bool) -> Iterator[Line]:
    """Both texts merged into one, wrapped into so many cells; unless `full`, only the parts around changes."""
    pieces = words(before, after)
    spans = [_span(piece) for piece in (pieces if full else _excerpt(pieces))]
    spans = [("value", OPEN_QUOTE), *spans, ("value", CLOSE_QUOTE)]
    yield from [spans] if room is None else wrap_spans(spans, room)


def _span(piece: Piece) -> Span:
    text = clean(piece.text)
    if piece.kind == SAME:
        return ("value", text)
    return ("removed", f"[-{text}-]") if piece.kind == REMOVED else ("added", f"{{+{text}+}}")


def _excerpt(pieces: list[Piece]) -> list[Piece]:
    shown: list[Piece] = []
    changes = 0
    for at, piece in enumerate(pieces):
        changes += piece.kind != SAME
        if changes > _CHANGES:
            left = sum(1 for other in pieces[at:] if other.kind != SAME)
            return [*shown, Piece(SAME, f" {MORE} {left} more changes")]
        shown.append(_shortened(piece, first=at == 0, last=at == len(pieces) - 1))
    return shown


def _shortened(piece: Piece, *, first: bool, last: bool) -> Piece:
    text = piece.text
    if piece.kind != SAME:
        more = len(text) - _CHANGED
        return piece if more <= _AROUND else Piece(piece.kind, f"{text[:_CHANGED]} {MORE} {more:,} more characters")
    if len(text) <= 2 * _AROUND + 3:
        return piece
    head = "" if first else text[:_AROUND].rpartition(" ")[0] or text[:_AROUND]
    tail = "" if last else text[-_AROUND:].partition(" ")[2] or text[-_AROUND:]
    excerpt = f"{head} {MORE} {tail}"
    return Piece(SAME, excerpt.lstrip() if first else excerpt.rstrip() if last else excerpt)


def wrap_spans(spans: Line, room: int) -> Iterator[Line]:
    """Styled text in lines of at most so many cells, broken at spaces if possible."""
    line: Line = []
    used = 0
    for style, text in spans:
        for part in _breakable(text, room):
            size = cell_len(part)
            if used and used + size > room:
                yield line
                line, used = [], 0
                part = part.lstrip(" ")
                size = cell_len(part)
            if line and line[-1][0] == style:
                line[-1] = (style, line[-1][1] + part)
            elif part:
                line.append((style, part))
            used += size
    if line:
        yield line


def _breakable(text: str, room: int) -> Iterator[str]:
    """Words with the space before them; a word longer than half a line in pieces."""
    start = 0
    for at in range(1, len(text) + 1):
        if at == len(text) or text[at] == " " or at - start >= room // 2:
            yield text[start:at]
            start = at
