"""Records as Postgres and MySQL store them: a JSON header, and channels as blobs or in the header."""

import json
from base64 import b64encode
from hashlib import sha256
from typing import Any, ClassVar

from ckpt_cli.conformance import Conformance
from ckpt_cli.conformance.samples import PAYLOADS
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload


class ApartConformance(Conformance):
    """Checkpoints whose value is a blob; the value is in the header where a record must be one row."""

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
        """The version is a hash of `payload`, so that two values never share one."""
        row = CheckpointRow(thread_id, ns, checkpoint_id, parent_id)
        place = f"{thread_id}|{ns}|{checkpoint_id}"
        metadata_payload = metadata if metadata is not None else Payload("json", json.dumps({"of": place}).encode())
        header: dict[str, Any] = {"v": 4, "id": checkpoint_id, "channel_values": {}, "channel_versions": {}}
        if payload is None or payload.data == b"other":
            data = b64encode(payload.data if payload else place.encode()).decode()
            header["channel_values"]["told"] = data
            return Checkpoint(row, Payload("json", json.dumps(header).encode()), metadata_payload, {})
        version = sha256(payload.tag.encode() + payload.data).hexdigest()
        header["channel_versions"] = {"told": version, "gone": version}
        return Checkpoint(row, Payload("json", json.dumps(header).encode()), metadata_payload, {"told": payload})

    def alike(self, stored: Checkpoint, given: Checkpoint) -> bool:
        """JSON is compared by its value, as the server changes its spelling."""
        same = stored.row.ref == given.row.ref and stored.row.parent_id == given.row.parent_id
        texts = ((stored.body, given.body), (stored.metadata, given.metadata))
        return same and stored.channels == given.channels and all(_equal(*pair) for pair in texts)


def _equal(stored: Payload, given: Payload) -> bool:
    return stored.tag == given.tag and json.loads(stored.data) == json.loads(given.data)
