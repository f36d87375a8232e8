"""Replaces control and other hostile characters with visible signs, so that no text controls the terminal.

The replaced characters are C0, DEL and C1 controls, bidirectional overrides and isolates (they change the order in
which text is read), zero-width characters, line separators that terminals obey, and lone surrogates, which no encoding
can represent.
"""

import re
from functools import cache

from ckpt_cli.output.line import TAB, Line

_BEYOND_C0 = "\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff"
_SHORT = {"\n": "⏎", "\t": "⇥"}


def clean(text: str) -> str:
    """The text with all the characters listed above replaced by visible signs; most texts stay as they are."""
    return text if text.isprintable() else hostile().sub(_visible_sign, text)


def clean_line(line: Line) -> str:
    """The text of a line without styles, safe to print. Only an `exact` span stays as it is; it is used for pipes."""
    text = "".join([part for _, part in line])
    if text.isprintable():
        return text
    if text.count("\t") == line.count(TAB) and text.replace("\t", "").isprintable():
        return text
    return "".join(span[1] if span == TAB or span[0] == "exact" else clean(span[1]) for span in line)


@cache
def hostile(but: str = "") -> re.Pattern[str]:
    """A pattern that fits the characters to replace, except those in `but`.

    The pattern is compiled at its first use, which takes 2 ms. For all of these characters Python's `str.isprintable`
    is false, so a printable text needn't be searched.
    """
    c0 = "".join(char for char in map(chr, range(0x20)) if char not in but)
    return re.compile(f"[{re.escape(c0)}{_BEYOND_C0}]")


def _visible_sign(match: re.Match[str]) -> str:
    char = match[0]
    if short := _SHORT.get(char):
        return short
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
