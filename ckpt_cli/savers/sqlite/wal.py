"""Finds out in bounded time whether a WAL has a committed transaction, so that it must be read.

Source: the SQLite file format, "The Write-Ahead Log". SQLite deletes a WAL without a committed frame when the last
connection closes, even if that connection only reads through the ``unix-none`` VFS (seen with 3.40). So such a WAL is
never opened; reads without it give the same results.
"""

from functools import lru_cache
from itertools import count
from pathlib import Path
from struct import iter_unpack, unpack
from typing import BinaryIO

_HEADER = 32
_FRAME = 24
_MAGIC = {0x377F0682: "<II", 0x377F0683: ">II"}
_PAGE_SIZES = {512 << n for n in range(8)}
_WORD = 0xFFFFFFFF
_CHECKED_FRAMES = 1000  # the checksums of only this many frames are compared


@lru_cache(maxsize=8)
def has_commit(path: Path, mark: object) -> bool:  # noqa: ARG001 - part of the cache's key
    """Whether there is a WAL with a complete first transaction; only then do readers use the WAL.

    `mark` is the WAL's inode, size and time: if this mark has changed, the WAL is read again.
    """
    if not path.exists():
        return False
    with path.open("rb") as wal:
        header = wal.read(_HEADER)
        if len(header) < _HEADER:
            return False
        magic, _, page_size, _, *salt, sum0, sum1 = unpack(">8I", header)
        word_pair = _MAGIC.get(magic)
        if word_pair is None or page_size not in _PAGE_SIZES:
            return False
        chain = _checksum(word_pair, header[:24], (0, 0))
        return chain == (sum0, sum1) and _has_complete_transaction(wal, word_pair, page_size, salt, chain)


def _has_complete_transaction(
    wal: BinaryIO, word_pair: str, page_size: int, salt: list[int], chain: tuple[int, int]
) -> bool:
    """Whether some frame ends a transaction, and it and all frames before it are right.

    The checksum of a frame also covers all frames before it.

    In a transaction of many megabytes (a VACUUM), only the salt of the later frames is checked, not their checksum.
    """
    for number in count():
        frame = wal.read(_FRAME + page_size)
        if len(frame) < _FRAME + page_size:
            return False
        _, pages_after_commit, *salt_and_checksum = unpack(">6I", frame[:_FRAME])
        if number < _CHECKED_FRAMES:
            chain = _checksum(word_pair, frame[_FRAME:], _checksum(word_pair, frame[:8], chain))
            if salt_and_checksum[2:] != [*chain]:
                return False
        if salt_and_checksum[:2] != salt:
            return False
        if pages_after_commit:
            return True
    return False


def _checksum(word_pair: str, data: bytes, chain: tuple[int, int]) -> tuple[int, int]:
    a, b = chain
    for even, odd in iter_unpack(word_pair, data):
        a = (a + even + b) & _WORD
        b = (b + odd + a) & _WORD
    return a, b
