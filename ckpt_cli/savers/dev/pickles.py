"""The three dicts out of their pickles, checked piece by piece; nothing that a pickle names is imported or called.

langgraph-checkpoint 4.3, ``memory/__init__.py: InMemorySaver`` (`put`, `put_writes`) says what is in them.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ckpt_cli.errors import DatabaseDamaged, DatabaseUnreachable
from ckpt_cli.model import CheckpointRow, Payload, Ref, Write
from ckpt_cli.savers.dev.files import Files
from ckpt_cli.serde import inert
from ckpt_cli.values.node import DAMAGED, Form, Node

_PARTS = ("storage", "writes", "blobs")

Blobs = Mapping[tuple[str, str, str, Any], Payload]
"""By thread, namespace, channel and version."""


class Stored(NamedTuple):
    """One checkpoint as it is stored: without its channels' values."""

    row: CheckpointRow
    header: Payload
    metadata: Payload


class Storage(NamedTuple):
    """All that was pickled."""

    checkpoints: dict[Ref, Stored]
    writes: dict[Ref, list[Write]]
    blobs: Blobs


def load(files: Files) -> Storage:
    """Read the files.

    Raises:
        DatabaseUnreachable: one can't be read, or holds something else.
        DatabaseDamaged: one ends too early or makes no sense.
    """
    storage = _decoded(files.storage)
    parts = _together(storage) or [storage, *(_decoded(p) if p else {} for p in (files.writes, files.blobs))]
    try:
        checkpoints = {stored.row.ref: stored for stored in _checkpoints(parts[0])}
        return Storage(checkpoints, dict(_writes(parts[1])), dict(_blobs(parts[2])))
    except (TypeError, ValueError, AttributeError) as error:
        what = f"{files.storage} holds no checkpoints of an InMemorySaver"
        raise DatabaseUnreachable(what, hint="dicts of threads, of writes and of blobs are what it pickles") from error


def _decoded(path: Path) -> Any:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DatabaseUnreachable(f"can't read {path}: {error.strerror}") from error
    value = inert.decode(data)
    if isinstance(value, Node) and value.form is Form.BROKEN:
        raise DatabaseDamaged(f"{path} can't be read: {value.problem}")
    if isinstance(value, dict) and isinstance(damage := value.get(DAMAGED), Node):
        raise DatabaseDamaged(f"{path} can't be read: {damage.problem}")
    return value


def _together(value: Any) -> list[Any] | None:
    """The parts of one pickle of all three: a dict of their names, or a sequence."""
    if isinstance(value, dict) and _PARTS[0] in value and value.keys() <= {*_PARTS}:
        return [value.get(part, {}) for part in _PARTS]
    if isinstance(value, list) and len(value) == len(_PARTS):
        return value
    return None


def _checkpoints(storage: dict[str, Any]) -> Iterator[Stored]:
    for thread_id, spaces in storage.items():
        for ns, space in spaces.items():
            for checkpoint_id, (header, metadata, *parent) in space.items():
                body = _payload(header)
                names = _text(thread_id), _text(ns), _text(checkpoint_id)
                row = CheckpointRow(*names, _text(parent[0]) if parent and parent[0] else None, len(body.data))
                yield Stored(row, body, _payload(metadata))


def _writes(writes: dict[Any, Any]) -> Iterator[tuple[Ref, list[Write]]]:
    for (thread_id, ns, checkpoint_id), some in writes.items():
        ref = Ref(_text(thread_id), _text(ns), _text(checkpoint_id))
        yield ref, sorted((_write(ref, *key, *said) for key, said in some.items()), key=lambda write: write.order)


def _write(ref: Ref, key: Any, idx: Any, task_id: Any, channel: Any, value: Any, path: Any = "") -> Write:  # noqa: ARG001
    """The task id stands in the key too; before checkpoint 2.1 there was no task path."""
    if not isinstance(idx, int):
        raise TypeError(idx)
    payload = _payload(value)
    return Write(*ref, _text(task_id), idx, _text(channel), _text(path), payload, len(payload.data))


def _blobs(blobs: dict[Any, Any]) -> Iterator[tuple[tuple[str, str, str, Any], Payload]]:
    for (thread_id, ns, channel, version), value in blobs.items():
        yield (_text(thread_id), _text(ns), _text(channel), version), _payload(value)


def _payload(pair: Any) -> Payload:
    tag, data = pair
    if isinstance(data, Node):
        data = data.state  # a bytearray
    if not isinstance(data, bytes):
        raise TypeError(data)
    return Payload(_text(tag), data)


def _text(value: Any) -> str:
    """Ids are text, or were given as numbers and kept so."""
    if type(value) is int:
        return str(value)
    if not isinstance(value, str):
        raise TypeError(value)
    return value
