"""A reader of bundles written from docs/bundle.md alone: it shares no code with ckpt."""

import hashlib
import json
import struct
import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

FOOTER = 136


def read_bundle(path: Path) -> dict[str, Any]:
    """The records of all threads: lists whose payloads are pairs of tag and bytes."""
    data = path.read_bytes()
    assert struct.unpack("<II", data[:8]) == (0x184D2A5C, 56) and data[8:20] == b"ckpt bundle\n"
    assert struct.unpack("<I", data[20:24]) == (1,)
    offset, size, contents = _last_footer(data, data[24:40])
    lines = [json.loads(line) for line in _frames(data[offset : offset + size], contents).splitlines()]
    frames = [_frame(data, *line["frame"]) for line in lines if "frame" in line]

    def join(segments: list[list[int]]) -> bytes:
        return b"".join(frames[frame][start : start + length] for frame, start, length in segments)

    def payload(value: list[Any]) -> tuple[str, bytes]:
        return value[0], join([value[i : i + 3] for i in range(1, len(value), 3)])

    def record(kind: str, *columns: Any) -> list[Any]:
        if kind == "write":
            return [kind, *columns[:-1], payload(columns[-1])]
        ns, checkpoint_id, parent_id, body, metadata, channels = columns
        apart = None if channels is None else {name: payload(one) for name, one in channels.items()}
        return [kind, ns, checkpoint_id, parent_id, payload(body), payload(metadata), apart]

    threads = [line for line in lines if "thread" in line]
    return {one["thread"]: [record(*json.loads(x)) for x in join(one["pages"]).splitlines()] for one in threads}


def _last_footer(data: bytes, own_id: bytes) -> tuple[int, int, int]:
    for at in range(len(data) - FOOTER, 63, -1):
        footer = data[at : at + FOOTER]
        if footer[8:24] != b"ckpt index end\n\0" or hashlib.sha256(footer[:104]).digest() != footer[104:]:
            continue
        itself, offset, size, contents = struct.unpack("<QQQQ", footer[40:72])
        if footer[24:40] == own_id and itself == at:
            assert hashlib.sha256(data[offset:at]).digest() == footer[72:104]
            return offset, size, contents
    raise AssertionError("no footer")


def _frame(data: bytes, offset: int, size: int, contents: int, checksum: str) -> bytes:
    frame = data[offset : offset + size]
    assert hashlib.sha256(frame).digest()[:16].hex() == checksum
    return _frames(frame, contents)


def _frames(data: bytes, contents: int) -> bytes:
    decompressed: bytes = zstd.decompress(data)
    assert len(decompressed) == contents
    return decompressed
