"""Encrypts a checkpoint where the target's saver does it with LangGraph's `EncryptedSerializer`.

That is what each saver gives to ``serde.dumps_typed``: whole bodies, channels that are stored apart, MongoDB's metadata
value by value, DynamoDB's checkpoint and metadata as one (langgraph-checkpoint-aws 1.2, ``unified_repository.py:
put_checkpoint``). JSON that is stored for queries stays plain.
"""

from collections.abc import Callable

from ckpt_cli.model import Checkpoint, Payload
from ckpt_cli.savers.about import RecordFormat
from ckpt_cli.serde.mongodb_metadata import TAG, with_payloads
from ckpt_cli.serde.msgpack_write import MsgpackWire, pack

Seal = Callable[[Payload, str], Payload]
"""Encrypts a payload; the text says where it is."""


def seal_checkpoint(record: Checkpoint, form: RecordFormat, seal: Seal) -> Checkpoint:
    """The checkpoint, encrypted."""
    row = record.row
    place = f"{row.thread_id}\0{row.ns}\0{row.checkpoint_id}"
    if form.metadata == "msgpack" and not form.apart:
        body, metadata = _joined(record, place, seal)
        return record._replace(body=body, metadata=metadata)
    channels = record.channels and {
        name: one if one.tag == "empty" else seal(one, f"{row.thread_id}\0{row.ns}\0{name}")
        for name, one in record.channels.items()
    }
    body = record.body if form.body == "json" else seal(record.body, place)
    return Checkpoint(row, body, _metadata(record.metadata, place, seal), channels)


def _joined(record: Checkpoint, place: str, seal: Seal) -> tuple[Payload, Payload]:
    """Checkpoint and metadata as one value, of which each payload has all."""
    halves = {"checkpoint": record.body.data, "metadata": record.metadata.data}
    both = MsgpackWire().join_map([(pack(name), data) for name, data in halves.items()])
    tag, data = seal(Payload("msgpack", both), place)
    return Payload(f"checkpoint@{tag}", data), Payload(f"metadata@{tag}", data)


def _metadata(payload: Payload, place: str, seal: Seal) -> Payload:
    if payload.tag != TAG:
        return payload
    return payload._replace(data=with_payloads(payload.data, lambda one: seal(one, place)))
