"""`RecordRedactor`: checkpoints and writes without what is redacted, encoded as they are stored.

Every payload is decoded and encoded anew, so no byte of it is left that wasn't looked into. Ids, versions, times and
steps, which LangGraph makes itself, stay.
"""

import hashlib
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ckpt_cli.errors import CkptError, KeyMissing, NotSupported, PayloadCorrupt, Refused, UsageError
from ckpt_cli.history.redaction.langgraph_parts import is_metadata_word
from ckpt_cli.history.redaction.masks import MASK
from ckpt_cli.history.redaction.memo import Memo
from ckpt_cli.history.redaction.names import is_own_id, parts_of_names
from ckpt_cli.history.redaction.redactor import Redactor
from ckpt_cli.history.redaction.tally import Place, Tally
from ckpt_cli.layouts import must_be_mapping, named
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Write
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.node import Form, Node

_MEMO = 32 << 20  # bytes of payloads that are remembered, each with its redacted one
_OWN_KEYS = frozenset({"v", "id", "ts"})


class RecordRedactor:
    """Redacts records with one `Redactor`; equal payloads are decoded once."""

    def __init__(self, codec: Codec, redactor: Redactor) -> None:
        self._codec = codec
        self._redactor = redactor
        self._memo = Memo[Payload](_MEMO)

    def start(self, thread_id: str, heads: Callable[[], Iterable[Checkpoint]]) -> str:
        """Begin with a thread, and return its id in the bundle.

        An outline learns the names of channels from the heads: the first input has them as keys.
        """
        self._memo.clear()
        self._redactor.start(thread_id)
        for head in heads() if self._redactor.outline else ():
            body = self._codec.decode(head.body)
            self._learn(body if isinstance(body, dict) else {})
        new = self._redactor.thread_id(thread_id)
        (self._redactor.tally.kept if new == thread_id else self._redactor.tally.replaced)(("names", "thread"))
        return new

    def checkpoint(self, checkpoint: Checkpoint) -> Checkpoint:
        """The checkpoint, redacted.

        Raises:
            Refused: it can't be looked into, and the thread makes no sense without it.
        """
        with _refusing():
            return self._checkpoint(checkpoint)

    def write(self, write: Write) -> Write:
        """The write, redacted.

        Raises:
            Refused: it is encrypted, and the key is missing.
        """
        with _refusing():
            return self._write(write)

    def _checkpoint(self, one: Checkpoint) -> Checkpoint:
        row = one.row
        what = f"checkpoint {row.checkpoint_id}"
        self._must_be_own(row.checkpoint_id, row.parent_id or "")
        body = must_be_mapping(_decoded(self._codec, one.body, what), what)
        self._learn(body)
        new_body = self._anew(self._body(body, one.channels or {}), one.body, what)
        metadata = self._metadata(one, f"the metadata of {what}")
        apart = one.channels
        channels = None if apart is None else {self._name(c): self._apart(c, p) for c, p in apart.items()}
        new_row = CheckpointRow(
            self._redactor.thread_id(row.thread_id), self._name(row.ns), row.checkpoint_id, row.parent_id, row.size
        )
        return Checkpoint(new_row, new_body, metadata, channels)

    def _write(self, write: Write) -> Write:
        self._must_be_own(write.checkpoint_id, write.task_id)
        self._redactor.learn(parts_of_names((write.channel, write.task_path)))
        payload = write.payload
        if payload is not None:
            payload = self._payload(
                payload, f"w{write.channel}", lambda value: self._channel(write.channel, value, ("writes",))
            )
        return write._replace(
            thread_id=self._redactor.thread_id(write.thread_id),
            ns=self._name(write.ns),
            channel=self._name(write.channel),
            task_path=self._name(write.task_path),
            idx=write.idx if isinstance(write.idx, int) else self._redactor.identifier(write.idx),
            payload=payload,
            size=write.size if payload is None else len(payload.data),
        )

    def _must_be_own(self, *ids: str) -> None:
        for one in ids:
            if not is_own_id(one) and (self._redactor.outline or self._redactor.patterns.match(one)):
                raise Refused("an id of a checkpoint or task isn't one that LangGraph makes, and may tell something")

    def _learn(self, body: Mapping[str, Any]) -> None:
        if self._redactor.outline:
            for part in ("channel_values", "channel_versions", "versions_seen"):
                self._redactor.learn(parts_of_names(named(body.get(part))))

    def _body(self, body: Mapping[str, Any], apart: Collection[str]) -> dict[str, Any]:
        """The checkpoint object; its ids, times and versions stay, and the marks of channels stored apart from it."""
        new: dict[str, Any] = {}
        for key, value in body.items():
            place = ("state", key)
            if key in _OWN_KEYS:
                new[key] = value if self._is_own(key, value) else self._redactor.anywhere(value, place)
            elif key == "channel_values":
                values = must_be_mapping(value, key)
                new[key] = {
                    self._name(c): one if one is True and c in apart else self._channel(c, one, ("state",))
                    for c, one in values.items()
                }
            elif key == "channel_versions":
                new[key] = self._versions(value)
            elif key == "versions_seen":
                new[key] = {self._name(node): self._versions(seen) for node, seen in named(value).items()}
            elif key == "updated_channels" and isinstance(value, list):
                new[key] = [self._name(str(one)) for one in value]
            elif key == "pending_sends":
                new[key] = self._sends(value, ("state", "pending_sends"))
            else:
                new[self._name(str(key))] = self._redactor.anywhere(value, place)
        return new

    @staticmethod
    def _is_own(key: str, value: Any) -> bool:
        if key == "v":
            return isinstance(value, int)
        return isinstance(value, str) and (is_own_id(value) if key == "id" else _TIME.issuperset(value))

    def _versions(self, value: Any) -> dict[str, Any]:
        """Versions by channel: numbers, or texts made of numbers."""
        found = {c: one for c, one in named(value).items() if isinstance(one, int | str | float)}
        if any(isinstance(one, str) and not set(one) <= _VERSION for one in found.values()):
            raise Refused("a version of a channel isn't one that LangGraph makes, and may tell something")
        return {self._name(channel): version for channel, version in found.items()}

    def _sends(self, value: Any, place: Place) -> Any:
        """The Sends in a body; checkpoint-postgres 1.0 stored a pair of type tag and base64."""
        if isinstance(value, list) and len(value) == 2 and all(isinstance(part, str) for part in value):
            try:
                old = Payload(value[0], a2b_base64(value[1], strict_mode=True))
            except ValueError:
                return self._redactor.anywhere(value, place)
            new = self._payload(old, "sends", lambda sends: self._decoded_sends(sends, place))
            return [new.tag, b2a_base64(new.data, newline=False).decode()]
        return self._decoded_sends(value, place)

    def _decoded_sends(self, sends: Any, place: Place) -> Any:
        self._redactor.learn_called(sends)
        return self._redactor.anywhere(sends, place)

    def _metadata(self, one: Checkpoint, what: str) -> Payload:
        payload = one.metadata
        if not payload.data and payload.tag in ("", "null", "empty", "json"):
            return payload
        value = _decoded(self._codec, payload, what)
        if value is None:
            return self._anew(None, payload, what)
        return self._anew(self._metadata_of(must_be_mapping(value, what)), payload, what)

    def _metadata_of(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        new: dict[str, Any] = {}
        for key, value in metadata.items():
            own = self._redactor.patterns.text(key, name=True)
            place = ("metadata", own)
            if is_metadata_word(key, value):
                new[key] = value
            elif key == "parents" and all(isinstance(one, str) and is_own_id(one) for one in named(value).values()):
                new[key] = {self._name(ns): one for ns, one in named(value).items()}
            elif key == "writes" and isinstance(value, dict):
                new[key] = {
                    self._name(node): self._node_writes(one, (*place, self._name(node))) for node, one in value.items()
                }
            elif key == "counters_since_delta_snapshot" and isinstance(value, dict):
                new[key] = {self._name(c): self._counters(one, (*place, c)) for c, one in value.items()}
            else:  # an entry that the application gave in its config
                new[own] = self._redactor.entry(key, own, value, ("metadata",))
        return new

    def _counters(self, value: Any, place: Place) -> Any:
        is_own = isinstance(value, list) and all(type(one) is int for one in value)
        return value if is_own else self._redactor.anywhere(value, place)

    def _node_writes(self, value: Any, place: Place) -> Any:
        """What a node wrote, in the metadata of older releases: values by channel."""
        if not isinstance(value, dict):
            return self._redactor.anywhere(value, place)
        return {self._name(str(c)): self._channel(str(c), one, place) for c, one in value.items()}

    def _apart(self, channel: str, payload: Payload) -> Payload:
        return self._payload(payload, f"s{channel}", lambda value: self._channel(channel, value, ("state",)))

    def _channel(self, channel: str, value: Any, place: Place) -> Any:
        return self._redactor.channel(channel, value, place)

    def _name(self, name: str) -> str:
        new = self._redactor.names.name(name)
        if new != name:
            self._redactor.tally.replaced(("names", "nodes, channels, namespaces"))
        return new

    def _payload(self, payload: Payload, kind: str, change: Callable[[Any], Any]) -> Payload:
        """A payload, redacted; `kind` is equal where `change` is."""
        redactor, key = self._redactor, (kind, payload.tag, hashlib.sha256(payload.data).digest())
        known = self._memo.get(key)
        if known is None:
            outer, redactor.tally = redactor.tally, Tally()
            try:
                known = self._new_payload(payload, change), redactor.tally
            finally:
                redactor.tally = outer
            self._memo.put(key, *known, len(known[0].data))
        redactor.tally.add((), known[1])
        return known[0]

    def _new_payload(self, payload: Payload, change: Callable[[Any], Any]) -> Payload:
        if payload.tag in ("null", "empty") and not payload.data:
            return payload
        value = self._codec.decode(payload)
        if isinstance(value, Node) and value.needs_key:
            raise KeyMissing(f"a value is encrypted: {value.problem}", hint="--key-env NAME names the key's variable")
        new = change(value)
        if isinstance(value, Node) and value.form in (Form.OPAQUE, Form.PICKLE, Form.BROKEN):
            return self._codec.encode_anew(MASK, Payload("msgpack", b""))
        try:
            return self._codec.encode_anew(new, payload, self._nonce)
        except (UsageError, NotSupported, RecursionError):
            self._redactor.opaque(("state", "not writable"))
            return self._codec.encode_anew(MASK, Payload("msgpack", b""))

    def _anew(self, value: Any, like: Payload, what: str) -> Payload:
        try:
            return self._codec.encode_anew(value, like, self._nonce)
        except (UsageError, NotSupported, RecursionError) as error:
            reason = error.message if isinstance(error, CkptError) else "it is nested too deep"
            raise Refused(f"{what} can't be redacted: {reason}") from error

    def _nonce(self, plain: bytes) -> bytes:
        """The same nonce for the same plaintext, so that an export that is repeated has the same bytes."""
        return bytes.fromhex(self._redactor.masks.digest("nonce" + hashlib.sha256(plain).hexdigest()))[:16]


_TIME = frozenset("0123456789-:.+TZ ")
_VERSION = frozenset("0123456789abcdefx.-+e")


@contextmanager
def _refusing() -> Iterator[None]:
    """What can't be decoded is refused, for it can't be redacted either."""
    try:
        yield
    except (PayloadCorrupt, NotSupported) as error:
        raise Refused(f"{error.message}, so it can't be redacted", hint=error.hint) from error


def _decoded(codec: Codec, payload: Payload, what: str) -> Any:
    """The value of a payload without which a checkpoint makes no sense.

    Raises:
        Refused: it is a pickle, or a part of it can't be decoded.
    """
    value = codec.decode(payload)
    if isinstance(value, Node) and value.form in (Form.PICKLE, Form.OPAQUE):
        raise Refused(f"{what} is a pickle, or of an unknown kind, so it can't be redacted")
    return value
