"""Whether a write-ahead log holds anything (the SQLite file format, "The Write-Ahead Log").

SQLite deletes a log without a committed frame when the last connection closes, also one that reads through the
``unix-none`` VFS (seen with 3.40); so such a log is never opened, and reading without it gives the same.
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
_CHECKED = 1000  # frames


@lru_cache(maxsize=8)
def has_commit(path: Path, mark: object) -> bool:  # noqa: ARG001 - a log of another mark is looked into again
    """Whether there is a log whose first transaction is whole; a reader uses it if and only if it is.

    `mark` is the log's identity, size and time.
    """
    if not path.exists():
        return False
    with path.open("rb") as log:
        header = log.read(_HEADER)
        if len(header) < _HEADER:
            return False
        magic, _, page_size, _, *salt, sum0, sum1 = unpack(">8I", header)
        words = _MAGIC.get(magic)
        if words is None or page_size not in _PAGE_SIZES:
            return False
        chain = _checksum(words, header[:24], (0, 0))
        return chain == (sum0, sum1) and _first_commit(log, words, page_size, salt, chain)


def _first_commit(log: BinaryIO, words: str, page_size: int, salt: list[int], chain: tuple[int, int]) -> bool:
    """Follow the frames, each sealed by a checksum over all before it, up to one that ends a transaction.

    Of a transaction of many megabytes (a VACUUM) the later frames are only held to bear the log's salt.
    """
    for number in count():
        frame = log.read(_FRAME + page_size)
        if len(frame) < _FRAME + page_size:
            return False
        _, pages_after_commit, *seal = unpack(">6I", frame[:_FRAME])
        if number < _CHECKED:
            chain = _checksum(words, frame[_FRAME:], _checksum(words, frame[:8], chain))
            if seal[2:] != [*chain]:
                return False
        if seal[:2] != salt:
            return False
        if pages_after_commit:
            return True
    return False


def _checksum(words: str, data: bytes, chain: tuple[int, int]) -> tuple[int, int]:
    a, b = chain
    for even, odd in iter_unpack(words, data):
        a = (a + even + b) & _WORD
        b = (b + odd + a) & _WORD
    return a, b
