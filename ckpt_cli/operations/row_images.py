"""Images of rows for the log: packed with the exact types, hashed; names that UTF-8 can't hold."""

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from ckpt_cli.model import Row, RowChange, Scalar
from ckpt_cli.savers.digests import Digest

BUNDLED = b"bundle\0"
"""How an image begins that is in a bundle; a compressed one begins with another byte."""
_END = b"\x00"  # JSON in ASCII has no such byte
_SHA256 = "sha256"
_SORTED = json.JSONEncoder(sort_keys=True)
_SHORT = 1000  # bytes of an image that isn't worth compressing


class BundledRow(dict[str, Scalar]):
    """A row that a bundle has. The log keeps where it is, and no image of it.

    Attributes:
        reference: names the bundle and the thread; see `operations.bundles`.
    """

    reference: bytes = BUNDLED


def digest(row: Row | None) -> bytes | None:
    """A hash of all columns of a row and their types; None for a missing row."""
    return None if row is None else blake2b(_image(row), digest_size=16).digest()


def pack_and_digest(row: Row | None) -> tuple[bytes | None, bytes | None]:
    """The compressed image of a row (of one that a bundle has, where it is), and its `digest`."""
    if row is None:
        return None, None
    image = _image(row)
    proof = blake2b(image, digest_size=16).digest()
    if isinstance(row, BundledRow):
        return row.reference, proof
    return zlib.compress(image, 1) if len(image) > _SHORT else _stored(image), proof


def _stored(image: bytes) -> bytes:
    """What zlib makes of a short image without compressing it: one stored block (RFC 1950, RFC 1951).

    For each image zlib would first clear the memory that compressing needs.
    """
    size = len(image)
    lengths = size.to_bytes(2, "little") + (size ^ 0xFFFF).to_bytes(2, "little")
    return b"\x78\x01\x01" + lengths + image + zlib.adler32(image).to_bytes(4)


def unpack(image: bytes | None) -> Row | None:
    """The row of an image."""
    if image is None:
        return None
    data = zlib.decompress(image)
    end = data.index(_END)
    row: dict[str, Any] = {}
    start = end + 1
    for column, value in json.loads(data[:end]).items():
        if isinstance(value, list):
            row[column] = data[start : start + value[0]]
            start += value[0]
        elif isinstance(value, dict):
            row[column] = Digest(bytes.fromhex(value[_SHA256]))
        else:
            row[column] = value
    return row


def key_text(key: Row) -> str:
    """A row's key as text; equal keys give equal texts."""
    columns = {k: [b64encode(v).decode()] if isinstance(v, bytes) else v for k, v in key.items()}
    return _SORTED.encode(columns)


def images_of(change: "Change") -> Sequence[bytes | None]:
    """Both images of a row change packed, then the digests of both."""
    if isinstance(change, Packed):
        return change.images
    (before, old), (after, new) = pack_and_digest(change.before), pack_and_digest(change.after)
    return before, after, old, new


class Packed:
    """A row change as the log stores it.

    Attributes:
        images: both images packed, then the digests of both.
    """

    __slots__ = ("images", "key", "relation")

    def __init__(self, relation: str, key: Row, images: Sequence[bytes | None]) -> None:
        self.relation, self.key, self.images = relation, key, images


Change = RowChange | Packed
"""What the log can store."""


def to_sqlite(text: str) -> str | bytes:
    """The text in a form that SQLite can store: bytes if it contains half a surrogate pair, as thread ids may."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def from_sqlite(value: str | bytes) -> str:
    """The text that was given to `to_sqlite`."""
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


def parse_key(text: str) -> Row:
    """The key from which `key_text` made this text."""
    return {k: b64decode(v[0]) if isinstance(v, list) else v for k, v in json.loads(text).items()}


def _image(row: Row) -> bytes:
    """All columns, sorted: a JSON object in which lengths replace the bytes values, and then these bytes values."""
    columns = sorted(row.items())
    header = {name: _in_header(value) if isinstance(value, bytes) else value for name, value in columns}
    own = [value for _, value in columns if isinstance(value, bytes) and not isinstance(value, Digest)]
    return b"".join([json.dumps(header).encode(), _END, *own])


def _in_header(value: bytes) -> list[int] | dict[str, str]:
    return {_SHA256: value.hex()} if isinstance(value, Digest) else [len(value)]
