"""Replaces control characters with visible signs, so that no text out of a database controls the terminal.

These are C0, DEL and C1 controls, bidirectional overrides and isolates (they change the order in which text reads),
zero-width characters, line separators that terminals obey, and lone surrogates, which no encoding can carry.
"""

import re
from functools import cache

from ckpt_cli.output.line import TAB, Line

_BEYOND_C0 = "\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff"
_SHORT = {"\n": "⏎", "\t": "⇥"}


def clean(text: str) -> str:
    """The text with every such character replaced by something that only prints; mostly the text itself."""
    return text if text.isprintable() else hostile().sub(_shown, text)


def clean_line(line: Line) -> str:
    """A line without styles, safe to print; only an `exact` span goes into a pipe as it is."""
    text = "".join([part for _, part in line])
    if text.isprintable():
        return text
    return "".join(span[1] if span == TAB or span[0] == "exact" else clean(span[1]) for span in line)


@cache
def hostile(but: str = "") -> re.Pattern[str]:
    """A pattern of the characters that are not printed; `but` excludes some controls from it.

    It is compiled when first needed, which takes 2 ms. Python's `str.isprintable` is false for all of them.
    """
    c0 = "".join(char for char in map(chr, range(0x20)) if char not in but)
    return re.compile(f"[{re.escape(c0)}{_BEYOND_C0}]")


def _shown(match: re.Match[str]) -> str:
    char = match[0]
    if short := _SHORT.get(char):
        return short
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
