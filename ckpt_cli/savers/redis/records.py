"""Documents as records and back; a value is carried as it is stored.

checkpoint-redis 0.5.2, ``__init__.py: put, put_writes``: the checkpoint object is JSON of a dialect of its own inside
its document, metadata is JSON text, and a write's value is base64 of what the serializer made. Up to 0.1 it is that
JSON itself.
"""

import json
import time
from base64 import b64decode, b64encode
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ckpt_cli.errors import NotSupported
from ckpt_cli.model import LOST, Checkpoint, CheckpointRow, Payload, Write, WriteKey, in_words, name_of
from ckpt_cli.savers.faults import must_not_be_lost
from ckpt_cli.savers.redis.json_numbers import number_as_read
from ckpt_cli.savers.redis.keys import from_text, safe_id, safe_ns

TAG = "redis-json"
"""The tag of JSON in the dialect of ``jsonplus_redis.py``, which `serde.redisjson` describes."""

Document = dict[str, Any]

_NO_SENDS = b',"pending_sends":[]'
_BEFORE_4 = (b'{"type":"json","v":1', b'{"type":"json","v":2', b'{"type":"json","v":3')


def payload(kind: Any, blob: Any) -> Payload:
    """A write's value: base64, or JSON as it is."""
    if not isinstance(blob, str):
        return lost(f"its value is stored as {named_kind(blob)} where text should be")
    tag, told = from_text(kind), blob
    try:
        data = b64decode(told, validate=True)
        if tag == "json" and told:
            json.loads(data)
    except (ValueError, RecursionError):  # of which bad base64, JSON and UTF-8 are
        data = told.encode("utf-8", "surrogatepass")
    return Payload(TAG if tag == "json" else tag, data)


def lost(problem: str) -> Payload:
    """What takes the place of a missing value: why it can't be read."""
    return Payload(LOST, problem.encode("utf-8", "replace"))


def named_kind(value: Any) -> str:
    """What JSON calls the type of a value."""
    kinds = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "text",
        list: "an array",
        dict: "an object",
    }
    return kinds.get(type(value), "null")


def is_old(kind: Any, blob: Any) -> bool:
    """Whether a write's value is JSON as it is, as up to 0.1."""
    if kind != "json" or not isinstance(blob, str):
        return False
    data = payload(kind, blob).data
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return data == blob.encode("utf-8", "surrogatepass")


def body(data: bytes) -> Payload:
    """The checkpoint object of a document.

    Before version 4 a step's Sends are the writes of the parent, and the list that is always empty says nothing.
    """
    if not data.startswith(_BEFORE_4):
        return Payload(TAG, data)
    before, said, after = data.rpartition(_NO_SENDS)
    return Payload(TAG, before + after if said and b"{" not in after else data)


def metadata(stored: Any) -> Payload:
    """Metadata: JSON text, in the shallow layout an object."""
    told = stored if isinstance(stored, str) else canonical(stored if stored is not None else {})
    return Payload("json", told.encode("utf-8", "surrogatepass"))


def write(fields: Mapping[str, Any], value: Payload | None, size: int) -> Write:
    """A pending write of its document's fields, of which ``name`` is its name."""
    name: WriteKey = fields["name"]
    channel, path = from_text(fields.get("channel")), from_text(fields.get("path"))
    return Write(*name.ref, name.task_id, name.idx, channel, path, value, size)


def checkpoint_document(record: Checkpoint, old: Document | None, *, has_writes: bool) -> Document:
    """A checkpoint as the saver stores it; what isn't the record's stays as it was.

    Raises:
        NotSupported: a checkpoint whose channels are kept apart, or one that isn't JSON.
    """
    must_not_be_lost(record.body, in_words(record.row.ref))
    row, told = record.row, _json(record.metadata, ("json", TAG), "metadata")
    whole = _json(record.body, (TAG,), "a checkpoint")
    if record.channels is not None or not isinstance(whole, dict) or not isinstance(told, dict):
        raise NotSupported("Redis keeps a checkpoint whole, as a JSON object")
    named = old or {
        "thread_id": safe_id(row.thread_id),
        "run_id": str(told.get("run_id") or ""),
        "checkpoint_ns": safe_ns(row.ns),
        "checkpoint_id": safe_id(row.checkpoint_id),
        "parent_checkpoint_id": "",
        "checkpoint_ts": _milliseconds(whole.get("ts")),
    }
    stated = {"source": told["source"], "step": told["step"]} if {"source", "step"} <= told.keys() else {}
    return {
        **named,
        "parent_checkpoint_id": safe_id(row.parent_id) if row.parent_id else "",
        "checkpoint": whole,
        "metadata": record.metadata.data.decode("utf-8", "surrogatepass"),
        "has_writes": has_writes,
        **stated,
    }


def write_document(record: Write, old: Document | None) -> Document:
    """A write as the saver stores it."""
    if record.payload is None:
        raise ValueError(f"write {record.idx} of task {record.task_id} has no payload")
    tag = record.payload.tag
    must_not_be_lost(record.payload, in_words(name_of(record)))
    return {
        **(old or {}),
        "thread_id": safe_id(record.thread_id),
        "checkpoint_ns": safe_ns(record.ns),
        "checkpoint_id": safe_id(record.checkpoint_id),
        "task_id": record.task_id,
        "task_path": record.task_path,
        "idx": record.idx,
        "channel": record.channel,
        "type": "json" if tag == TAG else tag,
        "blob": b64encode(record.payload.data).decode(),
    }


def canonical(value: Any) -> str:
    """A document as one text, whoever wrote it.

    Raises:
        NotSupported: a number that RedisJSON can't hold.
    """
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError as error:
        raise NotSupported(f"Redis can't hold this: {error}") from error


def parse_json(data: str | bytes) -> Any:
    """A document's values; numbers beyond 64 bits are what RedisJSON makes of them."""
    return json.loads(data, parse_int=_integer)


def skeleton(found: CheckpointRow, size: int) -> CheckpointRow:
    """A row with the size of its checkpoint."""
    return found._replace(size=size)


def _integer(digits: str) -> int | float:
    number = int(digits) if len(digits) < 25 else float(digits)
    return number if -(1 << 63) <= number < 1 << 64 else float(number)


def _json(kept: Payload, tags: tuple[str, ...], what: str) -> Any:
    if kept.tag not in tags:
        raise NotSupported(f"Redis keeps {what} as JSON, not as {kept.tag or 'pickle'}")
    try:
        return json.loads(kept.data, parse_int=_integer, parse_float=number_as_read)
    except ValueError as error:
        raise NotSupported(f"Redis keeps {what} as JSON, and this is none: {error}") from error


def _milliseconds(ts: Any) -> float:
    try:
        return round(datetime.fromisoformat(ts).timestamp() * 1000, 3)
    except (TypeError, ValueError):
        return round(time.time() * 1000, 3)
