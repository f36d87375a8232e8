"""A file lock that only one ckpt process of this machine can have at a time; the log's file takes it.

The lock ends when the process ends.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ckpt_cli.errors import Failed, Refused
from ckpt_cli.operations.privacy import open_private


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Hold the lock on this file inside the block; the file itself is not deleted afterwards.

    Raises:
        Refused: another process holds the lock.
        Failed: the file can't be opened.
    """
    try:
        number = open_private(path)
    except OSError as error:
        raise Failed(f"can't open the lock {path}: {error.strerror}; nothing was written") from error
    with os.fdopen(number, "ab") as file:
        try:
            _lock(file)
        except OSError as error:
            what = "another ckpt is at work on this database; nothing was written"
            raise Refused(what, hint="try again") from error
        yield


def _lock(file: IO[bytes]) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
