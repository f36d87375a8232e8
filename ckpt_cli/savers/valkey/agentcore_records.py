"""JSON of AgentCoreValkeySaver as records; a value is carried as it is stored.

langgraph-checkpoint-aws 1.2.6, ``checkpoint/valkey/agentcore``: `StoredCheckpoint` and `StoredWrite` of ``models.py``
are written with their fields in one order, so that a checkpoint is named by its start and its metadata is at its end.
"""

import json
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Ref, Write

LOST = Payload("elsewhere", b"it is not stored as AgentCoreValkeySaver stores it")
"""In the place of a value that can't be found."""

_STRING = r'"(?:[^"\\]|\\.)*"'
_FIELDS = ("checkpoint_id", "session_id", "actor_id", "thread_id", "checkpoint_ns")
_NAMED = ",".join(f'"{name}":({_STRING})' for name in _FIELDS)
_START = re.compile(rf'\{{{_NAMED},"parent_checkpoint_id":(null|{_STRING}),')
_END = re.compile(rb'"metadata":(\{"type":"[^"\\]*","data":"[A-Za-z0-9+/=]*"\}),"created_at":[0-9.eE+-]+\}\Z')

_SPECIAL = {"__error__": -1, "__scheduled__": -2, "__interrupt__": -3, "__resume__": -4}
"""Their places in the savers that keep places (langgraph-checkpoint 4.3, ``base/__init__.py: WRITES_IDX_MAP``)."""


class Start(NamedTuple):
    """What a checkpoint says of itself."""

    session_id: str
    actor_id: str
    thread_id: str
    ns: str
    parent_id: str | None

    @property
    def place(self) -> str:
        """What its keys have before its id (``models.py: checkpoint_key_prefix``)."""
        return f"{self.session_id}:{self.actor_id}:{self.ns}"


def start(data: str) -> Start | None:
    """What the start of a checkpoint says; None where more of it is needed, or it is none."""
    match = _START.match(data)
    told = _json(f"[{','.join(match.groups())}]") if match is not None else None
    return None if told is None else Start(told[1], told[2], told[3], told[4], told[5] or None)


def end(data: bytes) -> Payload | None:
    """The metadata at the end of a checkpoint; None where more of it is needed, or it is none."""
    match = _END.search(data)
    return None if match is None else _payload(_json(match[1]))


def checkpoint(ref: Ref, data: bytes) -> Checkpoint:
    """A checkpoint whole: the values that are also kept channel by channel are never read by the saver."""
    told = _document(data)
    body, parent = _payload(told.get("checkpoint_data")), told.get("parent_checkpoint_id")
    row = CheckpointRow(*ref, str(parent) if parent else None, len(body.data))
    return Checkpoint(row, body, _payload(told.get("metadata")))


def writes(ref: Ref, stored: Sequence[bytes], *, short: bool) -> Iterator[Write]:
    """The writes of a checkpoint, given in the order they were put; `short` are those with sizes for long values.

    The saver only appends, and keeps no places. Ordinary writes of a task are counted. Of one whose place is fixed, the
    last has that place, as in other savers the last replaces those before; these come before it, four places apart.
    """
    told = [_document(one) for one in stored]
    names = [(str(one.get("task_id") or ""), str(one.get("channel") or "")) for one in told]
    left, places = Counter(names), Counter[str]()
    for one, (task_id, channel) in zip(told, names, strict=True):
        left[task_id, channel] -= 1
        fixed = _SPECIAL.get(channel)
        idx = places[task_id] if fixed is None else fixed - len(_SPECIAL) * left[task_id, channel]
        places[task_id] += fixed is None
        path, value = str(one.get("task_path") or ""), one.get("value")
        size = value if short and isinstance(value, int) else None
        payload = _payload(value) if size is None else None
        yield Write(*ref, task_id, idx, channel, path, payload, len(payload.data) if payload else size or 0)


def _json(data: str | bytes) -> Any:
    """What JSON says; None where it is none."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _document(data: bytes) -> dict[str, Any]:
    told = _json(data)
    return told if isinstance(told, dict) else {}


def _payload(told: Any) -> Payload:
    try:
        return Payload(str(told["type"]), b64decode(told["data"], validate=True))
    except (TypeError, KeyError, ValueError):
        return LOST
