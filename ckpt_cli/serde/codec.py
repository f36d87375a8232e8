"""`Codec`: the one door between payloads and values; it looks the type tag up and never raises for bad bytes."""

from collections.abc import Callable
from typing import Any

from ckpt_cli.model import Payload
from ckpt_cli.serde import inert, lcjson
from ckpt_cli.serde.msgpack import Unpacker
from ckpt_cli.values.node import Form, Node, Opened, opaque


class Codec:
    """Decodes and encodes payloads; holds the AES key and the cache that decodes equal bytes once."""

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key
        self._decoders: dict[str, Callable[[bytes], Any]] = {
            "msgpack": Unpacker().value,
            "json": lcjson.decode,
            "pickle": inert.decode,
            "null": lambda data: None if not data else opaque("null", data),
            "empty": lambda data: None if not data else opaque("empty", data),
            "bytes": bytes,
            "bytearray": _bytearray,
            "": _untagged,
        }

    def decode(self, payload: Payload) -> Any:
        """A payload's value; what can't be decoded is a BROKEN node, at the top or where it stands.

        Decoded values are shared (equal bytes are the same node), so they are never to be changed in place.
        """
        decoder = self._decoders.get(payload.tag)
        return decoder(payload.data) if decoder else opaque(payload.tag, payload.data)

    def encode(self, value: Any, like: Payload) -> Payload:
        """A value in the encoding of `like`; `like` itself where the value is what `like` decodes to."""
        raise NotImplementedError


def _untagged(data: bytes) -> Any:
    return inert.decode(data) if data[:1] == b"\x80" else lcjson.decode(data)


def _bytearray(data: bytes) -> Node:
    return Node(Opened("builtins", "bytearray", Form.VALUE, data), encoding="bytearray", raw=data)
