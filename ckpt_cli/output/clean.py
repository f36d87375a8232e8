"""No character out of a database drives a terminal: controls are shown as what they are.

C0, DEL and C1 controls, bidirectional overrides and isolates (they make text read as what it isn't), zero-width and
line separators that terminals obey, and lone surrogates that no encoding carries.
"""

import re
from functools import cache

from ckpt_cli.output.line import TAB, Line

_BEYOND_C0 = "\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff"
_SHORT = {"\n": "⏎", "\t": "⇥"}


def clean(text: str) -> str:
    """The text with every such character replaced by something that only prints; nearly always the text itself."""
    return text if text.isprintable() else hostile().sub(_shown, text)


def clean_line(line: Line) -> str:
    """A line without styles, safe to print; only an `exact` span goes into a pipe as it is."""
    text = "".join([part for _, part in line])
    if text.isprintable():
        return text
    return "".join(span[1] if span == TAB or span[0] == "exact" else clean(span[1]) for span in line)


@cache
def hostile(but: str = "") -> re.Pattern[str]:
    """The characters that are not printed, made when the first text asks: so large a set takes 2 ms to compile.

    `but` takes these controls out of it. Python calls none of the others printable.
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
