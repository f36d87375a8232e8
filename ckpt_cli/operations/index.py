"""Which logs were used for which addresses: one line of JSON each, only ever added to; the newest counts most.

It helps to find a log and proves nothing, so a line that can't be read is left out.
"""

import json
import os
import re
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

from ckpt_cli.savers.about import Place

_NAME = "index"
_MOST = 1 << 20  # bytes that are read, from the end
_FOLDER = re.compile(r"[0-9a-f]{20}(-[0-9]{1,6})?")


class Entry(NamedTuple):
    """A log's folder, and a database that it was used for; `mark` is `Place.mark`."""

    folder: str
    address: str
    mark: str


class Index:
    """The lines of one state folder."""

    def __init__(self, state: Path) -> None:
        self._path = state / _NAME

    def entries(self) -> list[Entry]:
        """All lines, the newest first; nothing where they can't be read."""
        lines = reversed(self._read().splitlines())
        return [entry for line in lines if (entry := _parsed(line)) is not None]

    def add(self, folder: str, place: Place) -> None:
        """Say that a log is used for a database, unless its newest line says so already."""
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
            file.seek(max(0, status.st_size - _MOST))
            return file.read()


def _parsed(line: bytes) -> Entry | None:
    """An entry, if a line is one; its folder is a name that ckpt gives."""
    try:
        words = json.loads(line)
        entry = Entry(words["folder"], words["address"], words["mark"])
    except (ValueError, KeyError, TypeError):
        return None
    is_text = all(isinstance(word, str) for word in entry)
    return entry if is_text and _FOLDER.fullmatch(entry.folder) else None
