"""What is left of deleted rows in operation logs: every byte of every file, and every image unpacked."""

import json
import sqlite3
import zlib
from base64 import b64encode
from collections.abc import Collection, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

_PIECE = 20  # bytes: too many to be the same by chance


def files(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Every file below a folder."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path, path.read_bytes()


def values(path: Path) -> Iterator[bytes]:
    """Every value of every table of a log; what was compressed is unpacked."""
    with closing(sqlite3.connect(path)) as connection:
        connection.text_factory = bytes
        tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        for (name,) in tables:
            for row in connection.execute(f'SELECT * FROM "{name.decode()}"'):
                for value in row:
                    yield _unpacked(value) if isinstance(value, bytes) else repr(value).encode()


def holders(folder: Path, word: str) -> list[str]:
    """The files below a folder that hold a text, as it is or in an image."""
    paths = [str(path) for path, data in files(folder) if holds(data, word)]
    for path, _ in files(folder):
        if path.suffix == ".sqlite":
            paths += [f"a value in {path}" for value in values(path) if holds(value, word)]
    return paths


def holds(data: bytes, word: str) -> bool:
    """Whether bytes hold a text as it is, as JSON writes it, or inside of base64."""
    plain = word.encode()
    inside = (_core(plain, before) for before in range(3))
    return any(one in data for one in (plain, json.dumps(word)[1:-1].encode(), *inside))


def _core(plain: bytes, before: int) -> bytes:
    """What base64 makes of some bytes behind so many others, without what those and the next ones have a part in."""
    return b64encode(bytes(before) + plain)[(before * 8 + 5) // 6 : (before + len(plain)) * 8 // 6]


def pieces(path: Path, thread_ids: Collection[str]) -> set[bytes]:
    """Pieces of all that a log holds of some threads, as stored; none that it holds of other threads too."""
    mine: set[bytes] = set()
    others: list[bytes] = []
    with closing(sqlite3.connect(path)) as connection:
        statement = "SELECT key, before, after, before_hash, after_hash FROM changes"
        for key, *images in connection.execute(statement):
            stored = [value for value in (key.encode(), *images) if value]
            if any(json.dumps(one)[1:-1] in key for one in thread_ids):
                mine.update(piece for value in stored for piece in _cut(value))
            else:
                others += stored
    shared = b"\n".join(others)
    return {piece for piece in mine if piece not in shared}


def left(folder: Path, sought: Collection[bytes]) -> list[str]:
    """The files below a folder that hold one of some pieces."""
    return [str(path) for path, data in files(folder) if any(piece in data for piece in sought)]


def _cut(value: bytes) -> Iterator[bytes]:
    yield from (value[at : at + _PIECE] for at in range(0, len(value) - _PIECE + 1, _PIECE))
    if len(value) == 16:  # a hash
        yield value


def _unpacked(value: Any) -> bytes:
    with suppress(zlib.error):
        return zlib.decompress(value)
    return bytes(value)
