"""Finds out, without a lock, whether a process has a database open; what if the system can't tell.

This works on Linux and macOS, but not on Windows or on file systems without locks. There, a database in use is read as
if nobody had it open: without a lock, and again if it changed meanwhile.
"""

import os
import sys
from pathlib import Path
from struct import pack, unpack

WITHOUT_LOCKS = "win32-none" if sys.platform == "win32" else "unix-none"
"""The name of the SQLite VFS that takes no locks on this system (``os_win.c``, ``os_unix.c``)."""

_ALIVE_BYTE = 128  # the byte of a -shm that every connection keeps locked (sqlite 3.40, ``os_unix.c: UNIX_SHM_DMS``)
_LINUX = sys.platform.startswith("linux")
_FLOCK = "hhqqi4x" if _LINUX else "qqihh"
_KIND_INDEX = 0 if _LINUX else 3


def is_open(shared: Path) -> bool:
    """Whether some process has the database of this ``-shm`` open; False if the system can't tell.

    This process's own locks are seen only if the system has F_OFD_GETLK.
    """
    try:
        import fcntl

        command = getattr(fcntl, "F_OFD_GETLK", fcntl.F_GETLK)
        with shared.open("rb") as file:
            answer = fcntl.fcntl(file, command, _flock(fcntl.F_WRLCK))
    except (ImportError, OSError):
        return False
    kind: int = unpack(_FLOCK, answer)[_KIND_INDEX]
    return kind != fcntl.F_UNLCK


def _flock(kind: int) -> bytes:
    if _LINUX:
        return pack(_FLOCK, kind, os.SEEK_SET, _ALIVE_BYTE, 1, 0)
    return pack(_FLOCK, _ALIVE_BYTE, 1, 0, kind, os.SEEK_SET)
