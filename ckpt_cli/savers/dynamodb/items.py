"""An item and its payload's item (or S3 object) become a record or an image, and back; compression.

The image is for the operation log. langgraph-checkpoint-aws 1.2.6, ``dynamodb/unified_repository.py``: the item of a
checkpoint or a write refers to another item, or to an S3 object, with its payload. In ckpt the two items are one row.
"""

import gzip
import json
import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from ckpt_cli.model import LOST, Checkpoint, CheckpointRow, Name, Payload, Ref, Row, Write
from ckpt_cli.savers.dynamodb.halves import split

Item = dict[str, Any]
"""Attributes in the service's own form: ``{"PK": {"S": …}, …}``."""

CHECKPOINT, WRITES, CHUNK = "CHECKPOINT_", "WRITES_", "CHUNK_"
CHECKPOINTS, PENDING = "checkpoints", "writes"
"""The relations of rows: one table has two kinds of items that refer to payloads."""

_SMALLEST, _SAVING = (
    1024,
    0.1,
)  # compress only from this many bytes on, and only if it saves this share (``serialization.py: CheckpointSerializer``)

_UNPACKED_LIMIT, _MORE_PER_BYTE = 64 << 20, 100
"""The limit of an unpacked payload in bytes, and how much each packed byte adds to it; gzip can make 1,000 of one."""


class Stored(NamedTuple):
    """An item and the item of its payload.

    Attributes:
        chunk: the payload's item; None if the item is missing, or the payload is in S3.
        from_s3: the payload from S3; None if the S3 object doesn't exist or can't be read.
    """

    base: Item
    chunk: Item | None = None
    from_s3: bytes | None = None

    @property
    def in_s3(self) -> bool:
        """Whether the item's payload is an S3 object."""
        return text(self.base, "ref_loc") == "S3"

    @property
    def payload(self) -> Payload:
        """The payload as the serializer made it, or the reason why it can't be read."""
        raw = self.from_s3 if self.in_s3 else ((self.chunk or {}).get("payload") or {}).get("B")
        if raw is None:
            where = f"S3 object {text(self.base, 'ref_key')}" if self.in_s3 else "another item, which isn't there"
            hint = "; ?s3_bucket= names its bucket" if self.in_s3 else ""
            return Payload(LOST, f"its value is in {where}{hint}".encode())
        return Payload(text(self.base, "type"), unpack(bytes(raw), text(self.base, "compression")))


def keys(name: Name) -> tuple[Item, Item]:
    """The keys of an item and of its payload's item."""
    ref = name if isinstance(name, Ref) else name.ref
    place = f"{ref.thread_id}#{ref.ns}#{ref.checkpoint_id}"
    if isinstance(name, Ref):
        return key(f"{CHECKPOINT}{ref.thread_id}", f"{ref.ns}#{ref.checkpoint_id}"), key(f"{CHUNK}{place}", "CHUNK")
    own = f"{name.task_id}#{name.idx}"
    return key(f"{WRITES}{place}", own), key(f"{CHUNK}{place}#{own}", "CHUNK")


def key(pk: str, sk: str) -> Item:
    """The primary key."""
    return {"PK": {"S": pk}, "SK": {"S": sk}}


def text(item: Mapping[str, Any], name: str) -> str:
    """A text attribute; "" if it is missing."""
    value = item.get(name, {}).get("S")
    return value if isinstance(value, str) else ""


def place(item: Mapping[str, Any]) -> tuple[str, str, str]:
    """Thread, namespace and id from the key of a checkpoint's item; namespaces may have a ``#``, ids have none."""
    ns, _, checkpoint_id = text(item, "SK").rpartition("#")
    return text(item, "PK").removeprefix(CHECKPOINT), ns, checkpoint_id


def row(item: Mapping[str, Any], size: int | None = None) -> CheckpointRow:
    """The skeleton row of a checkpoint's item."""
    return CheckpointRow(*place(item), text(item, "parent_checkpoint_id") or None, size)


def checkpoint(stored: Stored) -> Checkpoint:
    """The whole checkpoint of an item and its payload."""
    whole = stored.payload
    body, metadata = (whole, whole) if whole.tag == LOST else split(*whole)
    return Checkpoint(row(stored.base, len(body.data)), body, metadata)


def write(ref: Ref, stored: Stored, values: int | None) -> Write:
    """The pending write of an item; a payload longer than `values` bytes is left out."""
    item, payload = stored.base, stored.payload
    short = payload if values is None or len(payload.data) <= values else None
    return Write(*ref, *task_of(item), text(item, "channel"), text(item, "task_path"), short, len(payload.data))


def task_of(item: Mapping[str, Any]) -> tuple[str, int | str]:
    """Task and index from the key of a write's item; the attributes with the same values may be damaged."""
    task_id, _, idx = text(item, "SK").rpartition("#")
    return task_id, int(idx) if _INTEGER.fullmatch(idx) else idx


_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")


def is_named(item: Mapping[str, Any]) -> bool:
    """Whether the sort key has both parts of a checkpoint's or a write's name, as in all of LangGraph's items."""
    return "#" in text(item, "SK")


def order(item: Item) -> tuple[str, str, bool, int | str]:
    """The sort key of a write in LangGraph's canonical order; in the order of the items' keys, 10 comes before 2."""
    task_id, idx = task_of(item)
    return text(item, "task_path"), task_id, isinstance(idx, str), idx


def pack(data: bytes, compress: bool) -> tuple[bytes, str]:
    """The bytes to store for a payload, the same in each call, and the name of the compression."""
    if compress and len(data) >= _SMALLEST:
        small = gzip.compress(data, mtime=0)
        if (len(data) - len(small)) / len(data) >= _SAVING:
            return small, "gzip"
    return data, ""


def unpack(data: bytes, compression: str) -> bytes:
    """A payload as the serializer made it; damaged bytes, and bytes that would expand too far, are returned unchanged.

    The limit is `_UNPACKED_LIMIT`, plus `_MORE_PER_BYTE` for each packed byte (gzip can expand one byte to 1,000).
    """
    if compression != "gzip":
        return data
    unpacker = zlib.decompressobj(wbits=31)  # gzip's header and end
    try:
        unpacked = unpacker.decompress(data, _UNPACKED_LIMIT + _MORE_PER_BYTE * len(data))
    except zlib.error:
        return data
    return unpacked if unpacker.eof else data


def image(stored: Stored) -> Row:
    """The row for the operation log: attributes as canonical JSON, and the payload's bytes."""
    chunk = dict(stored.chunk) if stored.chunk is not None else None
    payload = chunk.pop("payload")["B"] if chunk is not None and "B" in chunk.get("payload", {}) else None
    return {"item": _json(stored.base), "chunk": _json(chunk), "payload": None if payload is None else bytes(payload)}


def items_of(row: Row) -> Stored:
    """The items of a row that `image` made."""
    base, chunk = json.loads(cast(str, row["item"]), object_hook=_bytes), json.loads(cast(str, row["chunk"]))
    if chunk is None:
        return Stored(base)
    chunk = json.loads(cast(str, row["chunk"]), object_hook=_bytes)
    return Stored(base, chunk if row["payload"] is None else {**chunk, "payload": {"B": row["payload"]}})


def _json(item: Item | None) -> str:
    return json.dumps(item, sort_keys=True, ensure_ascii=False, default=lambda b: {"$b": b64encode(b).decode()})


def _bytes(part: dict[str, Any]) -> Any:
    return b64decode(part["$b"]) if part.keys() == {"$b"} and isinstance(part["$b"], str) else part
