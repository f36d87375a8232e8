"""An agent's live objects to records and back, as each backend keeps them (Redis, DynamoDB, encrypted).

The agent's serializer encodes each value.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    CheckpointMetadata,
    get_checkpoint_metadata,
    get_serializable_checkpoint_metadata,
)
from langgraph.checkpoint.base import Checkpoint as Live
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from ckpt_cli.errors import NotSupported
from ckpt_cli.langgraph import redis_json
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload
from ckpt_cli.savers.about import RecordFormat
from ckpt_cli.serde import mongodb_metadata, redisjson
from ckpt_cli.serde.codec import Codec

_EMPTY = Payload("empty", b"")
_MSGPACK = Payload("msgpack", b"\xc0")
_PLAIN = JsonPlusSerializer()
_HALVES = ("checkpoint", "metadata")
_NOT_JSON = (type(None), bytes, bytearray)


class Encoding(NamedTuple):
    """Encodes and decodes records as one database keeps them; an agent's serializer encodes each value."""

    form: RecordFormat
    serde: SerializerProtocol

    def check_serializer(self) -> None:
        """Check that the database can keep what the serializer makes.

        Raises:
            NotSupported: the serializer encrypts, but this kind of database keeps checkpoints as JSON.
        """
        if self.form.body not in ("", "json") and isinstance(self.serde, EncryptedSerializer):
            raise NotSupported("this database keeps checkpoints as JSON of its own: they can't be encrypted")

    def payload(self, value: Any) -> Payload:
        """A value, serialized; on Redis as JSON if JSON can hold it, unless the agent has a serializer of its own."""
        if self.form.body == redisjson.TAG and type(self.serde) is JsonPlusSerializer and type(value) not in _NOT_JSON:
            payload = redis_json.encode(value)
            if payload is not None:
                return payload
        tag, data = self.serde.dumps_typed(value)
        return Payload(tag, bytes(data))

    def value(self, payload: Payload) -> Any:
        """A payload's value; if the serializer doesn't know the encoding, the payload is converted first."""
        if payload.tag == redisjson.TAG:
            return redis_json.SERIALIZER.loads_typed((payload.tag, payload.data))
        half, is_half, tag = payload.tag.partition("@")
        if is_half and half in _HALVES:
            return self.serde.loads_typed((tag, payload.data))[half]
        try:
            return self.serde.loads_typed((payload.tag, payload.data))
        except NotImplementedError:
            codec = Codec()
            recoded = codec.encode(codec.decode(payload), like=_MSGPACK)
            return self.serde.loads_typed((recoded.tag, recoded.data))

    def metadata(self, payload: Payload) -> CheckpointMetadata:
        """Metadata as the database's own saver returns it."""
        if payload.tag in ("json", ""):
            return cast(CheckpointMetadata, json.loads(payload.data or b"{}"))
        if payload.tag == mongodb_metadata.TAG:
            return cast(CheckpointMetadata, mongodb_metadata.decode(payload.data, self.value))
        return cast(CheckpointMetadata, self.value(payload) or {})

    def body(self, stored: Checkpoint) -> Live:
        """The checkpoint object with the values of all its channels (checkpoint-postgres 3.2, ``_load_blobs``)."""
        body: dict[str, Any] = {**self.value(stored.body)}
        apart = {c: self.value(p) for c, p in (stored.channels or {}).items() if p.tag != "empty"}
        body["channel_values"] = {**(body.get("channel_values") or {}), **apart}
        return cast(Live, body)

    def checkpoint(
        self,
        row: CheckpointRow,
        live: Live,
        metadata: CheckpointMetadata,
        config: RunnableConfig,
        new_versions: ChannelVersions,
    ) -> Checkpoint:
        """The record of a checkpoint; if channels are stored apart, it holds only channels with new versions.

        The record equals the one that ``put`` of checkpoint-sqlite 3.1, checkpoint-postgres 3.2 and checkpoint 4.3's
        InMemorySaver writes.
        """
        full = self._full_metadata(config, metadata)
        if self.form.metadata == "msgpack":
            return Checkpoint(row, *self._halves(live, full))
        metadata_payload = self.metadata_payload(full)
        if not self.form.apart:
            return Checkpoint(row, self._body(live), metadata_payload)
        values = live["channel_values"]
        inline = {c: value for c, value in values.items() if self._is_inline(value)}
        marks = {c: True for c, value in values.items() if self._leaves_mark(value)}
        apart = {c: self._channel(c, values) for c in new_versions if c not in inline and self._has_payload(c, values)}
        header = {**live, "channel_values": inline | marks} if self.form.inline else _without(live, "channel_values")
        return Checkpoint(row, self._header(header), metadata_payload, apart)

    def _full_metadata(self, config: RunnableConfig, metadata: CheckpointMetadata) -> dict[str, Any]:
        """Metadata, and what the config adds to it.

        langgraph-checkpoint-aws 1.2, ``dynamodb/saver.py: put`` adds only ``config["metadata"]``, and only if that is a
        dict (LangGraph's own loop passes another mapping). checkpoint-redis 0.5.2, ``__init__.py: put`` adds nothing.
        """
        if self.form.metadata == "msgpack":
            own = config.get("metadata")
            return {**metadata, **(own if isinstance(own, dict) else {})}
        if self.form.body == redisjson.TAG:
            return dict(metadata)
        merge = get_serializable_checkpoint_metadata if self.form.apart else get_checkpoint_metadata
        return dict(merge(config, metadata))

    def _halves(self, live: Live, metadata: dict[str, Any]) -> tuple[Payload, Payload]:
        """Checkpoint and metadata for DynamoDB, whose saver stores both as one value.

        A value that isn't plain msgpack (but encrypted, for example) can't be split. Then each payload holds the whole
        value.

        langgraph-checkpoint-aws 1.2, ``dynamodb/unified_repository.py: put_checkpoint``.
        """
        first, second = self.payload(live), self.payload(metadata)
        if first.tag == second.tag == "msgpack":
            return first, second
        tag, data = self.serde.dumps_typed(dict(zip(_HALVES, (live, metadata), strict=True)))
        first, second = (Payload(f"{half}@{tag}", bytes(data)) for half in _HALVES)
        return first, second

    def _is_inline(self, value: Any) -> bool:
        return self.form.inline and (value is None or isinstance(value, str | int | float))

    def _leaves_mark(self, value: Any) -> bool:
        return self.form.marks_snapshots and isinstance(value, _DeltaSnapshot)

    def _has_payload(self, channel: str, values: Mapping[str, Any]) -> bool:
        """Whether a channel's new version gets a payload: if the channel has a value, or if no values are inline."""
        return channel in values or not self.form.inline

    def _channel(self, channel: str, values: Mapping[str, Any]) -> Payload:
        return self.payload(values[channel]) if channel in values else _EMPTY

    def _header(self, header: Mapping[str, Any]) -> Payload:
        if self.form.body == "json":
            return Payload("json", json.dumps(header).encode())
        return self._body(header)

    def _body(self, value: Any) -> Payload:
        return self._in_dialect(value, self.form.body) if self.form.body else self.payload(value)

    def metadata_payload(self, value: dict[str, Any]) -> Payload:
        """Metadata as the database keeps it."""
        if self.form.body == redisjson.TAG:
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            return Payload("json", text.replace("\\u0000", "").encode())  # checkpoint-redis 0.5.2, ``_dump_metadata``
        if self.form.metadata == "json":
            text = json.dumps(value, ensure_ascii=self.form.apart)  # as each database's own saver
            return Payload("json", text.encode("utf-8", "ignore"))
        if self.form.metadata == mongodb_metadata.TAG:
            return Payload(
                mongodb_metadata.TAG,
                mongodb_metadata.encode(value, b"", self.value, lambda leaf, _: self.payload(leaf)),
            )
        return self._in_dialect(value, self.form.metadata)

    def _in_dialect(self, value: Any, tag: str) -> Payload:
        """A value in an encoding that only this kind of database uses."""
        if tag == redisjson.TAG:
            payload = redis_json.encode(value)
            if payload is not None:
                return payload
        neutral, codec = Payload(*_PLAIN.dumps_typed(value)), Codec()
        return codec.encode(codec.decode(neutral), like=Payload(tag, b"null"))


def _without(mapping: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in mapping.items() if name != key}
