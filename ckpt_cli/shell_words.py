"""Words as a shell takes them, so that a command we suggest can be pasted, whatever characters an id holds."""

import re
from collections.abc import Sequence

_PLAIN = re.compile(r"[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+:,./=-]*")
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "'": "\\'", "\\": "\\\\", "!": "\\x21"}
_UNTYPABLE = re.compile("[\x00\ud800-\udc7f\udd00-\udfff]")


def argument(text: str) -> str:
    """One word as bash and zsh read it back: quoted where it must be, control characters as ``$'…'`` spells them.

    What no command line can carry, a NUL or a half of a character, gives ``…``, which is the name of nothing.
    """
    if _UNTYPABLE.search(text):
        return "…"
    if _PLAIN.fullmatch(text) and text.isprintable():
        return text
    if text.isprintable():
        return "'{}'".format(text.replace("'", "'\\''"))
    return "$'{}'".format("".join(map(_spelled, text)))


def command(verb: str, *words: str, options: Sequence[str] = ()) -> str:
    """A command line; what begins with a dash stands behind ``--``, and then the options before it.

    Args:
        verb: the beginning, as it is.
        words: its arguments.
        options: option names and their values.
    """
    shown, more = [argument(word) for word in words], [argument(word) for word in options]
    if any(word.startswith("-") for word in words):
        return " ".join([verb, *more, "--", *shown])
    return " ".join([verb, *shown, *more])


def _spelled(char: str) -> str:
    if char in _SHORT:
        return _SHORT[char]
    if char.isprintable():
        return char
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is no UTF-8, as Python carries it
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
