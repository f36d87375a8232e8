"""Converts documents to records and back; values keep their stored bytes.

checkpoint-redis 0.5.2, ``__init__.py: put, put_writes``: a document holds the checkpoint as an object of a JSON dialect
and the metadata as JSON text. A write's value is the serializer's output in base64; up to 0.1 it is plain JSON.
"""

import json
import time
from base64 import b64decode, b64encode
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ckpt_cli.errors import NotSupported
from ckpt_cli.model import LOST, Checkpoint, Payload, Write, WriteKey, in_words, name_of
from ckpt_cli.savers.faults import must_not_be_lost
from ckpt_cli.savers.redis.json_numbers import read_number
from ckpt_cli.savers.redis.keys import from_text, safe_id, safe_ns

TAG = "redis-json"
"""The tag of JSON in the dialect of ``jsonplus_redis.py``; see `serde.redisjson`."""

Document = dict[str, Any]

_NO_SENDS = b',"pending_sends":[]'
_BEFORE_4 = (b'{"type":"json","v":1', b'{"type":"json","v":2', b'{"type":"json","v":3')


def payload(kind: Any, blob: Any) -> Payload:
    """A write's value, decoded from base64 or plain JSON."""
    if not isinstance(blob, str):
        return lost(f"its value is stored as {json_type_name(blob)} where text should be")
    tag = from_text(kind)
    try:
        data = b64decode(blob, validate=True)
        if tag == "json" and blob:
            json.loads(data)
    except (ValueError, RecursionError):  # bad base64, JSON and UTF-8 are ValueErrors
        data = blob.encode("utf-8", "surrogatepass")
    return Payload(TAG if tag == "json" else tag, data)


def lost(problem: str) -> Payload:
    """The payload in place of a value that can't be read; it holds the reason."""
    return Payload(LOST, problem.encode("utf-8", "replace"))


def json_type_name(value: Any) -> str:
    """The JSON type of a value, in words."""
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
    """Whether a write's value is plain JSON, as versions up to 0.1 store it."""
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

    Before format version 4, a step's Sends are stored as writes of the parent. In such a document ``pending_sends`` is
    always empty, and is left out here.
    """
    if not data.startswith(_BEFORE_4):
        return Payload(TAG, data)
    before, separator, after = data.rpartition(_NO_SENDS)
    return Payload(TAG, before + after if separator and b"{" not in after else data)


def metadata(stored: Any) -> Payload:
    """Metadata, stored as JSON text or, in the shallow layout, as an object."""
    text = stored if isinstance(stored, str) else canonical(stored if stored is not None else {})
    return Payload("json", text.encode("utf-8", "surrogatepass"))


def write(fields: Mapping[str, Any], value: Payload | None, size: int) -> Write:
    """A pending write from its document's fields; ``name`` is its `WriteKey`."""
    name: WriteKey = fields["name"]
    channel, path = from_text(fields.get("channel")), from_text(fields.get("path"))
    return Write(*name.ref, name.task_id, name.idx, channel, path, value, size)


def checkpoint_document(record: Checkpoint, old: Document | None, *, has_writes: bool) -> Document:
    """A checkpoint as LangGraph's saver stores it; other fields of the `old` document are kept.

    Raises:
        NotSupported: the checkpoint's channels are stored apart, or it isn't a JSON object.
    """
    must_not_be_lost(record.body, in_words(record.row.ref))
    row, fields = record.row, _json(record.metadata, ("json", TAG), "metadata")
    whole = _json(record.body, (TAG,), "a checkpoint")
    if record.channels is not None or not isinstance(whole, dict) or not isinstance(fields, dict):
        raise NotSupported("Redis keeps a checkpoint whole, as a JSON object")
    document = old or {
        "thread_id": safe_id(row.thread_id),
        "run_id": str(fields.get("run_id") or ""),
        "checkpoint_ns": safe_ns(row.ns),
        "checkpoint_id": safe_id(row.checkpoint_id),
        "parent_checkpoint_id": "",
        "checkpoint_ts": _milliseconds(whole.get("ts")),
    }
    is_full = {"source", "step"} <= fields.keys()
    copied = {"source": fields["source"], "step": fields["step"]} if is_full else {}
    return {
        **document,
        "parent_checkpoint_id": safe_id(row.parent_id) if row.parent_id else "",
        "checkpoint": whole,
        "metadata": record.metadata.data.decode("utf-8", "surrogatepass"),
        "has_writes": has_writes,
        **copied,
    }


def write_document(record: Write, old: Document | None) -> Document:
    """A write as LangGraph's saver stores it."""
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
    """A document as JSON text, always in the same form.

    Raises:
        NotSupported: a number that RedisJSON can't hold.
    """
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError as error:
        raise NotSupported(f"Redis can't hold this: {error}") from error


def parse_json(data: str | bytes) -> Any:
    """Parse a document; integers beyond 64 bits become floats, as in RedisJSON."""
    return json.loads(data, parse_int=_integer)


def _integer(digits: str) -> int | float:
    number = int(digits) if len(digits) < 25 else float(digits)
    return number if -(1 << 63) <= number < 1 << 64 else float(number)


def _json(stored: Payload, tags: tuple[str, ...], what: str) -> Any:
    if stored.tag not in tags:
        raise NotSupported(f"Redis keeps {what} as JSON, not as {stored.tag or 'pickle'}")
    try:
        return json.loads(stored.data, parse_int=_integer, parse_float=read_number)
    except ValueError as error:
        raise NotSupported(f"Redis keeps {what} as JSON, and this isn't JSON: {error}") from error


def _milliseconds(ts: Any) -> float:
    try:
        return round(datetime.fromisoformat(ts).timestamp() * 1000, 3)
    except (TypeError, ValueError):
        return round(time.time() * 1000, 3)
