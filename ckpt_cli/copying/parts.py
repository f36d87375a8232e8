"""The channels of a checkpoint as one payload each, in whichever layout it is; values keep their bytes."""

from collections.abc import Mapping
from math import copysign
from typing import Any

from ckpt_cli.errors import NotSupported
from ckpt_cli.history.state.channels import is_snapshot
from ckpt_cli.layouts import must_be_mapping, named
from ckpt_cli.model import NULL, Checkpoint, Payload, in_words
from ckpt_cli.serde.codec import Codec
from ckpt_cli.serde.msgpack_write import pack
from ckpt_cli.serde.raw_channels import Raw, raw_channels, split_body

_EXACT = 1 << 53  # JSON's whole numbers that every reader keeps
_MSGPACK = Payload("msgpack", b"\xc0")
_EXTENSIONS = {bytes([code]) for code in (*range(0xC7, 0xCA), *range(0xD4, 0xD9))}


class Divided:
    """A checkpoint's object and its channels, one payload each.

    Args:
        stored: the checkpoint.
        codec: decodes it.
        before: the encoded channels of the checkpoint before, which spare most of a walk over growing lists.

    Attributes:
        body: the object; of msgpack without its channels.
        raw: the encoded channels, if the body is msgpack; otherwise None.
    """

    def __init__(self, stored: Checkpoint, codec: Codec, before: Mapping[str, Raw]) -> None:
        self._stored, self._codec = stored, codec
        split = split_body(stored.body, before) if stored.channels is None else None
        self.raw: Mapping[str, Raw] | None
        rest, self.raw = split or (stored.body, None)
        self.body = must_be_mapping(codec.decode(rest), in_words(stored.row.ref))

    def parts(self) -> dict[str, Payload]:
        """Channel to its payload; see `parts_of`."""
        if self.raw is not None:
            return {name: _of_raw(self._stored.body.tag, one) for name, one in self.raw.items()}
        return parts_of(self._stored, self.body, self._codec)


def _of_raw(tag: str, one: Raw) -> Payload:
    return Payload(tag, one if isinstance(one, bytes) else one.encode())


def parts_of(stored: Checkpoint, body: Mapping[str, Any], codec: Codec) -> dict[str, Payload]:
    """Channel to its payload; a channel without a value isn't among them.

    Args:
        stored: the checkpoint.
        body: its body or header, decoded.
        codec: encodes values that Redis stored in its own JSON, and values of a header.

    Raises:
        NotSupported: this body can't be split into its channels.
    """
    apart = stored.channels
    if apart is None and stored.body.tag != "redis-json":
        raw = raw_channels(stored.body)
        if raw is None:
            what = f"{in_words(stored.row.ref)} is stored as {stored.body.tag or 'a pickle'}"
            raise NotSupported(f"{what}: it can't be split into its channels")
        return {name: _of_raw(stored.body.tag, one) for name, one in raw.items()}
    inline = {name: codec.encode(value, like=_MSGPACK) for name, value in named(body.get("channel_values")).items()}
    return {**inline, **{name: payload for name, payload in (apart or {}).items() if payload.tag != "empty"}}


def raw_msgpack(payload: Payload, codec: Codec) -> bytes:
    """A channel's value as msgpack, to be put into a whole body.

    Raises:
        NotSupported: its encoding can't be rewritten.
    """
    if payload.tag == "msgpack":
        return payload.data
    if payload.tag not in ("null", "bytes", "bytearray", "json", "redis-json"):
        raise NotSupported(f"a value stored as {payload.tag or 'a pickle'} can't be written as msgpack")
    return pack(codec.decode(payload))


def payload_of(payload: Payload, codec: Codec) -> Payload:
    """A channel's value as LangGraph's serializer tags it when it stands alone: None and bytes have their own tags."""
    if payload.tag != "msgpack":
        return payload
    kind = payload.data[:1]
    if kind == b"\xc0":
        return NULL
    if kind in (b"\xc4", b"\xc5", b"\xc6") and isinstance(value := codec.decode(payload), bytes):
        return Payload("bytes", value)
    return payload


def is_mark(payload: Payload, codec: Codec) -> bool:
    """Whether a payload is a snapshot of a delta channel; the bytes show that most values aren't."""
    if payload.tag == "msgpack" and payload.data[:1] not in _EXTENSIONS:
        return False
    if payload.tag == "json" and b"delta_snapshot" not in payload.data:  # as LangGraph.js 1.4 names it
        return False
    return is_snapshot(codec.decode(payload))


def inline_values(parts: Mapping[str, Payload], codec: Codec) -> dict[str, Any]:
    """The values that Postgres' and MySQL's savers keep in the header: None, text and numbers that JSON can hold.

    checkpoint-postgres 3.2, ``__init__.py: put``. A number or text that JSON would change is kept beside it, where
    every version of the saver finds it, too.
    """
    simple = {name: codec.decode(one) for name, one in parts.items() if len(one.data) < 64 or not _is_long(one)}
    return {name: value for name, value in simple.items() if _is_exact(value)}


def _is_long(payload: Payload) -> bool:
    """Whether it is a list, a map or an object, from the first byte of msgpack or JSON."""
    first = payload.data[:1]
    if payload.tag == "msgpack":
        return not (0xA0 <= first[0] < 0xC0 or first[0] in (0xD9, 0xDA, 0xDB))
    return first in b"[{"


def _is_exact(value: Any) -> bool:
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, str):
        return "\0" not in value and not any(0xD800 <= ord(char) < 0xE000 for char in value)
    if isinstance(value, int):
        return abs(value) <= _EXACT
    return isinstance(value, float) and (1e-5 < abs(value) < 1e15 or (value == 0 and copysign(1, value) > 0))
