"""Documents as records and back: nothing in a value is decoded, and what isn't LangGraph's stays in its document.

checkpoint-mongodb 0.5.1, ``saver.py: put, put_writes``; LangGraph.js keeps metadata as one value of the checkpoint's
own type.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from datetime import UTC
from typing import Any

import bson
from bson import json_util
from bson.binary import Binary
from bson.decimal128 import Decimal128

from ckpt_cli.errors import NotSupported
from ckpt_cli.model import NULL, Checkpoint, CheckpointRow, Payload, Record, Ref, Row, Write, WriteKey
from ckpt_cli.savers.spelling import raw_of, text_of

Document = dict[str, Any]

METADATA = "mongo-pairs"
"""The tag of metadata that is a document; `serde.pairs` describes its form."""

_ODD = "bson"
_TYPED = json_util.JSONOptions(tz_aware=True, tzinfo=UTC)
_SCALARS = frozenset({int, float, bytes, type(None)})


def row(thread_id: str, found: Mapping[str, Any]) -> CheckpointRow:
    """A skeleton row."""
    parent = found.get("parent_checkpoint_id")
    parent_id = None if parent is None or parent == "" else name_of(parent)
    return CheckpointRow(*ref_of(thread_id, found), parent_id, found.get("size"))


def checkpoint(thread_id: str, found: Mapping[str, Any]) -> Checkpoint:
    """A checkpoint with its payloads."""
    body = payload(found.get("type"), found.get("checkpoint"))
    return Checkpoint(row(thread_id, {**found, "size": len(body.data)}), body, metadata(found))


def metadata(found: Mapping[str, Any]) -> Payload:
    """A checkpoint's metadata: the canonical JSON of a document of pairs, or one value."""
    kept = found.get("metadata")
    if isinstance(kept, Mapping):
        return Payload(METADATA, json.dumps(_plain(kept)).encode())
    return NULL if kept is None else payload(found.get("type"), kept)


def write(thread_id: str, found: Mapping[str, Any], *, read: bool) -> Write:
    """A pending write; `read` is whether its value was asked for."""
    value = _bytes(found.get("value"))
    size = int(found["size"] or 0) if "size" in found else len(value)
    here = size == 0 or (read and found.get("value") is not None)
    told = (name_of(found.get("task_id")), index_of(found.get("idx")), name_of(found.get("channel")))
    path = _text(found.get("task_path"))
    return Write(
        *ref_of(thread_id, found), *told, path, Payload(_text(found.get("type")), value) if here else None, size
    )


def payload(tag: Any, data: Any) -> Payload:
    """A value as stored."""
    return Payload(_text(tag), _bytes(data))


def place(name: Ref | WriteKey, thread_id: Any) -> Document:
    """The fields that name a document; they are a unique index."""
    ref = name if isinstance(name, Ref) else name.ref
    key = {"thread_id": thread_id, "checkpoint_ns": stored(ref.ns), "checkpoint_id": stored(ref.checkpoint_id)}
    if isinstance(name, Ref):
        return key
    return {**key, "task_id": stored(name.task_id), "idx": stored(name.idx) if isinstance(name.idx, str) else name.idx}


def fields(record: Record, *, task_paths: bool) -> Document:
    """What a document holds of a record, beside what names it.

    Raises:
        NotSupported: a checkpoint whose channels are kept apart, or metadata that is no document.
    """
    if isinstance(record, Write):
        if record.payload is None:
            raise ValueError(f"write {record.idx} of task {record.task_id} has no payload")
        path = {"task_path": record.task_path} if task_paths or record.task_path else {}
        return {**path, "channel": stored(record.channel), "type": record.payload.tag, "value": record.payload.data}
    if record.channels is not None:
        raise NotSupported("MongoDB keeps a checkpoint whole, not channel by channel")
    parent = None if record.row.parent_id is None else stored(record.row.parent_id)
    told = {"parent_checkpoint_id": parent, "type": record.body.tag, "checkpoint": record.body.data}
    return {**told, "metadata": _stored(record.metadata, record.body.tag)}


def _stored(kept: Payload, tag: str) -> Any:
    if kept.tag == METADATA:
        return _document(json.loads(kept.data or b"{}"))
    if kept == NULL:
        return None
    if kept.tag != tag:
        raise NotSupported(f"MongoDB keeps metadata as a document, not as {kept.tag or 'pickle'}")
    return kept.data


def _plain(value: Any) -> Any:
    """JSON of metadata: dicts as they are, ``[tag, base64]`` for a pair, ``[base64]`` for bytes without a tag."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, bytes):
        return [b64encode(value).decode()]
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], bytes):
        return [value[0], b64encode(value[1]).decode()]
    return [_ODD, b64encode(bson.encode({"": value})).decode()]


def _document(plain: Any) -> Any:
    if isinstance(plain, dict):
        return {key: _document(item) for key, item in plain.items()}
    data = b64decode(plain[-1])
    if len(plain) == 1:
        return data
    return bson.decode(data)[""] if plain[0] == _ODD else [plain[0], data]


def _bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    return bytes(value) if isinstance(value, bytes | Binary) else b""


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else name_of(value)


def ref_of(thread_id: str, found: Mapping[str, Any]) -> Ref:
    """The name of the checkpoint that a document is, or is a write of."""
    return Ref(thread_id, name_of(found.get("checkpoint_ns")), name_of(found.get("checkpoint_id")))


def name_of(value: Any) -> str:
    """A field that names something as text; what is missing is called as null is, for a filter finds both."""
    if value is None or isinstance(value, str | bytes | float | bool):
        return text_of(value)
    if isinstance(value, int):
        return text_of(int(value))
    return text_of(json.loads(json_util.dumps(value, json_options=json_util.CANONICAL_JSON_OPTIONS)))


def is_number(value: Any) -> bool:
    """Whether a field holds what MongoDB calls a number."""
    return isinstance(value, int | float | Decimal128) and not isinstance(value, bool)


def thread_name(raw: Any) -> str:
    """A thread by its id as it is stored, which some programs did as a number."""
    return str(raw) if is_number(raw) and str(raw)[-1].isdecimal() else name_of(raw)


def thread_of(document: Mapping[str, Any]) -> str:
    """The thread that a document belongs to."""
    return thread_name(document.get("thread_id"))


def index_of(value: Any) -> int | str:
    """A write's position, and text for what is none."""
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else name_of(value)


def stored(name: str) -> Any:
    """What a document has in the field of that name."""
    raw = raw_of(name)
    return json_util.loads(json.dumps(raw), json_options=_TYPED) if isinstance(raw, dict | list) else raw


def key_row(place: Mapping[str, Any]) -> Row:
    """The fields that name a document as the operation log keeps them: scalars as they are, all else by name."""
    return {field: value if type(value) in _SCALARS else name_of(value) for field, value in place.items()}


def filtered(key: Row) -> Document:
    """The filter that finds the document of a key."""
    return {field: stored(value) if isinstance(value, str) else value for field, value in key.items()}
