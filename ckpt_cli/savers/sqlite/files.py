"""The files on disk: database, WAL, journal; how to read them without a trace; files that aren't SQLite.

Nothing here opens a database.
"""

from enum import Enum
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import NamedTuple

from ckpt_cli.errors import DatabaseUnreachable
from ckpt_cli.savers.sqlite.locks import is_open
from ckpt_cli.savers.sqlite.wal import has_commit

_MAGIC = b"SQLite format 3\x00"
_PACKED = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bzip2",
}


class ReadMode(Enum):
    """How a file is opened so that reading leaves no trace; `ckpt info` shows the values."""

    LIVE = "a process has it open"
    LEFTOVER_WAL = "with the log that its last writer left"
    IMMUTABLE = "nobody writes"


class FileState(NamedTuple):
    """A database file at one moment; if two states are equal, nobody wrote the file in between.

    Attributes:
        size: bytes of the file; `wal_size` has the bytes of its WAL.
        marks: inode, size and time of the file, its WAL and its journal, and the file's change counters.
    """

    read_mode: ReadMode
    wal_mode: bool
    page_size: int
    size: int
    wal_size: int
    marks: tuple[object, ...]


def read_file_state(path: Path) -> FileState:
    """Read the state of a file; `path` has no links in it.

    The read mode is decided from the files, not by opening the database: if SQLite opens a WAL-mode file read-only, it
    creates ``-wal`` and ``-shm`` if there are none, and rewrites a ``-shm`` that a killed writer left (both seen with
    3.40). Don't call this function while this process has a locked connection to the file: a process that
    closes any descriptor of a file loses all its POSIX locks on the file.

    Raises:
        DatabaseUnreachable: the file doesn't exist, can't be read, or isn't an SQLite database.
    """
    try:
        return _file_state(path, _header(path))
    except OSError as error:
        raise DatabaseUnreachable(f"can't read {error.filename or path}: {error.strerror}") from error


def _file_state(path: Path, header: bytes) -> FileState:
    wal_mode = header[18] == 2
    wal, shared = _companion(path, "-wal"), _companion(path, "-shm")
    file, wal_mark = _file_mark(path), _file_mark(wal)
    read_mode = ReadMode.IMMUTABLE
    if wal_mode and _exists(shared) and _exists(wal) and is_open(shared):
        read_mode = ReadMode.LIVE
    elif wal_mode and has_commit(wal, wal_mark):
        read_mode = ReadMode.LEFTOVER_WAL
    marks = (file, wal_mark, _file_mark(_companion(path, "-journal")), header[24:28], header[92:96])
    page_size = int.from_bytes(header[16:18], "big")
    page_size = 65536 if page_size == 1 else page_size
    return FileState(read_mode, wal_mode, page_size, file[1], wal_mark[1] if wal_mode else 0, marks)


def is_sqlite(path: Path) -> bool:
    """Whether a file begins like an SQLite database."""
    try:
        if not path.is_file():  # opening a FIFO would wait
            return False
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def _header(path: Path) -> bytes:
    mode = path.stat().st_mode
    if S_ISDIR(mode):
        raise DatabaseUnreachable(f"{path} is a folder", hint="name the database file in it")
    if not S_ISREG(mode):
        raise DatabaseUnreachable(f"{path} is not a regular file")
    with path.open("rb") as file:
        header = file.read(100)
    if not header:
        raise DatabaseUnreachable(f"{path} is empty (0 bytes): nothing was ever saved in it")
    if packed := next((name for magic, name in _PACKED.items() if header.startswith(magic)), None):
        raise DatabaseUnreachable(f"{path} is packed with {packed}", hint="unpack it, and name the database file in it")
    if len(header) < 100 or not header.startswith(_MAGIC):
        raise DatabaseUnreachable(f"{path} is not an SQLite database", hint="an encrypted file looks like this too")
    return header


def _companion(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _exists(path: Path) -> bool:
    return _file_mark(path) != _ABSENT


_ABSENT = (0, 0, 0)


def _file_mark(path: Path) -> tuple[int, int, int]:
    try:
        status = path.stat()
    except FileNotFoundError:
        return _ABSENT
    if not S_ISREG(status.st_mode):  # opening a FIFO waits until somebody writes to it
        hint = "SQLite keeps its WAL or journal under that name"
        raise DatabaseUnreachable(f"{path} is not a regular file", hint=hint)
    return (status.st_ino, status.st_size, status.st_mtime_ns)
