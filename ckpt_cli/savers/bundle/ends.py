"""A bundle's header, and the footer behind each index: the fixed bytes by which a file is known and read.

Both are skippable frames of zstandard (RFC 8878, 3.1.2), so that a whole bundle is a valid zstandard file.
"""

import hashlib
import struct
from collections.abc import Callable
from typing import NamedTuple

from ckpt_cli.errors import DatabaseDamaged, DatabaseUnreachable

VERSION = 1
_SKIP_HEADER, _SKIP_FOOTER = 0x184D2A5C, 0x184D2A5D
_TITLE, _ENDING = b"ckpt bundle\n", b"ckpt index end\n\0"
_NOTE = b"see docs/bundle.md\n"
_REDACTED_NOTE = b"redacted, docs/bundle.md"
_HEADER = struct.Struct("<II12sI16s24s")
_FOOTER = struct.Struct("<II16s16sQQQQ32s")
_START = struct.pack("<II", _SKIP_HEADER, _HEADER.size - 8) + _TITLE
_FOOTER_START = struct.pack("<II", _SKIP_FOOTER, _FOOTER.size + 32 - 8) + _ENDING

HEADER_SIZE = _HEADER.size
FOOTER_SIZE = _FOOTER.size + 32
_CHUNK = 1 << 20

ReadAt = Callable[[int, int], bytes]
"""Reads so many bytes at an offset; fewer only at the end of the file."""


class Footer(NamedTuple):
    """Where an index is.

    Attributes:
        at: the footer's own offset.
        offset: the index's offset; between the two is nothing else.
        size: the bytes of the index, compressed.
        contents: the bytes of the index, decompressed.
        digest: the SHA-256 of the compressed index.
    """

    at: int
    offset: int
    size: int
    contents: int
    digest: bytes

    @property
    def end(self) -> int:
        """The offset behind the footer: all before it is in effect."""
        return self.at + FOOTER_SIZE


def is_bundle(start: bytes) -> bool:
    """Whether a file that begins so is a bundle of any version."""
    return start.startswith(_START)


def make_header(bundle_id: bytes, *, redacted: bool = False) -> bytes:
    """The beginning of a bundle; its 16 random bytes are in each of its footers too."""
    note = _REDACTED_NOTE if redacted else _NOTE
    return _HEADER.pack(_SKIP_HEADER, _HEADER.size - 8, _TITLE, VERSION, bundle_id, note)


def read_header(data: bytes) -> bytes:
    """The id of the bundle that begins with these bytes.

    Raises:
        DatabaseUnreachable: it isn't a bundle, or one of a newer version.
    """
    if not is_bundle(data) or len(data) < HEADER_SIZE:
        raise DatabaseUnreachable("the file isn't a bundle")
    _, _, _, version, bundle_id, _ = _HEADER.unpack(data[:HEADER_SIZE])
    if version != VERSION:
        what = f"the bundle's format has version {version}; this ckpt reads version {VERSION}"
        raise DatabaseUnreachable(what, hint="a newer ckpt reads it")
    return bytes(bundle_id)


def make_footer(bundle_id: bytes, footer: Footer) -> bytes:
    """The bytes behind an index."""
    place = (footer.at, footer.offset, footer.size, footer.contents)
    body = _FOOTER.pack(_SKIP_FOOTER, FOOTER_SIZE - 8, _ENDING, bundle_id, *place, footer.digest)
    return body + hashlib.sha256(body).digest()


def find_footer(read_at: ReadAt, size: int, bundle_id: bytes) -> Footer:
    """The last footer of a file of this size. If the last addition was cut off, it is the footer before that.

    A footer names its own place and the bundle's id, so no bytes inside a value are taken for one.

    Raises:
        DatabaseDamaged: there is none.
    """
    end = size
    while end > HEADER_SIZE:
        start = max(HEADER_SIZE, end - _CHUNK)
        chunk = read_at(start, end - start + len(_FOOTER_START) - 1)
        position = chunk.rfind(_FOOTER_START)
        while position >= 0:
            footer = _parse(read_at(start + position, FOOTER_SIZE), bundle_id, start + position)
            if footer is not None:
                return footer
            position = chunk.rfind(_FOOTER_START, 0, position + len(_FOOTER_START) - 1)
        end = start
    raise DatabaseDamaged("the bundle has no whole index: it was never finished, or is cut off")


def _parse(data: bytes, bundle_id: bytes, position: int) -> Footer | None:
    """The footer in these bytes; None if they aren't a whole footer of this bundle at this place."""
    body = data[: _FOOTER.size]
    if len(data) < FOOTER_SIZE or hashlib.sha256(body).digest() != data[_FOOTER.size :]:
        return None
    _, _, _, own_id, at, offset, size, contents, digest = _FOOTER.unpack(body)
    is_here = own_id == bundle_id and at == position and offset + size == at and offset >= HEADER_SIZE
    return Footer(at, offset, size, contents, digest) if is_here else None
