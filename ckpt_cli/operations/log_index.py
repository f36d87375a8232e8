"""The index file: it says which log was used for which database address.

Each line is JSON; lines are only added, and the newest line of an address counts. The index helps to find a log but
proves nothing, so an unreadable line is ignored.
"""

import json
import os
import re
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

from ckpt_cli.savers.about import Place

_NAME = "index"
_MOST_BYTES = 1 << 20  # at most this many bytes are read, from the end of the file
_FOLDER = r"[0-9a-f]{20}(-[0-9]{1,6})?"


class Entry(NamedTuple):
    """A log's folder, and the address and `Place.mark` of the database for which the log was used."""

    folder: str
    address: str
    mark: str


class Index:
    """The index file of the folder that contains all logs."""

    def __init__(self, state: Path) -> None:
        self._path = state / _NAME

    def entries(self) -> list[Entry]:
        """All entries, the newest first; none if the file can't be read."""
        lines = reversed(self._read().splitlines())
        return [entry for line in lines if (entry := _parse(line)) is not None]

    def add(self, folder: str, place: Place) -> None:
        """Add a line for a log and its database, unless the newest line of this address says the same."""
        entry = Entry(folder, place.address, place.mark)
        if next((one for one in self.entries() if one.address == place.address), None) == entry:
            return
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self._path, flags, 0o600)
        try:
            os.write(descriptor, (json.dumps(entry._asdict()) + "\n").encode())
        finally:
            os.close(descriptor)

    def _read(self) -> bytes:
        try:
            descriptor = os.open(self._path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
        except OSError:
            return b""
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not S_ISREG(status.st_mode):
                return b""
            file.seek(max(0, status.st_size - _MOST_BYTES))
            return file.read()


def _parse(line: bytes) -> Entry | None:
    """The entry of a line; None if the line isn't an entry, or names a folder that ckpt would not make."""
    try:
        words = json.loads(line)
        entry = Entry(words["folder"], words["address"], words["mark"])
    except (ValueError, KeyError, TypeError):
        return None
    is_text = all(isinstance(word, str) for word in entry)
    return entry if is_text and re.fullmatch(_FOLDER, entry.folder) else None
