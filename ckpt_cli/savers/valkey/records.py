"""Strings of JSON as records and back; a value is carried as it is stored.

langgraph-checkpoint-aws 1.2.6, ``checkpoint/valkey/base.py: _serialize_checkpoint_data, _serialize_writes_data``: the
fields of a checkpoint stand in one order, so that its parent is read from the start and its metadata from the end.
"""

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from ckpt_cli.errors import NotSupported
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Ref, Write

Document = dict[str, Any]

_STRING = r'"(?:[^"\\]|\\.)*"'
_START = re.compile(rf'\{{"thread_id":({_STRING}),"checkpoint_id":({_STRING}),"parent_checkpoint_id":(null|{_STRING}),')
_END = re.compile(rb'"metadata":"([A-Za-z0-9+/=]*)"\}\Z')


def start(data: str) -> tuple[str, str, str | None] | None:
    """Thread, id and parent of the start of a checkpoint; None where more of it is needed."""
    match = _START.match(data)
    if match is None:
        return None
    thread_id, checkpoint_id, parent = (json.loads(part) for part in match.groups())
    return thread_id, checkpoint_id, parent or None


def end(data: bytes) -> Payload | None:
    """The metadata at the end of a checkpoint; None where more of it is needed."""
    match = _END.search(data)
    return None if match is None else Payload("json", b64decode(match[1]))


def checkpoint(ref: Ref, data: bytes) -> Checkpoint:
    """A checkpoint with its payloads."""
    told = json.loads(data)
    body = Payload(str(told.get("type") or ""), _bytes(told.get("checkpoint")))
    row = CheckpointRow(*ref, told.get("parent_checkpoint_id") or None, len(body.data))
    return Checkpoint(row, body, Payload("json", _bytes(told.get("metadata")) or b"{}"))


def write(ref: Ref, told: Mapping[str, Any]) -> Write:
    """A pending write; ``size`` stands in the place of a value that was left where it is."""
    place = (str(told.get("task_id") or ""), int(told.get("idx") or 0), str(told.get("channel") or ""))
    if "size" in told and "value" not in told:
        return Write(*ref, *place, "", None, int(told["size"]))
    value = _bytes(told.get("value"))
    return Write(*ref, *place, "", Payload(str(told.get("type") or ""), value), len(value))


def checkpoint_document(record: Checkpoint, old: Document | None) -> Document:
    """A checkpoint as the saver stores it.

    Raises:
        NotSupported: a checkpoint whose channels are kept apart, or metadata that isn't JSON.
    """
    if record.channels is not None:
        raise NotSupported("Valkey keeps a checkpoint whole, not channel by channel")
    if record.metadata.tag != "json":
        raise NotSupported(f"Valkey keeps metadata as JSON, not as {record.metadata.tag or 'pickle'}")
    row = record.row
    return {
        **(old or {"thread_id": row.thread_id, "checkpoint_id": row.checkpoint_id}),
        "parent_checkpoint_id": row.parent_id,
        "type": record.body.tag,
        "checkpoint": b64encode(record.body.data).decode(),
        "metadata": b64encode(record.metadata.data).decode(),
    }


def write_document(record: Write) -> Document:
    """A write as the saver stores it; it has no place for the task's path."""
    if record.payload is None:
        raise ValueError(f"write {record.idx} of task {record.task_id} has no payload")
    return {
        "task_id": record.task_id,
        "idx": record.idx,
        "channel": record.channel,
        "type": record.payload.tag,
        "value": b64encode(record.payload.data).decode(),
    }


def text(value: Any) -> str:
    """JSON as the saver spells it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _bytes(value: Any) -> bytes:
    return b64decode(value) if isinstance(value, str) else b""
