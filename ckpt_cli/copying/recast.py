"""`Recast`: a record of one database as the saver of another writes it; values keep their bytes."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from ckpt_cli.copying import javascript_records as js
from ckpt_cli.copying.gone_values import GoneValues
from ckpt_cli.copying.one_spelling import OneSpelling
from ckpt_cli.copying.parts import Divided, inline_values, is_mark, payload_of, raw_msgpack
from ckpt_cli.copying.payload_changes import ChangedRecords
from ckpt_cli.copying.redis_losses import find_loss
from ckpt_cli.copying.version_map import VersionMap
from ckpt_cli.errors import NotSupported
from ckpt_cli.history.state.channels import ERROR
from ckpt_cli.layouts import must_have_metadata
from ckpt_cli.model import NULL, Checkpoint, Payload, Write, in_words
from ckpt_cli.savers.about import RecordFormat
from ckpt_cli.serde import mongodb_metadata
from ckpt_cli.serde.codec import Codec
from ckpt_cli.serde.lcjson_write import JsonWire
from ckpt_cli.serde.mongodb_metadata import has_encrypted
from ckpt_cli.serde.msgpack_write import MsgpackWire, pack
from ckpt_cli.serde.raw_channels import Raw
from ckpt_cli.serde.redisjson import TAG as REDIS

_FIRST = ("v", "ts", "id", "channel_values", "channel_versions", "versions_seen")
_KEYS = "--decrypt, or --encrypt-key-env NAME, copies it to any database"


class Recast:
    """Records of one thread in the format of another database.

    Args:
        codec: decodes and encodes payloads.
        source: how the records were written.
        target: how the other database's saver writes records.
        changes: what is done to payloads before and after.
        javascript: whether LangGraph.js wrote the thread.

    Attributes:
        left_out: the channels that LangGraph.js' saver for the target doesn't store, of all checkpoints so far.
        gone: the channels that have a version and no value.
    """

    def __init__(
        self,
        codec: Codec,
        source: RecordFormat,
        target: RecordFormat,
        changes: ChangedRecords | None = None,
        *,
        javascript: bool = False,
    ) -> None:
        self._codec, self._target, self._changes = codec, target, changes
        self._from_apart = source.apart
        self._javascript = javascript and js.keeps_javascript(target)
        counts_anew = source.versions != target.versions and not self._javascript
        self._versions = VersionMap(target.versions) if counts_anew else None
        self.left_out: set[str] = set()
        self.gone = GoneValues()
        self._json = JsonWire("")
        self._spelling = OneSpelling(codec.decode)
        self._before: dict[str, Mapping[str, Raw]] = {}  # namespace to the encoded channels of the last checkpoint

    @property
    def needs_parents(self) -> bool:
        """Whether what becomes of a checkpoint may follow from its parent; see `GoneValues`."""
        return self._target.apart and not self._from_apart

    @property
    def needs_ancestors(self) -> bool:
        """Whether a checkpoint's versions follow from those of its ancestors, so that each must be given."""
        return self._versions is not None

    def checkpoint(self, stored: Checkpoint) -> Checkpoint:
        """A checkpoint in the target's format; parents must come before their children.

        Raises:
            NotSupported: the target's format has no place for it.
            UsageError, PayloadCorrupt, KeyMissing: a part can't be encoded or decoded.
        """
        if self._changes is None:
            return self._recast(stored)
        return self._changes.sealed_checkpoint(self._recast(self._changes.opened_checkpoint(stored)))

    def _recast(self, stored: Checkpoint) -> Checkpoint:
        metadata = self._metadata(stored)
        if self._versions is None and self._fits(stored):
            return stored._replace(metadata=metadata)
        words = in_words(stored.row.ref)
        if any("+" in one.tag for one in (stored.body, *(stored.channels or {}).values())):
            raise NotSupported(f"{words} is encrypted, and would have to be encrypted anew", hint=_KEYS)
        divided = Divided(stored, self._codec, self._before.get(stored.row.ns, {}))
        self._before[stored.row.ns] = divided.raw or {}
        body: Mapping[str, Any] = divided.body
        if self._versions is not None:
            body = self._versions.body(stored.row, body)
        if self._javascript:
            return self._by_javascript(stored, divided, metadata)
        if divided.raw is None and self._fits(stored):
            return stored._replace(body=self._codec.encode(body, like=stored.body), metadata=metadata)
        if self._target.apart:
            return self._apart(stored, divided, body, metadata)
        return stored._replace(body=self._whole(divided, body), metadata=metadata, channels=None)

    def _by_javascript(self, stored: Checkpoint, divided: Divided, metadata: Payload) -> Checkpoint:
        body, parts = _rest(divided.body), divided.parts()
        if not self._target.apart:
            whole = js.whole_json(body, parts, in_words(stored.row.ref))
            return stored._replace(body=whole, metadata=metadata, channels=None)
        own = js.versioned(body, parts)
        self.left_out |= parts.keys() - own.keys()
        own = self._spelling.of(stored.row.ns, body, own)
        lasting = [name for name, one in own.items() if not is_mark(one, self._codec)]
        header = self._with_gone_values(stored, body, parts, lasting)
        return Checkpoint(stored.row, js.header_json(header), metadata, own)

    def write(self, stored: Write) -> Write:
        """A write in the target's format."""
        if self._changes is None:
            return self._recast_write(stored)
        return self._changes.sealed_write(self._recast_write(self._changes.opened_write(stored)))

    def _recast_write(self, stored: Write) -> Write:
        if self._javascript and self._target.apart:
            js.must_have_place(stored)
        payload = stored.payload
        if payload is None or payload.tag != REDIS or self._target.body == REDIS:
            return stored
        if stored.channel == ERROR:  # Redis' saver stores an exception's attributes, of which no other saver makes one
            return stored._replace(payload=Payload("json", payload.data))
        value = self._codec.encode(self._codec.decode(payload), like=NULL)
        return stored._replace(payload=value, size=len(value.data))

    def _fits(self, stored: Checkpoint) -> bool:
        """Whether the target's saver stores a body and channels in this way."""
        tag, wanted = stored.body.tag, self._target.body
        if (stored.channels is not None) != self._target.apart:
            return False
        return tag == wanted if wanted else tag not in (REDIS, "") and "@" not in tag

    def _metadata(self, stored: Checkpoint) -> Payload:
        compact = self._javascript and self._target.metadata == "json" and not self._target.apart
        if stored.metadata.tag == self._target.metadata and not (compact and stored.channels is not None):
            return stored.metadata
        if _is_encrypted(stored.metadata):
            raise NotSupported(f"the metadata of {in_words(stored.row.ref)} is encrypted", hint=_KEYS)
        value = must_have_metadata(self._codec.decode(stored.metadata), stored.row.ref)
        if compact:
            return js.compact_metadata(value)
        return self._codec.encode(value, like=Payload(self._target.metadata, _EMPTY[self._target.metadata]))

    def _whole(self, divided: Divided, body: Mapping[str, Any]) -> Payload:
        """The body with all its channels."""
        rest, own = _rest(body), divided.parts()
        if self._target.body == REDIS:
            values = {name: self._codec.decode(one) for name, one in own.items()}
            _must_be_kept_by_redis(values)
            whole = {"type": "json", **_ordered({**rest, "channel_values": values}), "pending_sends": []}
            return self._codec.encode(whole, like=Payload(REDIS, b"null"))
        wire = MsgpackWire()
        joined = wire.join_map([(pack(name), raw_msgpack(payload, self._codec)) for name, payload in own.items()])
        keys = _ordered({**rest, "channel_values": None}).items()
        pairs = [(pack(key), joined if key == "channel_values" else pack(value)) for key, value in keys]
        return Payload("msgpack", wire.join_map(pairs))

    def _apart(self, stored: Checkpoint, divided: Divided, body: Mapping[str, Any], metadata: Payload) -> Checkpoint:
        """A header, and the other channels beside it."""
        own = divided.parts()
        inline = inline_values(own, self._codec) if self._target.inline else {}
        apart = {name: payload_of(payload, self._codec) for name, payload in own.items() if name not in inline}
        apart = self._spelling.of(stored.row.ns, body, apart)
        marks = {name: True for name, one in apart.items() if is_mark(one, self._codec)}
        lasting = [name for name in apart if name not in marks]
        marks = marks if self._target.marks_snapshots else {}
        values = {"channel_values": inline | marks} if self._target.inline else {}
        body = self._with_gone_values(stored, body, own, lasting)
        header = self._json.write(_ordered({**_rest(body), **values})).encode()
        return Checkpoint(stored.row, Payload("json", header), metadata, apart)

    def _with_gone_values(
        self, stored: Checkpoint, body: Mapping[str, Any], own: Collection[str], lasting: Collection[str]
    ) -> Mapping[str, Any]:
        if self._from_apart:  # there no value is gone without its version
            return body
        return self.gone.body(stored.row.ns, body, own, lasting, in_words(stored.row.ref))


_EMPTY = {"json": b"{}", "msgpack": b"\x80", "mongo-pairs": json.dumps({}).encode()}


def _must_be_kept_by_redis(values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        if loss := find_loss(value):
            raise NotSupported(f"the target's saver would read {loss}, in channel {name!r}, as something else")


def _is_encrypted(metadata: Payload) -> bool:
    return "+" in metadata.tag or (metadata.tag == mongodb_metadata.TAG and has_encrypted(metadata.data))


def _rest(body: Mapping[str, Any]) -> dict[str, Any]:
    """A checkpoint object without its channels; older formats' Sends are read from the writes of the parent."""
    left = {"channel_values", "pending_sends", *(["type"] if body.get("type") == "json" else [])}
    return {key: value for key, value in body.items() if key not in left}


def _ordered(body: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a checkpoint object in the order in which LangGraph writes them."""
    return {key: body[key] for key in (*(key for key in _FIRST if key in body), *(k for k in body if k not in _FIRST))}
