"""`EntryFile`: lists of plain values in a file without a name, written once and read several times."""

import json
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import Any
from weakref import finalize

_IN_MEMORY = 4_000_000  # bytes; more are written to the disk
_ENTRIES, _BYTES = 200, 1_000_000  # a block has at most so many entries, and not many more bytes
_LENGTH = 8  # bytes of each of the two numbers before a block
_BYTES_KEY = "\0"  # no column has such a name


class EntryFile:
    """Lists of entries, one after the other; an entry is a list of rows, texts, numbers and bytes.

    A block of entries is one JSON text, in which lengths replace bytes, and then these bytes. The file is only this
    user's, and ends with the process.
    """

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - it lives as long as this
        self._block: list[list[Any]] = []
        self._bytes = 0
        finalize(self, self._file.close)

    def begin(self) -> int:
        """Begin a list, and give its place; a list that wasn't ended is never read."""
        self._block, self._bytes = [], 0
        return self._file.seek(0, 2)

    def add(self, entry: list[Any], size: int) -> None:
        """Add an entry of about so many bytes to the list that was begun last."""
        self._block.append(entry)
        self._bytes += size
        if len(self._block) >= _ENTRIES or self._bytes > _BYTES:
            self._write(self._block)
            self._block, self._bytes = [], 0

    def end(self) -> None:
        """End the list."""
        if self._block:
            self._write(self._block)
        self._write([])

    def cut(self, place: int) -> None:
        """Discard the lists from this place on."""
        self._block, self._bytes = [], 0
        self._file.truncate(place)

    def read(self, place: int) -> Iterator[list[Any]]:
        """The entries of the list at this place; several readers may take turns."""
        while True:
            self._file.seek(place)
            text, rest = (int.from_bytes(self._file.read(_LENGTH)) for _ in range(2))
            block = _decoded(self._file.read(text), self._file.read(rest))
            if not block:
                return
            place += 2 * _LENGTH + text + rest
            yield from block

    def _write(self, block: list[list[Any]]) -> None:
        parts: list[bytes] = []

        def length(part: bytes) -> dict[str, int]:
            parts.append(part)
            return {_BYTES_KEY: len(part)}

        text = json.dumps(block, default=length).encode()
        lengths = len(text).to_bytes(_LENGTH) + sum(map(len, parts)).to_bytes(_LENGTH)
        self._file.seek(0, 2)
        self._file.writelines([lengths, text, *parts])


def _decoded(text: bytes, parts: bytes) -> list[list[Any]]:
    at = 0

    def value(found: dict[str, Any]) -> Any:
        nonlocal at
        if (size := found.get(_BYTES_KEY)) is None:
            return found
        at += size
        return parts[at - size : at]

    block: list[list[Any]] = json.loads(text, object_hook=value)
    return block
