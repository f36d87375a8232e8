"""Columns as records: names of any storage class become text, and payloads are the bytes as they are stored."""

from ckpt_cli.model import CheckpointRow, Payload, Scalar, Write
from ckpt_cli.savers.spelling import index_of, text_of
from ckpt_cli.savers.sqlite.connection import Row
from ckpt_cli.savers.sqlite.parameters import data


def skeleton(thread_id: str, ns: str, own_id: Scalar, parent_id: Scalar, size: int | None) -> CheckpointRow:
    """A row without values."""
    return CheckpointRow(thread_id, ns, text_of(own_id), parent(parent_id), size)


def parent(raw: Scalar) -> str | None:
    """A parent's id; None for a root."""
    return None if raw is None else text_of(raw)


def tag(raw: Scalar) -> str:
    """A type tag; "" where the generation or the row has none."""
    return "" if raw is None else text_of(raw)


def write(thread_id: str, row: Row) -> Write:
    """A pending write of the columns of `statements.WRITES`; without its payload where that was left unread."""
    ns, checkpoint_id, path, task_id, idx, channel, kind, size, value = row
    payload = None if size is not None and value is None else Payload(tag(kind), data(value))
    place = (thread_id, text_of(ns), text_of(checkpoint_id), text_of(task_id), index_of(idx))
    return Write(*place, text_of(channel), "" if path is None else text_of(path), payload, size or 0)
