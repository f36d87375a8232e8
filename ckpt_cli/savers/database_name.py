"""Shows the value of ``--db`` without any part that may be a password; URLs with several readings.

The text isn't searched for secrets to mask. Instead, only parts that are certainly no secret are shown. If a
password may begin or end in more than one place, hardly anything is shown.
"""

import re
from urllib.parse import parse_qsl, unquote

from ckpt_cli.errors import UsageError
from ckpt_cli.masking import is_secret_name, keep_secret

ESCAPES = "in users and passwords write @ : / ? # % as %40 %3A %2F %3F %23 %25"
"""A hint: how to write a URL so that it can be parsed in one way only."""

_URL = r"(?s)([A-Za-z][A-Za-z0-9.-]*(?:\+[A-Za-z0-9.-]+)?)://(.*)"
_HOST = r"(\[[^\[\]]*\]|[^:\[\]]*)(?::(\d{0,5}))?"
_NOT_IN_NAMES = frozenset("@=?#&'\"<>|;,\n\r\t\0")


def mask_database(text: str) -> str:
    """The text to show: a path or name unchanged; of a URL scheme, hosts and path; of other text hardly anything."""
    match = re.fullmatch(_URL, text)
    if match is None:
        return _mask_path(text)
    scheme, rest = match[1].lower(), match[2]
    if scheme.startswith("sqlite"):
        return (
            f"sqlite://{rest}" if rest.startswith("/") and cannot_hold_password(rest[1:].lstrip("/")) else "sqlite://…"
        )
    if not has_one_reading(rest):
        return f"{scheme}://…"
    authority, path, words = _parts(rest)
    user, at, hosts = authority.rpartition("@")
    return f"{scheme}://{'***@' if user or at else ''}{hosts}{path}{'?…' if words else ''}"


def cannot_hold_password(text: str) -> bool:
    """Whether the text is a path or a name that can't contain a password."""
    return not text.startswith("//") and ":" not in text and not _NOT_IN_NAMES & set(text) and not is_secret_name(text)


def has_one_reading(rest: str) -> bool:
    """Whether the text after ``://`` can be parsed in one way only.

    The text may have only one ``@``, before the hosts. If there are several, libpq splits at the first, Python at
    the last.
    """
    authority, path, words = _parts(rest)
    hosts = authority.rpartition("@")[2].split(",")
    ports = [match[2] if (match := re.fullmatch(_HOST, host)) else "x" for host in hosts]
    return (
        authority.count("@") < 2
        and "@" not in path + words
        and all(not port or (port.isdecimal() and int(port) < 1 << 16) for port in ports)
    )


def check_one_reading(url: str) -> None:
    """Check that a URL can be parsed in one way only, and register its secrets with `masking.hide`.

    Raises:
        UsageError: it can be parsed in several ways; the error repeats no part of it.
    """
    scheme, _, rest = url.partition("://")
    authority, _, words = _parts(rest)
    login = authority.rpartition("@")[0]
    keep_secret(login.partition(":")[2] or login)
    if any(is_secret_name(name) for name, _ in parse_qsl(words, keep_blank_values=True)):
        keep_secret(*(unquote(part.partition("=")[2] or part) for part in words.split("&")))
    if not has_one_reading(rest):
        keep_secret(*filter(None, re.split(r"[:/?#@]", rest)))
        raise UsageError(f"the {scheme} URL can be read in more than one way, or has no valid port", hint=ESCAPES)


def _parts(rest: str) -> tuple[str, str, str]:
    """The authority, the path, and the rest: query and fragment."""
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    path = re.split(r"[?#]", rest[len(authority) :], maxsplit=1)[0]
    return authority, path, rest[len(authority) + len(path) :]


def _mask_path(text: str) -> str:
    if cannot_hold_password(text):
        return text
    name, colon, _ = text.partition(":")
    return (
        f"{name}:…"
        if colon and cannot_hold_password(name) and name.isidentifier()
        else "(not shown: it may hold a password)"
    )
