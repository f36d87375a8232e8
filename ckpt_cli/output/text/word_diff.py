"""Shows the difference of two long texts: changed words and a little around; found in `history/diff`."""

from collections.abc import Iterator

from ckpt_cli.history.diff.word_diff import REMOVED, SAME, Piece, words
from ckpt_cli.output.cells import cell_len
from ckpt_cli.output.clean import clean
from ckpt_cli.output.line import Line, Span
from ckpt_cli.output.theme import CLOSE_QUOTE, MORE, OPEN_QUOTE

_CONTEXT = 24
_LONGEST_CHANGE = 160
_MOST_CHANGES = 12


def word_diff_lines(before: str, after: str, room: int | None, *, full: bool) -> Iterator[Line]:
    """Both texts merged into one, wrapped to `room` cells. Without `full`, only the parts around changes are shown."""
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
    for index, piece in enumerate(pieces):
        changes += piece.kind != SAME
        if changes > _MOST_CHANGES:
            changes_left = sum(1 for other in pieces[index:] if other.kind != SAME)
            return [*shown, Piece(SAME, f" {MORE} {changes_left} more changes")]
        shown.append(_shortened(piece, first=index == 0, last=index == len(pieces) - 1))
    return shown


def _shortened(piece: Piece, *, first: bool, last: bool) -> Piece:
    text = piece.text
    if piece.kind != SAME:
        more = len(text) - _LONGEST_CHANGE
        return (
            piece
            if more <= _CONTEXT
            else Piece(piece.kind, f"{text[:_LONGEST_CHANGE]} {MORE} {more:,} more characters")
        )
    if len(text) <= 2 * _CONTEXT + 3:
        return piece
    head = "" if first else text[:_CONTEXT].rpartition(" ")[0] or text[:_CONTEXT]
    tail = "" if last else text[-_CONTEXT:].partition(" ")[2] or text[-_CONTEXT:]
    excerpt = f"{head} {MORE} {tail}"
    return Piece(SAME, excerpt.lstrip() if first else excerpt.rstrip() if last else excerpt)


def wrap_spans(spans: Line, room: int) -> Iterator[Line]:
    """Styled text broken into lines of at most `room` cells, at spaces if possible."""
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
    """The words of a text, each with the space before it; a word longer than half a line is cut into pieces."""
    start = 0
    for index in range(1, len(text) + 1):
        if index == len(text) or text[index] == " " or index - start >= room // 2:
            yield text[start:index]
            start = index
