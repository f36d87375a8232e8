"""Records that MongoDB can hold: metadata is a document of pairs."""

import json
from base64 import b64encode
from typing import Any

from ckpt_cli.conformance.records import checkpoint
from ckpt_cli.conformance.samples import Samples
from ckpt_cli.model import Checkpoint, Payload

TAG = "mongo-pairs"


def pairs(**leaves: tuple[str, bytes]) -> Payload:
    """Metadata of these values."""
    shown = {key: [tag, b64encode(data).decode()] for key, (tag, data) in leaves.items()}
    return Payload(TAG, json.dumps({**shown, "parents": {}}).encode())


class MongoSamples(Samples):
    """The usual records with such metadata."""

    metadata = pairs(step=("msgpack", b"\xff"), n=("bytes", "ä\0".encode()))

    def checkpoint(self, thread_id: str, checkpoint_id: str, **given: Any) -> Checkpoint:
        """Metadata contains the checkpoint's names, unless it is given."""
        place = f"{thread_id}|{given.get('ns', '')}|{checkpoint_id}".encode()
        metadata = given.pop("metadata", None) or pairs(of=("bytes", place))
        body = given.pop("payload", None)
        return checkpoint(thread_id, checkpoint_id, body=body, metadata=metadata, **given)
