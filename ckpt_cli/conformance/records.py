"""Makes records to fill a saver with; a test passes only the parts that matter to the test."""

from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Write


def checkpoint(
    thread_id: str,
    checkpoint_id: str,
    *,
    ns: str = "",
    parent_id: str | None = None,
    body: Payload | None = None,
    metadata: Payload | None = None,
) -> Checkpoint:
    """A checkpoint. A payload that isn't passed contains the checkpoint's own name."""
    place = f"{thread_id}|{ns}|{checkpoint_id}".encode()
    return Checkpoint(
        CheckpointRow(thread_id, ns, checkpoint_id, parent_id),
        body if body is not None else Payload("msgpack", b"body of " + place),
        metadata if metadata is not None else Payload("json", b'{"of": "' + place + b'"}'),
    )


def write(
    thread_id: str,
    checkpoint_id: str,
    task_id: str = "task",
    idx: int = 0,
    *,
    ns: str = "",
    channel: str = "messages",
    path: str = "",
    payload: Payload | None = None,
) -> Write:
    """A write. A payload that isn't passed contains the write's own name."""
    place = f"{thread_id}|{ns}|{checkpoint_id}|{task_id}|{idx}".encode()
    value = payload if payload is not None else Payload("msgpack", b"value of " + place)
    return Write(thread_id, ns, checkpoint_id, task_id, idx, channel, path, value, len(value.data))
