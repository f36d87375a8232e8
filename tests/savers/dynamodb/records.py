"""Records that DynamoDB's saver can hold: checkpoint and metadata are one msgpack value."""

from typing import Any

import ormsgpack

from ckpt_cli.conformance.records import checkpoint
from ckpt_cli.conformance.samples import Samples
from ckpt_cli.model import Checkpoint, Payload


def packed(value: Any) -> Payload:
    """A msgpack payload."""
    return Payload("msgpack", ormsgpack.packb(value))


class DynamoSamples(Samples):
    """The usual records with values of msgpack."""

    metadata = packed({"step": -1, "n": "ä\0"})

    def checkpoint(self, thread_id: str, checkpoint_id: str, **given: Any) -> Checkpoint:
        """Body and metadata contain the checkpoint's names, unless they are given."""
        place = [thread_id, given.get("ns", ""), checkpoint_id]
        payload, metadata = given.pop("payload", None), given.pop("metadata", None)
        body = packed(place if payload is None else [payload.tag, payload.data])
        return checkpoint(thread_id, checkpoint_id, body=body, metadata=metadata or packed({"of": place}), **given)
