"""Splits and joins the one payload of a checkpoint and its metadata: ``{"checkpoint": …, "metadata": …}``.

langgraph-checkpoint-aws 1.2.6, ``dynamodb/unified_repository.py: put_checkpoint``. Plain msgpack is split and joined as
bytes, so nothing is encoded anew. Any other encoding is carried as a whole, under a tag that says which half is meant
(``checkpoint@json``, ``metadata@msgpack+aes``).
"""

from ckpt_cli.errors import NotSupported
from ckpt_cli.model import Payload

_MAP_OF_TWO = b"\x82"
_CHECKPOINT, _METADATA = b"\xaacheckpoint", b"\xa8metadata"
_FIXED = {0xC0: 0, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4}
_FIXED |= {0xD3: 8, 0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17}
_SIZED = {0xC4: (1, 0), 0xC5: (2, 0), 0xC6: (4, 0), 0xC7: (1, 1), 0xC8: (2, 1), 0xC9: (4, 1)}
_SIZED |= {0xD9: (1, 0), 0xDA: (2, 0), 0xDB: (4, 0)}
_MANY = {0xDC: (2, 1), 0xDD: (4, 1), 0xDE: (2, 2), 0xDF: (4, 2)}


def split(tag: str, data: bytes) -> tuple[Payload, Payload]:
    """The payloads of the checkpoint and of the metadata."""
    if tag == "msgpack" and data.startswith(_MAP_OF_TWO + _CHECKPOINT):
        start = len(_MAP_OF_TWO + _CHECKPOINT)
        end = _end(data, start)
        if end is not None and data.startswith(_METADATA, end):
            after = end + len(_METADATA)
            if _end(data, after) == len(data):
                return Payload(tag, data[start:end]), Payload(tag, data[after:])
    return Payload(f"checkpoint@{tag}", data), Payload(f"metadata@{tag}", data)


def join(body: Payload, metadata: Payload) -> Payload:
    """The one payload of a checkpoint and its metadata.

    Raises:
        NotSupported: one of them isn't plain msgpack, and they aren't the halves of one payload.
    """
    if body.tag == metadata.tag == "msgpack":
        return Payload("msgpack", b"".join([_MAP_OF_TWO, _CHECKPOINT, body.data, _METADATA, metadata.data]))
    tag = body.tag.removeprefix("checkpoint@")
    if body.tag.startswith("checkpoint@") and metadata == Payload(f"metadata@{tag}", body.data):
        return Payload(tag, body.data)
    what = f"{body.tag.removeprefix('checkpoint@')} with {metadata.tag.removeprefix('metadata@')}"
    hint = "encrypted checkpoints of this saver can be read and copied, not changed"
    raise NotSupported(
        f"DynamoDB's saver keeps checkpoint and metadata in one value; {what} can't be joined", hint=hint
    )


def _end(data: bytes, at: int) -> int | None:
    """The offset of the end of the msgpack element at `at`; None if the bytes end before it does."""
    left = 1
    while left:
        if at >= len(data):
            return None
        byte, at, left = data[at], at + 1, left - 1
        if 0x80 <= byte < 0xA0:
            left += (byte & 0x0F) * (2 if byte < 0x90 else 1)
        elif 0xA0 <= byte < 0xC0:
            at += byte & 0x1F
        elif byte in _FIXED:
            at += _FIXED[byte]
        elif byte in _SIZED:
            width, extra = _SIZED[byte]
            at += width + extra + int.from_bytes(data[at : at + width])
        elif byte in _MANY:
            width, each = _MANY[byte]
            left += each * int.from_bytes(data[at : at + width])
            at += width
        elif byte == 0xC1:
            return None
    return at if at <= len(data) else None
