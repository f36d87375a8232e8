"""Records that Redis can hold: a checkpoint is a JSON object, and a write's JSON is in the saver's own dialect."""

import json
from base64 import b64encode
from typing import Any, ClassVar

from ckpt_cli.conformance.records import checkpoint
from ckpt_cli.conformance.samples import PAYLOADS, Samples
from ckpt_cli.model import Checkpoint, Payload

TAG = "redis-json"


def body(place: str, payload: Payload | None) -> Payload:
    """A checkpoint object that contains its names or the given payload."""
    value = place if payload is None else [payload.tag, b64encode(payload.data).decode()]
    return Payload(
        TAG, json.dumps({"v": 4, "channel_values": {"of": value}}, separators=(",", ":"), ensure_ascii=False).encode()
    )


class RedisSamples(Samples):
    """The usual records with checkpoints of this form."""

    payloads: ClassVar[list[Payload]] = [
        p._replace(tag=TAG if p.tag == "json" else p.tag) for p in PAYLOADS if b"\xff" not in p.data[:1]
    ]

    def checkpoint(self, thread_id: str, checkpoint_id: str, **given: Any) -> Checkpoint:
        """A checkpoint whose value is a JSON object."""
        made = body(f"{thread_id}|{given.get('ns', '')}|{checkpoint_id}", given.pop("payload", None))
        if given.get("metadata") is None:
            given["metadata"] = Payload("json", json.dumps({"of": checkpoint_id}).encode())
        return checkpoint(thread_id, checkpoint_id, body=made, **given)
