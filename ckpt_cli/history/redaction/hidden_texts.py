"""Texts inside a text in another spelling: escapes, percent encoding, HTML, base64, hex, Unicode."""

import binascii
import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

Span = tuple[int, int]

_ESCAPE = re.compile(
    r"(?:\\[uU][dD][89abAB][0-9a-fA-F]{2}\\[uU][dD][c-fC-F][0-9a-fA-F]{2})"
    r"|(?:\\x[0-9a-fA-F]{2})+|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}|\\[nrtbf\"'/\\]"
)
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2})+")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]{2,8});")
_NULS = re.compile("\0+")
_SIGNS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}

_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{60,}+\r?\n)*[A-Za-z0-9+/_-]{8,}={0,2}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}){4,}")
_ALIGNED = 16  # in so many characters of base64, the first ones may belong to a word before it
_LONG = 256
"""Base64 of so many characters that isn't text is data which can't be looked into, such as an image."""
_READABLE = re.compile("[^\ufffd\0-\x08\x0e-\x1f\x7f]{6,}")
_CONTROLS = re.compile("[\0-\x08\x0e-\x1f]")


class View(NamedTuple):
    """Another reading of a text.

    Attributes:
        text: what it reads.
        original: from where to where in the original text a span of `text` is.
    """

    text: str
    original: Callable[[Span], Span]


def views(text: str) -> Iterator[View]:
    """The other readings of a text that differ from it."""
    for sign, pattern, decode in _UNFOLDED:
        if sign in text:
            view = _unfolded(text, pattern, decode)
            if view is not None:
                yield view
    yield from _decoded(text)
    if not text.isascii():
        for form in ("NFC", "NFD", "NFKC"):
            normal = unicodedata.normalize(form, text)
            if normal != text:
                yield View(normal, lambda _: (0, len(text)))


def plain_text(data: bytes) -> str | None:
    """The text that bytes are in UTF-8; None if they are no text."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if _CONTROLS.search(text) else text


def opaque_runs(text: str) -> list[Span]:
    """The long runs of base64 in a text whose data is no text, so that nothing can be looked for in them."""
    if len(text) < _LONG:
        return []
    runs = (match.span() for match in _BASE64.finditer(text) if match.end() - match.start() >= _LONG)
    return [(start, end) for start, end in runs if not _is_text(text[start:end])]


def _is_text(run: str) -> bool:
    """Whether most of what a run of base64 encodes is text."""
    return any(2 * len(inner.encode()) > len(run) * 3 // 4 for inner in _base64_texts(run))


def _unfolded(text: str, pattern: re.Pattern[str], decode: Callable[[str], str]) -> View | None:
    """The text with each match decoded; None if there is no match."""
    pieces, here, there = list[str](), list[int](), list[int]()  # where pieces begin: in the view, in the original
    length = end = 0
    for match in pattern.finditer(text):
        for piece, start in ((text[end : match.start()], end), (decode(match[0]), match.start())):
            pieces.append(piece)
            here.append(length)
            there.append(start)
            length += len(piece)
        end = match.end()
    if not pieces:
        return None
    here.append(length)
    there.append(end)

    def original(span: Span) -> Span:
        first, last = bisect_right(here, span[0]) - 1, bisect_right(here, span[1] - 1) - 1
        start = there[first] if first % 2 else there[first] + span[0] - here[first]
        return start, there[last + 1] if last % 2 else there[last] + span[1] - here[last]

    return View("".join((*pieces, text[end:])), original)


def _escape(escape: str) -> str:
    kind = escape[1]
    if kind == "x":
        return _best(bytes.fromhex(escape.replace("\\x", "")))
    if kind in "uU" and len(escape) == 12:
        units = bytes.fromhex(escape[2:6] + escape[8:12])
        return units.decode("utf-16-be", "replace")
    if kind in "uU" and len(escape) > 2:
        return chr(min(int(f"0x{escape[2:]}", 0), 0x10FFFF))
    return _SIGNS.get(kind, kind)


def _best(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


_UNFOLDED: tuple[tuple[str, re.Pattern[str], Callable[[str], str]], ...] = (
    ("\\", _ESCAPE, _escape),
    ("%", _PERCENT, lambda run: _best(unquote_to_bytes(run))),
    ("&", _ENTITY, html.unescape),
    ("\0", _NULS, lambda _: ""),
)


def _decoded(text: str) -> Iterator[View]:
    """The texts that runs of base64 and hex are; a match in one is a match of its whole run."""
    for match in _BASE64.finditer(text):
        for inner in _base64_texts(match[0]):
            yield _inside(inner, match.span())
    for match in _HEX.finditer(text):
        of_hex = plain_text(bytes.fromhex(match[0]))
        if of_hex is not None:
            yield _inside(of_hex, match.span())


def _inside(text: str, run: Span) -> View:
    return View(text, lambda _: run)


def _base64_texts(run: str) -> Iterator[str]:
    """The texts in what a run of base64 may be; its first characters may not belong to it."""
    letters = re.sub(r"[\r\n=]", "", run).translate({ord("-"): "+", ord("_"): "/"})
    for start in range(4 if len(letters) >= _ALIGNED else 1):
        some = letters[start:]
        some = some[: len(some) - (len(some) % 4 == 1)]
        data = binascii.a2b_base64(some + "=" * (-len(some) % 4))
        yield from _READABLE.findall(data.decode("utf-8", "replace"))
