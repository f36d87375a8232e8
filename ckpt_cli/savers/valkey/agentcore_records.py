"""Converts AgentCoreValkeySaver's JSON to records; values keep their stored bytes.

langgraph-checkpoint-aws 1.2.6, ``checkpoint/valkey/agentcore``: the fields of `StoredCheckpoint` and `StoredWrite`
(``models.py``) have a fixed order, so a checkpoint's name is read from the start and its metadata from the end.
"""

import json
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Ref, Write

LOST = Payload("elsewhere", b"it is not stored as AgentCoreValkeySaver stores it")
"""The payload in place of a value that can't be read."""

_STRING = r'"(?:[^"\\]|\\.)*"'
_FIELDS = ("checkpoint_id", "session_id", "actor_id", "thread_id", "checkpoint_ns")
_NAMED = ",".join(f'"{name}":({_STRING})' for name in _FIELDS)
_START = re.compile(rf'\{{{_NAMED},"parent_checkpoint_id":(null|{_STRING}),')
_END = re.compile(rb'"metadata":(\{"type":"[^"\\]*","data":"[A-Za-z0-9+/=]*"\}),"created_at":[0-9.eE+-]+\}\Z')

_SPECIAL = {"__error__": -1, "__scheduled__": -2, "__interrupt__": -3, "__resume__": -4}
"""Fixed indexes, as other savers store them (langgraph-checkpoint 4.3, ``base/__init__.py: WRITES_IDX_MAP``)."""


class Start(NamedTuple):
    """The names at the start of a checkpoint."""

    session_id: str
    actor_id: str
    thread_id: str
    ns: str
    parent_id: str | None

    @property
    def place(self) -> str:
        """The part of the checkpoint's keys before the id (``models.py: checkpoint_key_prefix``)."""
        return f"{self.session_id}:{self.actor_id}:{self.ns}"


def start(data: str) -> Start | None:
    """The names from the start of a checkpoint; None if the text is cut off, or isn't a checkpoint's."""
    match = _START.match(data)
    fields = _json(f"[{','.join(match.groups())}]") if match is not None else None
    return None if fields is None else Start(fields[1], fields[2], fields[3], fields[4], fields[5] or None)


def end(data: bytes) -> Payload | None:
    """The metadata from the end of a checkpoint; None if the text is cut off, or isn't a checkpoint's."""
    match = _END.search(data)
    return None if match is None else _payload(_json(match[1]))


def checkpoint(ref: Ref, data: bytes) -> Checkpoint:
    """A whole checkpoint; its copies of values by channel aren't read, because LangGraph's saver never reads them."""
    document = _document(data)
    body, parent = _payload(document.get("checkpoint_data")), document.get("parent_checkpoint_id")
    row = CheckpointRow(*ref, str(parent) if parent else None, len(body.data))
    return Checkpoint(row, body, _payload(document.get("metadata")))


def writes(ref: Ref, stored: Sequence[bytes], *, short: bool) -> Iterator[Write]:
    """The writes of a checkpoint, in the order they were put; if `short`, each long value is replaced by its size.

    AgentCoreValkeySaver only appends writes and stores no indexes. So the ordinary writes of a task are numbered here.
    A special write has a fixed index. In other savers, a channel's last special write replaces the earlier writes.
    Here the last write gets the fixed index, and the earlier writes get lower indexes, four apart.
    """
    documents = [_document(one) for one in stored]
    names = [(str(one.get("task_id") or ""), str(one.get("channel") or "")) for one in documents]
    later, counts = Counter(names), Counter[str]()
    for one, (task_id, channel) in zip(documents, names, strict=True):
        later[task_id, channel] -= 1
        fixed = _SPECIAL.get(channel)
        idx = counts[task_id] if fixed is None else fixed - len(_SPECIAL) * later[task_id, channel]
        counts[task_id] += fixed is None
        path, value = str(one.get("task_path") or ""), one.get("value")
        size = value if short and isinstance(value, int) else None
        payload = _payload(value) if size is None else None
        yield Write(*ref, task_id, idx, channel, path, payload, len(payload.data) if payload else size or 0)


def _json(data: str | bytes) -> Any:
    """The value of a JSON text; None if it isn't JSON."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _document(data: bytes) -> dict[str, Any]:
    value = _json(data)
    return value if isinstance(value, dict) else {}


def _payload(stored: Any) -> Payload:
    try:
        return Payload(str(stored["type"]), b64decode(stored["data"], validate=True))
    except (TypeError, KeyError, ValueError):
        return LOST
