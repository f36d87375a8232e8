"""No character out of a database drives a terminal: controls are shown as what they are.

C0, DEL and C1 controls, bidirectional overrides and isolates (they make text read as what it isn't), zero-width and
line separators that terminals obey, and lone surrogates that no encoding carries.
"""

import re

BEYOND_C0 = "\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff"
_HOSTILE = re.compile(f"[\x00-\x1f{BEYOND_C0}]")
_SHORT = {"\n": "⏎", "\r": "␍", "\t": "⇥", "\x1b": "␛"}


def clean(text: str) -> str:
    """The text with every such character replaced by something that only prints; nearly always the text itself."""
    return _HOSTILE.sub(_shown, text) if _HOSTILE.search(text) else text


def _shown(match: re.Match[str]) -> str:
    char = match[0]
    if short := _SHORT.get(char):
        return short
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
