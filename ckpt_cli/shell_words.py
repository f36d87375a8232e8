"""Quotes the words of suggested commands, so that a person can paste them, whatever an id contains."""

import re
from collections.abc import Sequence

_PLAIN = r"[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+:,./=-]*"
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "'": "\\'", "\\": "\\\\", "!": "\\x21"}
_UNTYPABLE = "[\x00\ud800-\udc7f\udd00-\udfff]"


def argument(text: str) -> str:
    """The text as one word for bash and zsh: quoted if needed, with control characters escaped as in ``$'…'``.

    A command line can't contain a NUL or half a surrogate pair. A text with one of these becomes ``…``, which names
    nothing.
    """
    if re.search(_UNTYPABLE, text):
        return "…"
    if re.fullmatch(_PLAIN, text) and text.isprintable():
        return text
    if text.isprintable():
        return "'{}'".format(text.replace("'", "'\\''"))
    return "$'{}'".format("".join(map(_escape, text)))


def command(verb: str, *words: str, options: Sequence[str] = ()) -> str:
    """A command line. If an argument begins with a dash, the options come first, then ``--``, then the arguments.

    Args:
        verb: the beginning of the line, such as ``ckpt delete``; it is not quoted.
        words: the arguments.
        options: the names of options and their values.
    """
    arguments, quoted_options = [argument(word) for word in words], [argument(word) for word in options]
    if any(word.startswith("-") for word in words):
        return " ".join([verb, *quoted_options, "--", *arguments])
    return " ".join([verb, *arguments, *quoted_options])


WORD = r"(?:\$'(?:[^'\\]|\\.)*'|'[^']*'(?:\\''[^']*')*|[^\s'$][^\s']*)"
"""A pattern for a word as `argument` makes it; it has no groups."""


def unquoted(word: str) -> str:
    """The text of which `argument` made a word."""
    if word.startswith("$'"):
        return re.sub(r"\\(x..|u.{4}|U.{8}|.)", _unescape, word[2:-1])
    return word[1:-1].replace("'\\''", "'") if word.startswith("'") else word


def _unescape(escape: re.Match[str]) -> str:
    code = escape[1]
    if code[0] not in "xuU" or len(code) == 1:
        return {"n": "\n", "t": "\t", "r": "\r"}.get(code, code)
    number = int(code[1:], 16)
    return chr(number + 0xDC00 if code[0] == "x" and number >= 0x80 else number)


def ns_option(ns: str) -> list[str]:
    """The words that name a namespace in a command line: none for the root graph's."""
    return ["--ns", ns] if ns else []


def _escape(char: str) -> str:
    if char in _SHORT:
        return _SHORT[char]
    if char.isprintable():
        return char
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that isn't UTF-8, as Python represents it
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
