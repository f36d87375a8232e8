"""Compresses and decompresses frames with zstandard, never to more bytes than the frame's reader allows."""

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from ckpt_cli.errors import DatabaseDamaged, MissingExtra

WINDOW_LOG = 25
"""The largest window of a frame, as a power of two: what a decoder must hold beside the frame itself."""
_LEVEL = 3
_BUCKET_LOG = 1
"""Two places to look for a long match: a state repeats the states before it, and each place is compared to its end."""
_PIECE = 1 << 20  # bytes that are decompressed at once


def compress(data: bytes | bytearray | memoryview) -> bytes:
    """One frame, with its length and a checksum of its contents."""
    zstd = _library()
    name = zstd.CompressionParameter
    options = {
        name.compression_level: _LEVEL,
        name.window_log: WINDOW_LOG,
        name.enable_long_distance_matching: 1,
        name.ldm_bucket_size_log: _BUCKET_LOG,
        name.checksum_flag: 1,
    }
    compressed: bytes = zstd.compress(data, options=options)
    return compressed


def decompress(data: bytes, size: int) -> memoryview:
    """The contents of one frame, which must have this size; in memory once, as a library's join would take it twice.

    Raises:
        DatabaseDamaged: it isn't one whole frame, or its contents have another size.
    """
    zstd = _library()
    decompressor = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: WINDOW_LOG})
    contents, done = bytearray(size), 0
    try:
        while not decompressor.eof and (data or not decompressor.needs_input):
            piece = decompressor.decompress(data, max_length=_PIECE)
            data = b""
            if done + len(piece) > size:
                raise _other_size(size)
            contents[done : done + len(piece)] = piece
            done += len(piece)
    except zstd.ZstdError as error:
        raise DatabaseDamaged(f"a frame can't be decompressed: {error}") from None
    if done != size or not decompressor.eof or decompressor.unused_data:
        raise _other_size(size)
    return memoryview(contents).toreadonly()


def _other_size(size: int) -> DatabaseDamaged:
    return DatabaseDamaged(f"a frame's contents aren't the {size:,} bytes that the index says")


def decompress_stream(blocks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The contents of frames that stand one behind the other, in pieces of bounded size, `size` bytes in all.

    Raises:
        DatabaseDamaged: they aren't whole frames, or their contents have another size.
    """
    zstd = _library()
    decompressor, done = None, 0
    for block in blocks:
        data = block
        while data or (decompressor is not None and not decompressor.needs_input and not decompressor.eof):
            if decompressor is None or decompressor.eof:
                decompressor = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: WINDOW_LOG})
            try:
                piece = decompressor.decompress(data, max_length=_PIECE)
            except zstd.ZstdError as error:
                raise DatabaseDamaged(f"the index can't be decompressed: {error}") from None
            done += len(piece)
            if done > size:
                raise DatabaseDamaged(f"the index has more than the {size:,} bytes that it says")
            yield piece
            data = decompressor.unused_data if decompressor.eof else b""
    if done != size or (decompressor is not None and not decompressor.eof):
        raise DatabaseDamaged(f"the index hasn't the {size:,} bytes that it says")


def _library() -> Any:
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ModuleNotFoundError as error:
        from ckpt_cli.installing import install_extra

        raise MissingExtra("a bundle needs backports.zstd, which isn't here", hint=install_extra("bundle")) from error
    return zstd
