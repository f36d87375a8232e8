"""Masks passwords in texts of others: messages of drivers and servers, imported code, tracebacks.

ckpt's own messages contain no secrets. Other code may quote values that ckpt gave it, such as a URL with a password.
"""

import os
import re
from collections.abc import Iterator
from urllib.parse import quote, quote_plus, unquote

MASK = "***"

_PIECE = 4  # this many successive characters of a secret are never shown
_VARIABLES = (
    "PGPASSWORD",
    "MYSQL_PWD",
    "REDISCLI_AUTH",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "LANGGRAPH_AES_KEY",
)
_WORDS = r"password|passwd|passphrase|pwd|secret|token|api_?key|access_?key|credential|auth"
_NAMED = rf"""(?i)([\w.-]*(?:{_WORDS})[\w.-]*["']?\s*[=:]\s*)("(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[^\s&;,)]+)"""
_IN_URL = r"(//)[^\s@]*:\S*@"
_LOGIN = r"(\b)[^\s/@:]+:\S*@"

_known: set[str] = set()


def is_secret_name(name: str) -> bool:
    """Whether the name of a parameter or variable suggests that its value is secret."""
    return re.search(_WORDS, name, re.IGNORECASE) is not None


def keep_secret(*texts: str) -> None:
    """Remember secrets, so that `hide` masks them in every form in which a text may quote them."""
    _known.update(text for text in texts if text)


def hide_urls(text: str) -> str:
    """The text with the users and passwords of URLs masked.

    All characters up to the last ``@`` are masked, because it is safer to mask too much than too little.
    """
    return re.sub(_IN_URL, rf"\1{MASK}@", text)


def hide(text: str) -> str:
    """The text without remembered secrets, and without anything that looks like a secret.

    No four successive characters of a remembered secret are left, whether plain, percent-encoded or decoded.
    """
    text = re.sub(_LOGIN, rf"\1{MASK}@", hide_urls(text))
    text = re.sub(_NAMED, rf"\1{MASK}", text)
    pieces = {form[at : at + _PIECE] for form in _forms() for at in range(max(1, len(form) - _PIECE + 1))}
    hidden = bytearray(len(text))
    for at in range(len(text)) if pieces else ():
        for length in {len(piece) for piece in pieces}:
            if text[at : at + length] in pieces:
                hidden[at : at + length] = b"\x01" * len(text[at : at + length])
    shown = "".join("\0" if hide else char for char, hide in zip(text, hidden, strict=True))
    return re.sub("\0+", MASK, shown) if any(hidden) else text


def _forms() -> Iterator[str]:
    """Every form in which a text may quote a secret: encoded or decoded, in lower case, escaped by ``repr``."""
    for secret in (*_known, *(os.environ.get(name, "") for name in _VARIABLES)):
        plain = unquote(secret)
        for form in {secret, plain, unquote(plain), quote(plain, safe=""), quote(plain), quote_plus(plain)}:
            for spelled in {form, form.lower(), repr(form)[1:-1]}:
                if len(spelled) >= _PIECE:
                    yield spelled
