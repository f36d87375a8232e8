"""Whether a process has a database open, asked without taking a lock.

Linux and macOS answer. Windows and file systems without locks don't: there a database in use is read without any lock,
like one that nobody has open, and read again if it changed meanwhile.
"""

import os
import sys
from pathlib import Path
from struct import pack, unpack

WITHOUT_LOCKS = "win32-none" if sys.platform == "win32" else "unix-none"
"""The name on this system of SQLite's VFS that takes no locks (``os_win.c``, ``os_unix.c``)."""

_ALIVE = 128  # the byte of a -shm that every connection keeps locked (sqlite 3.40, ``os_unix.c: UNIX_SHM_DMS``)
_LINUX = sys.platform.startswith("linux")
_FLOCK = "hhqqi4x" if _LINUX else "qqihh"
_KIND = 0 if _LINUX else 3


def is_open(shared: Path) -> bool:
    """Whether some process has the database of this ``-shm`` open; False where the system can't say.

    This process's own locks are seen only where the system has F_OFD_GETLK.
    """
    try:
        import fcntl

        question = getattr(fcntl, "F_OFD_GETLK", fcntl.F_GETLK)
        with shared.open("rb") as file:
            answer = fcntl.fcntl(file, question, _flock(fcntl.F_WRLCK))
    except (ImportError, OSError):
        return False
    kind: int = unpack(_FLOCK, answer)[_KIND]
    return kind != fcntl.F_UNLCK


def _flock(kind: int) -> bytes:
    if _LINUX:
        return pack(_FLOCK, kind, os.SEEK_SET, _ALIVE, 1, 0)
    return pack(_FLOCK, _ALIVE, 1, 0, kind, os.SEEK_SET)
