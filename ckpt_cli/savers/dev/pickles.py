"""Reads the three dicts from their pickles, parts of a wrong type too; nothing is imported or called.

The contents of the dicts: langgraph-checkpoint 4.3, ``memory/__init__.py: InMemorySaver`` (`put`, `put_writes`).
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ckpt_cli.errors import DatabaseDamaged, DatabaseUnreachable
from ckpt_cli.model import LOST, CheckpointRow, Payload, Ref, Write
from ckpt_cli.savers.dev.files import Files
from ckpt_cli.savers.spelling import text_of
from ckpt_cli.serde import inert
from ckpt_cli.values.node import DAMAGED, Form, Node

_PARTS = ("storage", "writes", "blobs")

Blobs = Mapping[tuple[str, str, str, Any], Payload]
"""By thread, namespace, channel and version."""


class Stored(NamedTuple):
    """One checkpoint as it is stored, without its channels' values."""

    row: CheckpointRow
    header: Payload
    metadata: Payload


class Storage(NamedTuple):
    """The contents of all files."""

    checkpoints: dict[Ref, Stored]
    writes: dict[Ref, list[Write]]
    blobs: Blobs


def load(files: Files) -> Storage:
    """Read and check the files.

    Raises:
        DatabaseUnreachable: a file can't be read, or holds something else.
        DatabaseDamaged: a file is cut short or isn't a valid pickle.
    """
    storage = _decode_file(files.storage)
    parts = _all_parts(storage) or [storage, *(_decode_file(p) if p else {} for p in (files.writes, files.blobs))]
    if all(type(part) is dict for part in parts):
        checkpoints = {stored.row.ref: stored for stored in _checkpoints(parts[0])}
        writes, blobs = dict(_writes(parts[1])), dict(_blobs(parts[2]))
        any_readable = any(stored.header.tag != LOST for stored in checkpoints.values())
        if bool(parts[0]) is any_readable and bool(parts[1]) is bool(writes) and bool(parts[2]) is bool(blobs):
            return Storage(checkpoints, writes, blobs)
    what = f"{files.storage} holds no checkpoints of an InMemorySaver"
    raise DatabaseUnreachable(what, hint="an InMemorySaver pickles dicts of threads, of writes and of blobs")


def _decode_file(path: Path) -> Any:
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


def _all_parts(value: Any) -> list[Any] | None:
    """The three parts in one pickle: a dict by their names, or a sequence; None if it holds only one part."""
    if isinstance(value, dict) and _PARTS[0] in value and value.keys() <= {*_PARTS}:
        return [value.get(part, {}) for part in _PARTS]
    if isinstance(value, list) and len(value) == len(_PARTS):
        return value
    return None


def _checkpoints(storage: dict[Any, Any]) -> Iterator[Stored]:
    """All checkpoints; a container of a wrong type counts as an unreadable checkpoint. So its thread is listed."""
    for thread_id, spaces in storage.items():
        for ns, space in spaces.items() if type(spaces) is dict else [("", spaces)]:
            for checkpoint_id, entry in space.items() if type(space) is dict else [("", space)]:
                yield _checkpoint(Ref(_text(thread_id), _text(ns), _text(checkpoint_id)), entry)


def _checkpoint(ref: Ref, entry: Any) -> Stored:
    parts = entry if isinstance(entry, list | tuple) and len(entry) in (2, 3) else None
    header, metadata, *parents = parts or (entry, entry)
    body = _payload(header)
    parent_id = _text(parents[0]) if parents and parents[0] else None
    return Stored(CheckpointRow(*ref, parent_id), body, _payload(metadata))


def _writes(writes: dict[Any, Any]) -> Iterator[tuple[Ref, list[Write]]]:
    for key, by_task in writes.items():
        if isinstance(key, list | tuple) and len(key) == 3:
            ref = Ref(*map(_text, key))
            entries = by_task.items() if type(by_task) is dict else [(("", 0), by_task)]
            yield ref, sorted((_write(ref, *entry) for entry in entries), key=lambda write: write.order)


def _write(ref: Ref, key: Any, entry: Any) -> Write:
    """One write. Both the key and the entry hold the task id; before checkpoint 2.1, writes have no task path."""
    key_task, idx = key if isinstance(key, list | tuple) and len(key) == 2 else ("", key)
    parts = entry if isinstance(entry, list | tuple) and len(entry) in (3, 4) else (key_task, "", entry)
    task_id, channel, value, *paths = parts
    payload = _payload(value)
    index = idx if type(idx) is int else _text(idx)
    return Write(
        *ref, _text(task_id), index, _text(channel), _text(paths[0]) if paths else "", payload, len(payload.data)
    )


def _blobs(blobs: dict[Any, Any]) -> Iterator[tuple[tuple[str, str, str, Any], Payload]]:
    for key, value in blobs.items():
        if isinstance(key, list | tuple) and len(key) == 4:
            thread_id, ns, channel, version = key
            yield (_text(thread_id), _text(ns), _text(channel), version), _payload(value)


def _payload(pair: Any) -> Payload:
    tag, data = pair if isinstance(pair, list | tuple) and len(pair) == 2 else ("", pair)
    if isinstance(data, Node):
        data = data.state  # a bytearray
    if not isinstance(data, bytes) or not isinstance(tag, str) or pair is data:
        return Payload(LOST, b"it is not stored as a type and bytes")
    return Payload(tag, data)


def _text(value: Any) -> str:
    """An id as text. Ids are text, or numbers that the application passed; other types become text by `text_of`."""
    if type(value) is int:
        return str(value)
    return value if isinstance(value, str) else text_of(value if isinstance(value, bytes) else _plain(value))


def _plain(value: Any, depth: int = 0) -> Any:
    """A value that JSON can express, with type names for objects; cut off, as a pickle can repeat a list endlessly."""
    if isinstance(value, list | tuple) and depth < _DEEPEST and len(value) <= _WIDEST:
        return [_plain(part, depth + 1) for part in value]
    return value if value is None or isinstance(value, str | int | float | bool) else type(value).__name__


_DEEPEST, _WIDEST = 2, 8  # limits of a tuple that serves as an id
