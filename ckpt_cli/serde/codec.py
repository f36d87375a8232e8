"""`Codec`: payloads, metadata too, decoded and encoded by type tag; wrong keys, text that isn't UTF-8.

Bad bytes never raise an error when they are decoded.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ckpt_cli.errors import CkptError, KeyMissing, MissingExtra, NotSupported, PayloadCorrupt
from ckpt_cli.model import NULL, Payload
from ckpt_cli.serde import lcjson, msgpack
from ckpt_cli.values.node import Form, Node, Opened, broken, opaque
from ckpt_cli.values.same import same

_AES = "aes"


class Codec:
    """Decodes and encodes payloads; has the AES key, and a cache so that equal bytes are decoded once."""

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key
        self._decoders: dict[str, Callable[[bytes], Any]] = {
            "msgpack": msgpack.Unpacker().value,
            "json": lcjson.decode,
            "pickle": _pickle,
            "null": lambda data: None if not data else opaque("null", data),
            "empty": lambda data: None if not data else opaque("empty", data),
            "bytes": bytes,
            "bytearray": _bytearray,
            "": _untagged,
            "elsewhere": lambda data: broken(data.decode(errors="replace"), data),
            "mongo-pairs": lambda data: _mongodb_metadata().decode(data, self.decode),
            "redis-json": lambda data: _redisjson().decode(data),
        }

    @property
    def has_key(self) -> bool:
        """Whether there is a key, right or wrong."""
        return self._key is not None

    def decode(self, payload: Payload) -> Any:
        """A payload's value; a part that can't be decoded, or the whole value, becomes a BROKEN node.

        Equal bytes are decoded to the same node, so a decoded value must not be changed in place.
        """
        decoder = self._decoders.get(payload.tag)
        if decoder is not None:
            return decoder(payload.data)
        inner, encrypted, cipher = payload.tag.partition("+")
        if encrypted and cipher == _AES:
            try:
                return self.decode(Payload(inner, self._decrypt(payload)))
            except (KeyMissing, MissingExtra) as error:
                return _locked(payload, error)
        half, at, whole = payload.tag.partition("@")
        if at and half in ("checkpoint", "metadata"):  # DynamoDB's saver stores the two as one value
            both = self.decode(Payload(whole, payload.data))
            return both.get(half) if isinstance(both, dict) else both
        return opaque(payload.tag, payload.data)

    def is_whole(self, payload: Payload, *, mapping: bool = False) -> bool:
        """Whether a payload can be read to its end and, with `mapping`, is a mapping.

        This is much faster than decoding the payload. It doesn't check the contents of msgpack's objects.
        """
        value = _PLAIN_DECODERS.get(payload.tag, self.decode)(payload)
        return not _is_broken(value) and (isinstance(value, dict) or not mapping)

    def encode(self, value: Any, like: Payload, *, javascript: bool = False) -> Payload:
        """A value in the encoding of `like`; `like` itself if `like` decodes to the value.

        Only the parts that differ from the value of `like` are encoded anew. As in the library, None and bytes have
        tags of their own. If `javascript`, LangGraph.js must be able to load the value: its JSON and bytes.

        Raises:
            UsageError: that encoding can't express the value.
            KeyMissing: `like` is encrypted and the key is missing or wrong.
            NotSupported: the encoding can't be written (pickle, unknown tags).
        """
        inner, encrypted, cipher = like.tag.partition("+")
        if encrypted and cipher == _AES:
            from ckpt_cli.serde import aes

            plain = Payload(inner, self._decrypt(like))
            coded = self.encode(value, plain, javascript=javascript)
            return like if coded == plain else Payload(f"{coded.tag}+{_AES}", aes.encrypt(coded.data, self._key))
        if javascript and like.tag in ("msgpack", "null", "empty"):
            like = Payload("json", b"null")
        old = self.decode(like)
        if same(value, old):
            return like
        if like.tag == "mongo-pairs":
            return Payload(like.tag, _mongodb_metadata().encode(value, like.data, self.decode, self.encode))
        if isinstance(value, bytes) and like.tag:
            return Payload("bytes", value)
        if like.tag == "redis-json":
            return NULL if value is None else Payload(like.tag, _redisjson().encode(value, old, like.data))
        if like.tag == "json" or (like.tag == "" and like.data[:1] != b"\x80"):
            return Payload(like.tag, _json(value, old, like.data, javascript=javascript))
        if javascript and like.tag in ("bytes", "bytearray"):
            return Payload("json", _json(value, old, b"", javascript=True))
        if like.tag in ("msgpack", "null", "bytes", "bytearray", "empty"):
            return _msgpack(value, old, like)
        raise NotSupported(f"a value stored as {like.tag or 'pickle'} can't be written anew")

    def encode_anew(self, value: Any, like: Payload, nonce: Callable[[bytes], bytes] | None = None) -> Payload:
        """A value in the encoding of `like`, of which no byte is kept.

        If `like` is encrypted, `nonce` gives the nonce for a plaintext; without it, the nonce is random.

        Raises:
            UsageError, KeyMissing, NotSupported: as in `encode`.
        """
        inner, encrypted, cipher = like.tag.partition("+")
        if encrypted and cipher == _AES:
            from ckpt_cli.serde import aes

            coded = self.encode_anew(value, Payload(inner, self._decrypt(like)))
            beginning = nonce(coded.data) if nonce is not None else b""
            return Payload(f"{coded.tag}+{_AES}", aes.encrypt(coded.data, self._key, beginning))
        from ckpt_cli.serde.whole_encoding import encode_whole

        return encode_whole(value, like, self.encode)

    def under_nonce(self, payload: Payload, beginning: bytes) -> Payload:
        """An encrypted payload, encrypted anew under a nonce with this beginning; anybody can read the nonce.

        A payload that isn't encrypted is returned as it is.

        Raises:
            KeyMissing: the key is missing or wrong.
        """
        if not payload.tag.endswith(f"+{_AES}"):
            return payload
        from ckpt_cli.serde import aes

        return payload._replace(data=aes.encrypt(self._decrypt(payload), self._key, beginning))

    def decrypted(self, payload: Payload) -> Payload:
        """A payload without its encryption; one that isn't encrypted is returned as it is.

        Raises:
            KeyMissing: the key is missing or wrong.
        """
        inner, _, cipher = payload.tag.partition("+")
        return Payload(inner, self._decrypt(payload)) if cipher == _AES else payload

    def sealed(self, payload: Payload, place: str) -> Payload:
        """A payload, encrypted; the same payload at the same place always gives the same bytes.

        Raises:
            KeyMissing: there is no key.
        """
        from ckpt_cli.serde import aes

        return Payload(f"{payload.tag}+{_AES}", aes.seal(payload.data, self._key, place))

    def _decrypt(self, payload: Payload) -> bytes:
        from ckpt_cli.serde import aes

        return aes.decrypt(payload.data, self._key)


_PLAIN_DECODERS: dict[str, Callable[[Payload], Any]] = {
    "msgpack": lambda payload: msgpack.decode_plain(payload.data),
    "json": lambda payload: lcjson.decode_plain(payload.data),
    "redis-json": lambda payload: lcjson.decode_plain(payload.data),
}


def _is_broken(value: Any) -> bool:
    return isinstance(value, Node) and value.form is Form.BROKEN


def _json(value: Any, old: Any, data: bytes, *, javascript: bool) -> bytes:
    from ckpt_cli.serde.lcjson_write import JsonWire
    from ckpt_cli.serde.splice import splice

    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise PayloadCorrupt("the JSON stored there is not UTF-8 text, so it can't be edited") from error
    return str(splice(JsonWire(text, javascript=javascript), value, old, text)).encode()


def _msgpack(value: Any, old: Any, like: Payload) -> Payload:
    from ckpt_cli.serde.msgpack_write import MsgpackWire, pack
    from ckpt_cli.serde.splice import splice

    if value is None:
        return NULL
    if isinstance(value, Node) and value.type == "builtins.bytearray" and isinstance(value.state, bytes):
        return Payload("bytearray", value.state)
    packed = splice(MsgpackWire(), value, old, like.data) if like.tag == "msgpack" else pack(value)
    return Payload("msgpack", packed)


def _locked(payload: Payload, error: CkptError) -> Node:
    problem = f"{error.message} ({error.hint})" if error.hint else error.message
    return Node(
        Opened("", "", Form.BROKEN, payload.data, problem=problem, needs_key=True),
        encoding=payload.tag,
        raw=payload.data,
    )


def _mongodb_metadata() -> ModuleType:
    from ckpt_cli.serde import mongodb_metadata

    return mongodb_metadata


def _redisjson() -> ModuleType:
    from ckpt_cli.serde import redisjson

    return redisjson


def _pickle(data: bytes) -> Any:
    from ckpt_cli.serde import inert

    return inert.decode(data)


def _untagged(data: bytes) -> Any:
    return _pickle(data) if data[:1] == b"\x80" else lcjson.decode(data)


def _bytearray(data: bytes) -> Node:
    return Node(Opened("builtins", "bytearray", Form.VALUE, data), encoding="bytearray", raw=data)
