"""Makes checkpoints of the rows that the statement for headers gives."""

from collections.abc import Mapping

from ckpt_cli.model import LOST, NULL, Checkpoint, CheckpointRow, Payload
from ckpt_cli.savers.sql.engine import ResultRow


def checkpoint_of(row: ResultRow, channels: Mapping[str, Payload]) -> Checkpoint:
    """The checkpoint of a row whose first columns are ids, parent, header and metadata."""
    thread_id, ns, checkpoint_id, parent_id, header, metadata = row[:6]
    skeleton = CheckpointRow(thread_id, ns, checkpoint_id, parent_id)
    body = Payload(LOST, b"its column is NULL") if header is None else Payload("json", header.encode())
    return Checkpoint(skeleton, body, metadata_of(metadata), channels)


def metadata_of(text: str | None) -> Payload:
    """The payload of a metadata column."""
    return NULL if text is None else Payload("json", text.encode())
