"""Makes folders and files that only their owner can read, without ever following a symbolic link."""

import os
import stat
from pathlib import Path

_FOLDER, _FILE = 0o700, 0o600
_HOME = "ckpt"
"""The name of the folder that has nothing but ckpt's own files."""


def make_private(path: Path) -> None:
    """Make a file and its folders if they are missing, and remove the rights that other users have to them.

    Raises:
        OSError: the file can't be made, or it is a symbolic link.
    """
    path.parent.parent.mkdir(mode=_FOLDER, parents=True, exist_ok=True)
    path.parent.mkdir(mode=_FOLDER, exist_ok=True)
    if path.parent.parent.name == _HOME:
        for folder in (path.parent.parent, path.parent):
            _close_folder(folder)
    os.close(open_private(path))


def open_private(path: str | os.PathLike[str], flags: int = os.O_RDWR) -> int:
    """Open a file, and give its descriptor. The file is made if it is missing; other users lose all rights to it.

    Raises:
        OSError: the file is a symbolic link, or can't be opened.
    """
    number = os.open(path, flags | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), _FILE)
    if _is_open_to_others(os.fstat(number)):
        os.fchmod(number, _FILE)
    return number


def _close_folder(folder: Path) -> None:
    if _is_open_to_others(folder.stat()):
        folder.chmod(_FOLDER)


def _is_open_to_others(status: os.stat_result) -> bool:
    """Whether other users have any right to our file; always false without user ids (Windows)."""
    owner = getattr(os, "geteuid", lambda: None)()
    return status.st_uid == owner and bool(status.st_mode & (stat.S_IRWXG | stat.S_IRWXO))
