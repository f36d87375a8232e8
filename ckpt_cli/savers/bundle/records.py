"""Records as lines of a bundle, and back: names, tags, and where the bytes of each payload are."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ckpt_cli.errors import DatabaseDamaged
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Record, Write
from ckpt_cli.savers.bundle.frames import Kind
from ckpt_cli.savers.bundle.json_lines import line, number, text, text_or_none
from ckpt_cli.savers.bundle.segments import Segment

CHECKPOINT, WRITE = "checkpoint", "write"
COLUMNS = {
    CHECKPOINT: ["ns", "checkpoint_id", "parent_id", "body", "metadata", "channels"],
    WRITE: ["ns", "checkpoint_id", "task_id", "idx", "channel", "task_path", "value"],
}
"""The columns of the two kinds of lines, which begin with their kind; the index repeats them."""
LARGEST_PAYLOAD = 1 << 30
"""No payload has more bytes: engines can't hold larger ones either."""

Store = Callable[[Kind, Payload], Sequence[Segment]]
"""Stores a payload's bytes, and returns where they are."""


class StoredPayload(NamedTuple):
    """A payload's type tag, and where its bytes are."""

    tag: str
    segments: tuple[Segment, ...]

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return sum(segment.length for segment in self.segments)


class StoredCheckpoint(NamedTuple):
    """The line of a checkpoint."""

    row: CheckpointRow
    body: StoredPayload
    metadata: StoredPayload
    channels: Mapping[str, StoredPayload] | None


class StoredWrite(NamedTuple):
    """The line of a write."""

    write: Write
    value: StoredPayload


def record_line(record: Record, store: Store) -> bytes:
    """The line of a record whose payloads are stored now."""

    def payload(kind: Kind, value: Payload) -> list[str | int]:
        return [value.tag, *(place for segment in store(kind, value) for place in segment)]

    if isinstance(record, Checkpoint):
        row, channels = record.row, record.channels
        apart = None if channels is None else {name: payload(Kind.STATE, one) for name, one in channels.items()}
        own = (payload(Kind.STATE, record.body), payload(Kind.METADATA, record.metadata), apart)
        return line([CHECKPOINT, row.ns, row.checkpoint_id, row.parent_id, *own])
    if record.payload is None:
        raise ValueError(f"write {record.idx} of task {record.task_id} has no payload")
    names = (record.ns, record.checkpoint_id, record.task_id, record.idx, record.channel, record.task_path)
    return line([WRITE, *names, payload(Kind.WRITE, record.payload)])


def read_record(thread_id: str, values: Any) -> StoredCheckpoint | StoredWrite | None:
    """The record of a line; None for a kind of line that later versions may add."""
    if values[0] == CHECKPOINT:
        return read_checkpoint(thread_id, values)
    return read_write(thread_id, values) if text(values[0]) == WRITE else None


def read_checkpoint(thread_id: str, values: Any) -> StoredCheckpoint:
    """The checkpoint of a line."""
    _, ns, checkpoint_id, parent_id, body, metadata, channels = values
    stored = _payload(body)
    row = CheckpointRow(thread_id, text(ns), text(checkpoint_id), text_or_none(parent_id), stored.size)
    apart = None if channels is None else {text(name): _payload(one) for name, one in channels.items()}
    return StoredCheckpoint(row, stored, _payload(metadata), apart)


def read_write(thread_id: str, values: Any) -> StoredWrite:
    """The write of a line, without its payload."""
    _, ns, checkpoint_id, task_id, idx, channel, path, value = values
    stored = _payload(value)
    if type(idx) is not int:
        text(idx)
    names = (text(ns), text(checkpoint_id), text(task_id), idx, text(channel), text(path))
    return StoredWrite(Write(thread_id, *names, None, stored.size), stored)


def _payload(values: Any) -> StoredPayload:
    tag, *places = values
    segments = tuple(
        Segment(*map(number, places[start : start + len(Segment._fields)]))
        for start in range(0, len(places), len(Segment._fields))
    )
    payload = StoredPayload(text(tag), segments)
    if payload.size > LARGEST_PAYLOAD:
        raise DatabaseDamaged(f"the bundle has a value of {payload.size:,} bytes; the most is {LARGEST_PAYLOAD:,}")
    return payload
