"""MongoDB's metadata: a document of dicts, whose other values are pairs of type tag and bytes.

checkpoint-mongodb 0.5.1 ``utils.py: dumps_metadata``; up to 0.1 a value is JSON bytes without a tag. ckpt's MongoDB
saver gives the document as JSON: a dict is an object, a pair ``[tag, base64]``, untagged bytes ``[base64]``.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any

from ckpt_cli.errors import NotSupported, UsageError
from ckpt_cli.model import Payload
from ckpt_cli.values.node import broken
from ckpt_cli.values.same import same

TAG = "mongo-pairs"

_NEW = Payload("bytes", b"")
"""The pattern for new values if the metadata has no other value: msgpack, ``null`` or ``bytes``, as checkpoint 4.3."""


def decode(data: bytes, value: Callable[[Payload], Any]) -> Any:
    """The values of metadata; `value` decodes one payload."""
    try:
        document = json.loads(data or b"{}") or {}
    except ValueError as error:
        return broken(str(error), data)
    return _values(document, value)


def encode(
    values: Any, like: bytes, value: Callable[[Payload], Any], encoded: Callable[[Any, Payload], Payload]
) -> bytes:
    """The bytes of metadata; values that `like` has keep their bytes, new ones like the other values of `like`.

    Raises:
        UsageError: a key isn't text.
    """
    old = json.loads(like or b"{}") or {}
    return json.dumps(_document(values, old, next(_leaves(old), _NEW), value, encoded)).encode()


def encode_whole(values: Any, like: bytes, encoded: Callable[[Any, Payload], Payload]) -> bytes:
    """The bytes of metadata whose values are all encoded anew, like those of `like`.

    Raises:
        UsageError: a key isn't text.
        NotSupported: a value of `like` is encrypted.
    """
    pattern = next(_leaves(json.loads(like or b"{}") or {}), _NEW)
    if "+" in pattern.tag:
        raise NotSupported("encrypted metadata of MongoDB can't be written anew")
    empty = _NEW if pattern.tag else Payload("", b"null")
    return json.dumps(_document(values, None, empty, lambda _: None, encoded)).encode()


def with_payloads(data: bytes, change: Callable[[Payload], Payload]) -> bytes:
    """The bytes of metadata whose payloads are changed; the same object if none is."""
    old = json.loads(data or b"{}") or {}
    new = _changed(old, change)
    return data if new == old else json.dumps(new).encode()


def has_encrypted(data: bytes) -> bool:
    """Whether a value of metadata is encrypted."""
    return any("+" in one.tag for one in _leaves(json.loads(data or b"{}") or {}))


def _changed(part: Any, change: Callable[[Payload], Payload]) -> Any:
    if isinstance(part, dict):
        return {key: _changed(item, change) for key, item in part.items()}
    return _leaf(change(_payload(part)))


def _values(part: Any, value: Callable[[Payload], Any]) -> Any:
    if isinstance(part, dict):
        return {key: _values(item, value) for key, item in part.items()}
    return value(_payload(part))


def _document(
    new: Any, old: Any, pattern: Payload, value: Callable[[Payload], Any], encoded: Callable[[Any, Payload], Payload]
) -> Any:
    if isinstance(new, Mapping):
        if not all(isinstance(key, str) for key in new):
            raise UsageError("MongoDB's metadata has text keys only")
        known = old if isinstance(old, dict) else {}
        return {key: _document(item, known.get(key), pattern, value, encoded) for key, item in new.items()}
    if old is not None and not isinstance(old, dict):
        pattern = _payload(old)
        if same(value(pattern), new):
            return old
    return _leaf(encoded(new, pattern))


def _payload(leaf: list[str]) -> Payload:
    return Payload(leaf[0] if len(leaf) == 2 else "", b64decode(leaf[-1]))


def _leaf(payload: Payload) -> list[str]:
    data = b64encode(payload.data).decode()
    return [payload.tag, data] if payload.tag else [data]


def _leaves(part: Any) -> Any:
    """The payloads that show how values are encoded: all but those with the tags of special values."""
    if isinstance(part, dict):
        for item in part.values():
            yield from _leaves(item)
    elif len(part) == 1 or part[0] not in ("null", "bytes", "bytearray"):
        yield _payload(part)
