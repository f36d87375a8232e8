"""Encodes a value as a whole, in the encoding of another payload, of which no byte is kept.

`splice` keeps the bytes of what was not edited. These may hold more than the value shows: keys that appear twice, and
bytes behind the end. So a value from which something must be gone is encoded anew.
"""

from collections.abc import Callable
from typing import Any

from ckpt_cli.errors import NotSupported
from ckpt_cli.model import NULL, Payload
from ckpt_cli.values.node import Node


def encode_whole(value: Any, like: Payload, encode: Callable[[Any, Payload], Payload]) -> Payload:
    """A value in the encoding of `like`, which isn't encrypted; `encode` encodes the values of MongoDB's metadata.

    Raises:
        UsageError: the encoding can't express the value.
        NotSupported: the encoding can't be written.
    """
    if like.tag == "mongo-pairs":
        return Payload(like.tag, _mongodb_pairs(value, like.data, encode))
    if isinstance(value, bytes) and like.tag in ("bytes", "msgpack", "redis-json"):
        return Payload("bytes", value)
    if like.tag == "redis-json":
        return NULL if value is None else Payload(like.tag, _redis(value, like.data))
    if like.tag == "json" or (like.tag == "" and like.data[:1] != b"\x80"):
        return Payload(like.tag, _json(value, like.data))
    half, at, whole = like.tag.partition("@")
    if at:
        inner = encode_whole({half: value}, Payload(whole, like.data), encode)
        return Payload(f"{half}@{inner.tag}", inner.data)
    if like.tag in ("msgpack", "null", "bytes", "bytearray", "empty"):
        return _msgpack(value, like)
    raise NotSupported(f"a value stored as {like.tag or 'pickle'} can't be written anew")


def _msgpack(value: Any, like: Payload) -> Payload:
    if value is None:
        return like if like.tag == "empty" and not like.data else NULL
    if isinstance(value, Node) and value.type == "builtins.bytearray" and isinstance(value.state, bytes):
        return Payload("bytearray", value.state)
    return Payload("msgpack", _packed(value))


def _packed(value: Any) -> bytes:
    from ckpt_cli.serde.msgpack_write import pack

    return pack(value)


def _json(value: Any, data: bytes) -> bytes:
    from ckpt_cli.serde.lcjson_write import JsonWire

    return JsonWire(data.decode("utf-8", "replace")).write(value).encode()


def _redis(value: Any, data: bytes) -> bytes:
    from ckpt_cli.serde.redisjson import RedisWire

    return RedisWire(data.decode("utf-8", "replace")).write(value).encode()


def _mongodb_pairs(value: Any, data: bytes, encode: Callable[[Any, Payload], Payload]) -> bytes:
    from ckpt_cli.serde import mongodb_metadata

    return mongodb_metadata.encode_whole(value, data, encode)
