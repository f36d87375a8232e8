"""Whether a write-ahead log holds anything (the SQLite file format, "The Write-Ahead Log").

SQLite deletes a log without a committed frame when the last connection closes, also one that reads through the
``unix-none`` VFS (seen with 3.40); so such a log is never opened, and reading without it gives the same.
"""

from pathlib import Path
from struct import iter_unpack, unpack
from typing import BinaryIO

_HEADER = 32
_FRAME = 24
_MAGIC = {0x377F0682: "<II", 0x377F0683: ">II"}
_WORD = 0xFFFFFFFF


def committed(path: Path) -> bool:
    """Whether there is a log whose first transaction is whole; a reader uses it if and only if it is."""
    if not path.exists():
        return False
    with path.open("rb") as log:
        header = log.read(_HEADER)
        if len(header) < _HEADER:
            return False
        magic, _, page_size, _, *salt, sum0, sum1 = unpack(">8I", header)
        words = _MAGIC.get(magic)
        if words is None or _checksum(words, header[:24], (0, 0)) != (sum0, sum1):
            return False
        return _first_commit(log, words, page_size, tuple(salt), (sum0, sum1))


def _first_commit(log: BinaryIO, words: str, page_size: int, salt: tuple[int, ...], chain: tuple[int, int]) -> bool:
    """Follow the frames, each sealed by a checksum over all before it, up to one that ends a transaction."""
    while len(frame := log.read(_FRAME + page_size)) == _FRAME + page_size:
        _, pages_after_commit, *rest = unpack(">6I", frame[:_FRAME])
        chain = _checksum(words, frame[_FRAME:], _checksum(words, frame[:8], chain))
        if (*salt, *chain) != tuple(rest):
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
