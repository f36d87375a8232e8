"""Makes checkpoints of the rows that the statement for headers gives."""

from collections.abc import Mapping

from ckpt_cli.model import LOST, NULL, Checkpoint, CheckpointRow, Payload
from ckpt_cli.savers.sql.engine import ResultRow

_new = tuple.__new__  # the tuples' own `__new__` would be a function of Python's


def checkpoint_of(row: ResultRow, channels: Mapping[str, Payload]) -> Checkpoint:
    """The checkpoint of a row whose first columns are ids, parent, header and metadata."""
    *name, parent_id, header, metadata = row[:6]
    skeleton = _new(CheckpointRow, (*name, parent_id, None))
    body = Payload(LOST, b"its column is NULL") if header is None else _new(Payload, ("json", header.encode()))
    return _new(Checkpoint, (skeleton, body, metadata_of(metadata), channels))


def metadata_of(text: str | None) -> Payload:
    """The payload of a metadata column."""
    return NULL if text is None else _new(Payload, ("json", text.encode()))
