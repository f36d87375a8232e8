"""Splits and joins the payload that holds both a checkpoint and its metadata.

Its value is ``{"checkpoint": …, "metadata": …}``. langgraph-checkpoint-aws 1.2.6, ``dynamodb/unified_repository.py:
put_checkpoint``. Plain msgpack is split and joined as bytes, so nothing is encoded anew. A payload of any other
encoding isn't split: each half gets the whole payload, under a tag that names the half (``checkpoint@json``,
``metadata@msgpack+aes``).
"""

from ckpt_cli.errors import NotSupported
from ckpt_cli.model import Payload

_MAP_OF_TWO = b"\x82"
_CHECKPOINT, _METADATA = b"\xaacheckpoint", b"\xa8metadata"
# first bytes of elements whose length is fixed: how many bytes follow
_FIXED_LENGTH = {
    0xC0: 0,
    0xC2: 0,
    0xC3: 0,
    0xCA: 4,
    0xCB: 8,
    0xCC: 1,
    0xCD: 2,
    0xCE: 4,
    0xCF: 8,
    0xD0: 1,
    0xD1: 2,
    0xD2: 4,
}
_FIXED_LENGTH |= {0xD3: 8, 0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17}
# first bytes of elements whose length follows: the width of the length, and how many bytes the length doesn't count
_LENGTH_PREFIXED = {0xC4: (1, 0), 0xC5: (2, 0), 0xC6: (4, 0), 0xC7: (1, 1), 0xC8: (2, 1), 0xC9: (4, 1)}
_LENGTH_PREFIXED |= {0xD9: (1, 0), 0xDA: (2, 0), 0xDB: (4, 0)}
# first bytes of arrays and maps: the width of the count, and how many elements each counted entry has
_CONTAINERS = {0xDC: (2, 1), 0xDD: (4, 1), 0xDE: (2, 2), 0xDF: (4, 2)}


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
    """The payload that holds both a checkpoint and its metadata.

    Raises:
        NotSupported: one payload isn't plain msgpack, and the two aren't the halves of one payload.
    """
    if body.tag == metadata.tag == "msgpack":
        return Payload("msgpack", b"".join([_MAP_OF_TWO, _CHECKPOINT, body.data, _METADATA, metadata.data]))
    tag = body.tag.removeprefix("checkpoint@")
    if body.tag.startswith("checkpoint@") and metadata == Payload(f"metadata@{tag}", body.data):
        return Payload(tag, body.data)
    what = f"{body.tag.removeprefix('checkpoint@')} with {metadata.tag.removeprefix('metadata@')}"
    sealed = "+" in body.tag or "+" in metadata.tag
    hint = "encrypted checkpoints of this saver can be read and copied, not changed" if sealed else ""
    raise NotSupported(
        f"DynamoDB's saver keeps checkpoint and metadata in one value; {what} can't be joined", hint=hint
    )


def _end(data: bytes, at: int) -> int | None:
    """The offset of the end of the msgpack element at `at`; None if the bytes end inside it."""
    elements_left = 1
    while elements_left:
        if at >= len(data):
            return None
        byte, at, elements_left = data[at], at + 1, elements_left - 1
        if 0x80 <= byte < 0xA0:
            elements_left += (byte & 0x0F) * (2 if byte < 0x90 else 1)
        elif 0xA0 <= byte < 0xC0:
            at += byte & 0x1F
        elif byte in _FIXED_LENGTH:
            at += _FIXED_LENGTH[byte]
        elif byte in _LENGTH_PREFIXED:
            width, extra = _LENGTH_PREFIXED[byte]
            at += width + extra + int.from_bytes(data[at : at + width])
        elif byte in _CONTAINERS:
            width, each = _CONTAINERS[byte]
            elements_left += each * int.from_bytes(data[at : at + width])
            at += width
        elif byte == 0xC1:
            return None
    return at if at <= len(data) else None
