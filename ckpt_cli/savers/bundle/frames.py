"""Frames: blocks of bytes, compressed and checksummed; written through one buffer for each kind of bytes."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from ckpt_cli.errors import DatabaseDamaged
from ckpt_cli.savers.bundle.ends import ReadAt
from ckpt_cli.savers.bundle.segments import Segment
from ckpt_cli.savers.bundle.zstd import compress, decompress

LARGEST_FRAME = 1 << 25
"""No frame has more bytes, compressed or not. A reader refuses a larger one."""
DIGEST = 16
"""How many bytes of the SHA-256 of a frame's compressed bytes are kept."""
_CACHE = 28 << 20  # bytes of decompressed frames that a reader keeps: the largest of states, of metadata, of values


class Kind(StrEnum):
    """Bytes that are alike are in frames of their own, so that they compress well."""

    STATE = "state"
    """Checkpoints and their channels."""
    METADATA = "metadata"
    WRITE = "write"
    LONG = "long"
    """Long values, each once."""
    ROW = "row"
    """Values of whole rows, where they differ from those of records."""
    RECORDS = "records"
    """The lines that name checkpoints, writes and rows."""


_FULL = {Kind.STATE: 18 << 20, Kind.METADATA: 1 << 21, Kind.WRITE: 1 << 23, Kind.LONG: 1 << 22}
_FULL |= {Kind.ROW: 1 << 23, Kind.RECORDS: 1 << 22}
"""A frame is closed before it has more bytes than this, unless one segment alone has."""


class Frame(NamedTuple):
    """Where a frame is: its offset, its bytes in the file, its bytes decompressed, and its checksum."""

    offset: int
    size: int
    contents: int
    digest: bytes


class FrameWriter:
    """Collects bytes by kind, and appends a frame whenever one is full."""

    def __init__(self, append: Callable[[bytes], int], frames: list[Frame | None]) -> None:
        """`append` writes at the end of the file and returns the offset; `frames` are those the file has."""
        self.frames = frames
        self._append = append
        self._open: dict[Kind, tuple[int, int]] = {}  # the frame's number, and how many bytes it has
        self._buffers = {kind: bytearray() for kind in Kind}  # used again: new memory costs as much as the copying

    def add(self, kind: Kind, data: bytes | memoryview) -> Segment:
        """Add some bytes; they are in the file once the frame is full, or after `flush`."""
        number, end = self._open.get(kind) or self._new(kind)
        if end and end + len(data) > _FULL[kind]:
            self._close(kind)
            number, end = self._new(kind)
        self._put(self._buffers[kind], end, data)
        self._open[kind] = number, end + len(data)
        return Segment(number, end, len(data))

    def flush(self) -> list[Frame]:
        """Write the frames that are not full, and return all frames."""
        for kind in list(self._open):
            self._close(kind)
        return [frame for frame in self.frames if frame is not None]

    def _new(self, kind: Kind) -> tuple[int, int]:
        self.frames.append(None)
        self._open[kind] = len(self.frames) - 1, 0
        return self._open[kind]

    @staticmethod
    def _put(buffer: bytearray, start: int, data: bytes | memoryview) -> None:
        """Copy some bytes into a buffer; a view copies them once, an assignment to a slice of the buffer twice."""
        end = start + len(data)
        if start == len(buffer):
            buffer += data
            return
        if end > len(buffer):
            buffer += bytes(end - len(buffer))
        with memoryview(buffer) as view:
            view[start:end] = data

    def _close(self, kind: Kind) -> None:
        number, end = self._open.pop(kind)
        with memoryview(self._buffers[kind])[:end] as contents:
            data = compress(contents)
        if len(self._buffers[kind]) > _FULL[kind]:
            self._buffers[kind] = bytearray()
        digest = hashlib.sha256(data).digest()[:DIGEST]
        self.frames[number] = Frame(self._append(data), len(data), end, digest)


class FrameReader:
    """Reads segments; keeps the frames that were read last."""

    def __init__(self, read_at: ReadAt, frames: list[Frame]) -> None:
        self._read_at = read_at
        self._frames = frames
        self._cache: OrderedDict[int, memoryview] = OrderedDict()
        self._cached = 0

    def read(self, segment: Segment) -> bytes:
        """The bytes of a segment.

        Raises:
            DatabaseDamaged: there is no such segment, or its frame's bytes aren't those that were written.
        """
        if not 0 <= segment.frame < len(self._frames):
            raise DatabaseDamaged(f"a record names frame {segment.frame}, and the bundle has {len(self._frames)}")
        end = segment.offset + segment.length
        if not 0 <= segment.offset <= end <= self._frames[segment.frame].contents:
            raise DatabaseDamaged(f"a record names bytes that frame {segment.frame} doesn't have")
        return bytes(self._contents(segment.frame)[segment.offset : end])

    def _contents(self, number: int) -> memoryview:
        if number in self._cache:
            self._cache.move_to_end(number)
            return self._cache[number]
        frame = self._frames[number]
        while self._cache and self._cached + frame.contents > _CACHE:
            self._cached -= len(self._cache.popitem(last=False)[1])
        contents = self._cache[number] = self._load(number, frame)
        self._cached += len(contents)
        return contents

    def _load(self, number: int, frame: Frame) -> memoryview:
        data = self._read_at(frame.offset, frame.size)
        if len(data) != frame.size or hashlib.sha256(data).digest()[:DIGEST] != frame.digest:
            raise DatabaseDamaged(f"frame {number} of the bundle is damaged: its checksum differs")
        return decompress(data, frame.contents)
