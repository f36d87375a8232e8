"""Encodes a filter of ``list`` for a saver, as LangGraph's own saver of that database compares metadata.

What the own saver refuses is refused here, with the same kind of error.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from ckpt_cli.errors import FilterRefused
from ckpt_cli.langgraph.encoding import Encoding
from ckpt_cli.model import Payload
from ckpt_cli.savers.selection import FilterKind

Filter = Mapping[str, Any]

_PATH_KEY = re.compile(r"^[a-zA-Z0-9_.-]+$")
"""Keys that checkpoint-sqlite 3.1 puts in a JSON path (``utils.py: _FILTER_PATTERN``)."""


def encode_filter(encoding: Encoding, wanted: Filter) -> Payload | None:
    """The filter for `Selection.metadata`; None for a kind that is compared in Python.

    Raises:
        FilterRefused: LangGraph's own saver refuses a key or a value, too.
        TypeError: the database can't hold a value of this type.
    """
    encode = _ENCODERS.get(encoding.form.filter)
    return None if encode is None else encode(encoding, wanted)


def matches(kind: FilterKind, metadata: Filter, wanted: Filter) -> bool:
    """Whether metadata fits a filter of a kind that is compared in Python."""
    has_keys = kind is not FilterKind.PRESENT or wanted.keys() <= metadata.keys()
    return has_keys and all(metadata.get(key) == value for key, value in wanted.items())


def _contained(_: Encoding, wanted: Filter) -> Payload:
    return Payload("json", json.dumps(wanted).encode())


def _paths(_: Encoding, wanted: Filter) -> Payload:
    scalars = {_path(key): _scalar(value) for key, value in wanted.items()}
    if any(isinstance(value, int) and not -_INTEGERS <= value < _INTEGERS for value in scalars.values()):
        raise FilterRefused("SQLite has no integers of more than 64 bits")
    return Payload("json", json.dumps(scalars).encode())


def _path(key: str) -> str:
    if not _PATH_KEY.match(key):
        hint = "a key has letters, digits, '_', '-', and '.' before a nested key"
        raise FilterRefused(f"invalid filter key: {key!r}", hint=hint)
    return f"$.{key}"


def _scalar(value: Any) -> str | int | float | None:
    """What ``json_extract`` must give (``utils.py: _where_value``)."""
    if value is None or isinstance(value, str | int | float):
        return value
    return json.dumps(value, separators=(",", ":")) if isinstance(value, dict | list) else str(value)


_INTEGERS = 1 << 63


def _fields(encoding: Encoding, wanted: Filter) -> Payload:
    _must_be_fields(wanted)
    return encoding.metadata_payload(dict(wanted))


def _must_be_fields(wanted: Filter) -> None:
    """Check the keys (checkpoint-mongodb 0.5, ``utils.py: _validate_filter``)."""
    for key, value in wanted.items():
        if not isinstance(key, str) or key.startswith("$"):
            raise FilterRefused(f"invalid filter key: {key!r}", hint="operators of MongoDB are not allowed in a filter")
        if isinstance(value, dict):
            _must_be_fields(value)


def _tags(_: Encoding, wanted: Filter) -> Payload:
    fields = {key: _indexed(key, value) for key, value in wanted.items()}
    return Payload("json", json.dumps(fields).encode())


def _indexed(key: str, value: Any) -> Any:
    """The tags, or the step, that an indexed field must have."""
    if key == "step":
        return _step(value)
    if key == "source":
        return [_tag(text) for text in _sources(value)]
    if key in ("thread_id", "run_id"):
        return [_tag(str(value) or _NO_ID)]
    raise FilterRefused(f"unsupported filter key: {key!r}", hint=f"Redis has an index of {', '.join(_INDEXED)} only")


_INDEXED = ("source", "step", "thread_id", "run_id")
_NO_ID = "00000000-0000-0000-0000-000000000000"  # the stored form of an empty id (``util.py: to_storage_safe_id``)


def _step(value: Any) -> Any:
    """The number as redisvl's ``Num`` takes it; None selects any step."""
    if value is not None and not isinstance(value, int | float):
        raise TypeError(f"step must be a number, not {type(value).__name__}")
    if isinstance(value, float) and math.isnan(value):
        raise FilterRefused("step must be a number, not NaN")
    return int(value) if isinstance(value, bool) else value


def _sources(value: Any) -> list[str]:
    """The tags as redisvl's ``Tag`` takes them: one, or several of which one must fit; no tags select any source."""
    if not value:
        return []
    if isinstance(value, list | set | tuple):
        return [str(item) for item in value if item]
    if not isinstance(value, str):
        raise TypeError(f"source must be text or a list of texts, not {type(value).__name__}")
    return [value]


def _tag(text: str) -> str:
    """The text, which a query of the index can hold."""
    if "\x00" in text or (not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)):
        raise FilterRefused(f"Redis's index has no such text: {text!r}")
    return text


def _own(_: Encoding, wanted: Filter) -> Payload:
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    return Payload(*JsonPlusSerializer().dumps_typed(dict(wanted)))


_ENCODERS: Mapping[FilterKind, Callable[[Encoding, Filter], Payload]] = {
    FilterKind.CONTAINED: _contained,
    FilterKind.PATHS: _paths,
    FilterKind.FIELDS: _fields,
    FilterKind.TAGS: _tags,
    FilterKind.OWN: _own,
}
