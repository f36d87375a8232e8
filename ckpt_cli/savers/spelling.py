"""Names of threads and checkpoints that are stored as a blob, NULL or a number become text, and back.

Such rows come from damage, migrations and other tools. Text stays as it is. Any other value gets a spelling that can be
typed, that differs from every text and that can be converted back: ``b'a\\xff'``, ``%null``, ``%7``, ``%1.5``. A text
that looks like such a spelling gets the prefix ``%=``. Spelled numbers sort before uuids, and blobs after them, as in
SQLite.
"""

import json
import re
from typing import Any

FIRST_CHARACTERS = frozenset("%b")
"""A name that doesn't begin with one of these is no spelling, and needs none."""
_BYTE = rb"\\x([0-9a-f]{2})"
_TEXT = object()
"""A mark: the text isn't the spelling of another value."""


def text_of(raw: Any) -> str:
    """The text for a stored name, which is nearly always the name itself."""
    if type(raw) is str:
        return raw if raw[:1] not in FIRST_CHARACTERS or _value_spelled_by(raw) is _TEXT else f"%={raw}"
    return _spell_blob(raw) if isinstance(raw, bytes) else f"%{json.dumps(raw)}"


def raw_of(name: str) -> Any:
    """The stored value for a name that `text_of` returned; a name that is no spelling is returned unchanged."""
    raw = _value_spelled_by(name) if name[:1] in FIRST_CHARACTERS else _TEXT
    return name if raw is _TEXT else raw


def index_of(raw: Any) -> int | str:
    """The index of a write in its task, as stored; text if the stored value isn't an integer."""
    return raw if type(raw) is int else text_of(raw)


def _value_spelled_by(text: str) -> Any:
    """The value that a text spells; `_TEXT` if it is no spelling."""
    if text.startswith("%="):
        return text[2:] if _value_spelled_by(re.sub("^(%=)+", "", text)) is not _TEXT else _TEXT
    raw = _json_value(text[1:]) if text[:1] == "%" else _parse_blob(text) if text[:2] == "b'" else _TEXT
    return raw if raw is not _TEXT and text_of(raw) == text else _TEXT


def _json_value(text: str) -> Any:
    """The JSON value in a text (null, a number, a list …); `_TEXT` if it isn't JSON or is a JSON text."""
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError):
        return _TEXT
    return _TEXT if isinstance(raw, str) else raw


def _parse_blob(text: str) -> Any:
    try:
        return re.sub(_BYTE, lambda match: bytes.fromhex(match[1].decode()), text[2:-1].encode())
    except UnicodeEncodeError:
        return _TEXT


def _spell_blob(data: bytes) -> str:
    plain = (chr(byte) if 0x20 <= byte < 0x7F and byte not in b"'\\" else f"\\x{byte:02x}" for byte in data)
    return f"b'{''.join(plain)}'"
