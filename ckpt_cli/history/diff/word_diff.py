"""Differences between long texts, word by word: what was removed, added and kept, in bounded time."""

import re
from typing import NamedTuple

SAME, REMOVED, ADDED = "same", "removed", "added"

_TOKEN = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef]|\w+[^\S\n]*|[^\w\s]|\s+")
_LINE = re.compile(r"[^\n]*\n?")
_MOST = 800  # tokens on one side; in the worst case, matching takes the square of this number
_ALIKE = 0.3


class Piece(NamedTuple):
    """A run of text that was kept, removed or added."""

    kind: str
    text: str


def words(before: str, after: str) -> list[Piece]:
    """The pieces of both texts in order; if they have little in common, one removed and one added piece."""
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    head, tail = _at_word(before, after, head, tail)
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    middle = _pieces(old, new)
    kept = head + tail + sum(len(piece.text) for piece in middle if piece.kind == SAME)
    if kept < _ALIKE * min(len(before), len(after)):
        return _replaced(before, after)
    ends = (Piece(SAME, before[:head]), *middle, Piece(SAME, before[len(before) - tail :] if tail else ""))
    return _joined([piece for piece in ends if piece.text])


def _common(a: str, b: str) -> int:
    """How many first characters are equal, by binary search: comparing slices is fast."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[low:middle] == b[low:middle] else (low, middle - 1)
    return low


def _at_word(before: str, after: str, head: int, tail: int) -> tuple[int, int]:
    """The common ends, shortened so that the change doesn't begin or end inside a word."""
    while head and _cuts(before, head) | _cuts(after, head):
        head -= 1
    while tail and _cuts(before, len(before) - tail) | _cuts(after, len(after) - tail):
        tail -= 1
    return head, tail


def _cuts(text: str, at: int) -> bool:
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum() and text[at] < "\u2e80"


def _pieces(old: str, new: str) -> list[Piece]:
    for pattern in (_TOKEN, _LINE):
        a, b = pattern.findall(old), pattern.findall(new)
        if max(len(a), len(b)) <= _MOST:
            return _matched(a, b)
    return _replaced(old, new)


def _matched(a: list[str], b: list[str]) -> list[Piece]:
    from difflib import SequenceMatcher

    pieces = []
    for op, i, j, k, end in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if op == "equal":
            pieces.append(Piece(SAME, "".join(a[i:j])))
        else:
            pieces += _replaced("".join(a[i:j]), "".join(b[k:end]))
    return pieces


def _replaced(old: str, new: str) -> list[Piece]:
    """The pieces for one text in place of another; common blanks at their ends are kept."""
    lead = _common(_blank(old), _blank(new))
    trail = _common(_blank(old[lead:][::-1]), _blank(new[lead:][::-1]))
    pieces = (
        Piece(SAME, old[:lead]),
        Piece(REMOVED, old[lead : len(old) - trail]),
        Piece(ADDED, new[lead : len(new) - trail]),
        Piece(SAME, old[len(old) - trail :] if trail else ""),
    )
    return [piece for piece in pieces if piece.text]


def _blank(text: str) -> str:
    return text[: len(text) - len(text.lstrip())]


def _joined(pieces: list[Piece]) -> list[Piece]:
    """The pieces, with neighbours of one kind joined; blanks between two changes become a part of both changes."""
    out: list[Piece] = []
    removed, added = "", ""
    for at, piece in enumerate(pieces):
        if piece.kind == REMOVED:
            removed += piece.text
        elif piece.kind == ADDED:
            added += piece.text
        elif removed and added and at + 1 < len(pieces) and piece.text.isspace() and "\n" not in piece.text:
            removed, added = removed + piece.text, added + piece.text
        else:
            _extend(out, [*_replaced(removed, added), piece])
            removed = added = ""
    _extend(out, _replaced(removed, added))
    return out


def _extend(out: list[Piece], pieces: list[Piece]) -> None:
    for piece in pieces:
        if out and out[-1].kind == piece.kind:
            out[-1] = Piece(piece.kind, out[-1].text + piece.text)
        else:
            out.append(piece)
