"""Records as Postgres and MySQL keep them: a JSON header, and channels that are blobs or part of the header."""

import json
from base64 import b64encode
from hashlib import sha256
from typing import Any, ClassVar

from ckpt_cli.conformance import Conformance
from ckpt_cli.conformance.samples import PAYLOADS
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload


class ApartConformance(Conformance):
    """Checkpoints with a blob for their value. In a test that counts rows, the value is in the header instead."""

    metadata: ClassVar[Payload] = Payload("json", '{"step": -1, "n": "ä\\\\u0000"}'.encode())
    payloads: ClassVar[list[Payload]] = PAYLOADS

    def checkpoint(
        self,
        thread_id: str,
        checkpoint_id: str,
        *,
        ns: str = "",
        parent_id: str | None = None,
        payload: Payload | None = None,
        metadata: Payload | None = None,
    ) -> Checkpoint:
        """A checkpoint whose channel versions are the payload's hash: different values have different versions."""
        row = CheckpointRow(thread_id, ns, checkpoint_id, parent_id)
        place = f"{thread_id}|{ns}|{checkpoint_id}"
        metadata_payload = metadata if metadata is not None else Payload("json", json.dumps({"of": place}).encode())
        header: dict[str, Any] = {"v": 4, "id": checkpoint_id, "channel_values": {}, "channel_versions": {}}
        if payload is None or payload.data == b"other":
            data = b64encode(payload.data if payload else place.encode()).decode()
            header["channel_values"]["topic"] = data
            return Checkpoint(row, Payload("json", json.dumps(header).encode()), metadata_payload, {})
        version = sha256(payload.tag.encode() + payload.data).hexdigest()
        header["channel_versions"] = {"topic": version, "lost": version}
        return Checkpoint(row, Payload("json", json.dumps(header).encode()), metadata_payload, {"topic": payload})

    def alike(self, stored: Checkpoint, original: Checkpoint) -> bool:
        """Whether two checkpoints are equal, with JSON compared by its value, since the server may spell it anew."""
        same = stored.row.ref == original.row.ref and stored.row.parent_id == original.row.parent_id
        texts = ((stored.body, original.body), (stored.metadata, original.metadata))
        return same and stored.channels == original.channels and all(_equal(*pair) for pair in texts)


def _equal(stored: Payload, original: Payload) -> bool:
    return stored.tag == original.tag and json.loads(stored.data) == json.loads(original.data)
