"""Converts JSON texts to records and back; values keep their stored bytes.

langgraph-checkpoint-aws 1.2.6, ``checkpoint/valkey/base.py: _serialize_checkpoint_data, _serialize_writes_data``: the
fields of a checkpoint have a fixed order, so its parent is read from the start and its metadata from the end.
"""

import json
import re
from base64 import b64decode, b64encode
from typing import Any

from ckpt_cli.errors import NotSupported
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Ref, Write, WriteKey, in_words, name_of
from ckpt_cli.savers.faults import must_not_be_lost
from ckpt_cli.savers.redis.keys import from_text
from ckpt_cli.savers.redis.records import json_type_name, lost
from ckpt_cli.savers.spelling import index_of

Document = dict[str, Any]

_STRING = r'"(?:[^"\\]|\\.)*"'
_START = re.compile(rf'\{{"thread_id":({_STRING}),"checkpoint_id":({_STRING}),"parent_checkpoint_id":(null|{_STRING}),')
_END = re.compile(rb'"metadata":"([A-Za-z0-9+/=]*)"\}\Z')


def start(data: str) -> tuple[str, str, str | None] | None:
    """Thread, id and parent from the start of a checkpoint; None if the start is cut off."""
    match = _START.match(data)
    if match is None:
        return None
    thread_id, checkpoint_id, parent = (json.loads(part) for part in match.groups())
    return thread_id, checkpoint_id, parent or None


def end(data: bytes) -> Payload | None:
    """The metadata from the end of a checkpoint; None if the end is cut off."""
    match = _END.search(data)
    return None if match is None else _payload("json", match[1].decode())


def checkpoint(ref: Ref, data: bytes) -> Checkpoint:
    """A whole checkpoint; a payload that can't be read holds the reason."""
    document = document_of(data)
    if document is None:
        body = metadata = lost("it is no JSON object")
    else:
        body = _payload(document.get("type"), document.get("checkpoint"))
        metadata = _payload("json", document["metadata"]) if document.get("metadata") else Payload("json", b"{}")
    return Checkpoint(CheckpointRow(*ref, parent(document), len(body.data)), body, metadata)


def document_of(data: bytes | str) -> Document | None:
    """The JSON object in a text; None if the text is something else."""
    value = _json(data)
    return value if isinstance(value, dict) else None


def parent(document: Document | None) -> str | None:
    """The parent that a checkpoint names."""
    return from_text((document or {}).get("parent_checkpoint_id")) or None


def is_others(ref: Ref, thread_id: str, checkpoint_id: str) -> bool:
    """Whether the key of `ref` holds another checkpoint, whose name gives the same key."""
    rest = f"{{{ref.thread_id}}}:{ref.ns}:{ref.checkpoint_id}"
    fits = rest.startswith(f"{{{thread_id}}}:") and rest.endswith(f":{checkpoint_id}")
    return fits and (thread_id, checkpoint_id) != (ref.thread_id, ref.checkpoint_id)


def entries(ref: Ref, data: bytes | str) -> list[tuple[WriteKey, Any]]:
    """The names and entries of a checkpoint's writes; a value that isn't an array is one write without a task."""
    value = _json(data)
    return [(_name(ref, one), one) for one in value] if isinstance(value, list) else [(_name(ref, None), value)]


def _name(ref: Ref, entry: Any) -> WriteKey:
    fields = entry if isinstance(entry, dict) else {}
    return WriteKey(ref, from_text(fields.get("task_id")), index_of(fields.get("idx", 0)))


def write(name: WriteKey, entry: Any) -> Write:
    """A pending write from its entry; the entry has ``size`` in place of a value that wasn't fetched."""
    place = (*name.ref, name.task_id, name.idx)
    if not isinstance(entry, dict):
        payload = lost("it is no JSON object")
        return Write(*place, "", "", payload, len(payload.data))
    channel = from_text(entry.get("channel"))
    if type(entry.get("size")) in (int, float) and "value" not in entry:
        return Write(*place, channel, "", None, int(entry["size"]))
    payload = _payload(entry.get("type"), entry.get("value"))
    return Write(*place, channel, "", payload, len(payload.data))


def checkpoint_document(record: Checkpoint, old: Document | None) -> Document:
    """A checkpoint as LangGraph's saver stores it; other fields of the `old` document are kept.

    Raises:
        NotSupported: the checkpoint's channels are stored apart, or its metadata isn't JSON.
    """
    if record.channels is not None:
        raise NotSupported("Valkey keeps a checkpoint whole, not channel by channel")
    if record.metadata.tag != "json":
        raise NotSupported(f"Valkey keeps metadata as JSON, not as {record.metadata.tag or 'pickle'}")
    row = record.row
    must_not_be_lost(record.body, in_words(row.ref))
    return {
        **(old or {"thread_id": row.thread_id, "checkpoint_id": row.checkpoint_id}),
        "parent_checkpoint_id": row.parent_id,
        "type": record.body.tag,
        "checkpoint": b64encode(record.body.data).decode(),
        "metadata": b64encode(record.metadata.data).decode(),
    }


def write_document(record: Write) -> Document:
    """A write as LangGraph's saver stores it, without the task's path, for which there is no field."""
    if record.payload is None:
        raise ValueError(f"write {record.idx} of task {record.task_id} has no payload")
    must_not_be_lost(record.payload, in_words(name_of(record)))
    return {
        "task_id": record.task_id,
        "idx": record.idx,
        "channel": record.channel,
        "type": record.payload.tag,
        "value": b64encode(record.payload.data).decode(),
    }


def text(value: Any) -> str:
    """JSON text in the form that LangGraph's saver writes."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _payload(kind: Any, value: Any) -> Payload:
    if not isinstance(value, str):
        return lost(f"its value is stored as {json_type_name(value)} where text should be")
    try:
        return Payload(from_text(kind), b64decode(value))
    except ValueError:
        return lost("its value is no base64")


def _json(data: bytes | str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
