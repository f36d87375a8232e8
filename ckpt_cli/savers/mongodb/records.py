"""Converts documents to records and back; values stay encoded.

checkpoint-mongodb 0.5.1, ``saver.py: put, put_writes``; LangGraph.js stores metadata as one value with the type tag of
the checkpoint.
"""

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from datetime import UTC
from typing import Any

import bson
from bson import json_util
from bson.binary import Binary
from bson.decimal128 import Decimal128
from bson.regex import Regex

from ckpt_cli.errors import NotSupported
from ckpt_cli.model import NULL, Checkpoint, CheckpointRow, Payload, Record, Ref, Row, Write, WriteKey
from ckpt_cli.savers.spelling import raw_of, text_of

Document = dict[str, Any]

METADATA = "mongo-pairs"
"""The tag of metadata that is a document; see `serde.mongodb_metadata`."""

_ODD = "bson"
_TYPED = json_util.JSONOptions(tz_aware=True, tzinfo=UTC)
_SCALARS = frozenset({int, float, bytes, type(None)})


def row(thread_id: str, document: Mapping[str, Any]) -> CheckpointRow:
    """The skeleton row of a checkpoint's document."""
    parent = document.get("parent_checkpoint_id")
    parent_id = None if parent is None or parent == "" else name_of(parent)
    return CheckpointRow(*ref_of(thread_id, document), parent_id, document.get("size"))


def checkpoint(thread_id: str, document: Mapping[str, Any]) -> Checkpoint:
    """The whole checkpoint of a document."""
    body = payload(document.get("type"), document.get("checkpoint"))
    return Checkpoint(row(thread_id, {**document, "size": len(body.data)}), body, metadata(document))


def metadata(document: Mapping[str, Any]) -> Payload:
    """A checkpoint's metadata: a document of pairs as canonical JSON, or (LangGraph.js) a single value."""
    value = document.get("metadata")
    if isinstance(value, Mapping):
        return Payload(METADATA, json.dumps(_plain(value)).encode())
    return NULL if value is None else payload(document.get("type"), value)


def write(thread_id: str, document: Mapping[str, Any], *, read: bool) -> Write:
    """The pending write of a document; `read` says whether its value was fetched."""
    value = _bytes(document.get("value"))
    size = int(document["size"] or 0) if "size" in document else len(value)
    is_here = size == 0 or (read and document.get("value") is not None)
    task = (name_of(document.get("task_id")), index_of(document.get("idx")), name_of(document.get("channel")))
    path = _text(document.get("task_path"))
    return Write(
        *ref_of(thread_id, document),
        *task,
        path,
        Payload(_text(document.get("type")), value) if is_here else None,
        size,
    )


def payload(tag: Any, data: Any) -> Payload:
    """The payload of a stored type and value."""
    return Payload(_text(tag), _bytes(data))


def place(name: Ref | WriteKey, thread_id: Any) -> Document:
    """The fields that identify a document: those of the unique index."""
    ref = name if isinstance(name, Ref) else name.ref
    key = {"thread_id": thread_id, "checkpoint_ns": stored(ref.ns), "checkpoint_id": stored(ref.checkpoint_id)}
    if isinstance(name, Ref):
        return key
    return {**key, "task_id": stored(name.task_id), "idx": stored(name.idx) if isinstance(name.idx, str) else name.idx}


def fields(record: Record, *, task_paths: bool) -> Document:
    """The fields of a record's document except those that identify it.

    Raises:
        NotSupported: the checkpoint's channels are stored apart, or its metadata isn't a document.
    """
    if isinstance(record, Write):
        if record.payload is None:
            raise ValueError(f"write {record.idx} of task {record.task_id} has no payload")
        path = {"task_path": record.task_path} if task_paths or record.task_path else {}
        return {**path, "channel": stored(record.channel), "type": record.payload.tag, "value": record.payload.data}
    if record.channels is not None:
        raise NotSupported("MongoDB keeps a checkpoint whole, not channel by channel")
    parent = None if record.row.parent_id is None else stored(record.row.parent_id)
    own = {"parent_checkpoint_id": parent, "type": record.body.tag, "checkpoint": record.body.data}
    return {**own, "metadata": _stored(record.metadata, record.body.tag)}


def _stored(value: Payload, tag: str) -> Any:
    if value.tag == METADATA:
        return _document(json.loads(value.data or b"{}"))
    if value == NULL:
        return None
    if value.tag != tag:
        raise NotSupported(f"MongoDB keeps metadata as a document, not as {value.tag or 'pickle'}")
    return value.data


def _plain(value: Any) -> Any:
    """Metadata as JSON: dicts unchanged, ``[tag, base64]`` for a pair, ``[base64]`` for bytes without a tag."""
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


def ref_of(thread_id: str, document: Mapping[str, Any]) -> Ref:
    """The name of a document's checkpoint; for a write, of the checkpoint that it belongs to."""
    return Ref(thread_id, name_of(document.get("checkpoint_ns")), name_of(document.get("checkpoint_id")))


def name_of(value: Any) -> str:
    """An identifying field as text; a missing field gets the text of null, because a filter for null also finds it."""
    if isinstance(value, str):
        name = text_of(value)
        return name if name == value or stored(value) != value else value
    if value is None or isinstance(value, bytes | float | bool):
        return text_of(value)
    if isinstance(value, int):
        return text_of(int(value))
    return text_of(json.loads(json_util.dumps(value, json_options=json_util.CANONICAL_JSON_OPTIONS)))


def is_number(value: Any) -> bool:
    """Whether a value is a number to MongoDB."""
    return isinstance(value, int | float | Decimal128) and not isinstance(value, bool)


def thread_name(raw: Any) -> str:
    """The name of a thread for its stored id; some programs store the id as a number."""
    return str(raw) if is_number(raw) and str(raw)[-1].isdecimal() else name_of(raw)


def thread_of(document: Mapping[str, Any]) -> str:
    """The thread that a document belongs to."""
    return thread_name(document.get("thread_id"))


def index_of(value: Any) -> int | str:
    """A write's index in its task; as text where it isn't an integer."""
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else name_of(value)


def stored(name: str) -> Any:
    """The stored value for a name; the name itself if the value would be an operator or a pattern in a filter."""
    raw = raw_of(name)
    if not isinstance(raw, dict | list):
        return raw
    value = json_util.loads(json.dumps(raw), json_options=_TYPED)
    is_condition = isinstance(value, dict) and any(key.startswith("$") for key in value)
    return name if is_condition or isinstance(value, Regex | re.Pattern) else value


def key_row(place: Mapping[str, Any]) -> Row:
    """The identifying fields as the operation log keeps them: scalars unchanged, other values as names."""
    return {field: value if type(value) in _SCALARS else name_of(value) for field, value in place.items()}


def filter_of(key: Row) -> Document:
    """The filter that finds the document of a key."""
    return {field: stored(value) if isinstance(value, str) else value for field, value in key.items()}
