"""Folders and files that only their owner can read, and that are never reached through a symbolic link."""

import os
import stat
from pathlib import Path

_FOLDER, _FILE = 0o700, 0o600
_HOME = "ckpt"
"""The folder from which on everything is ckpt's own."""


def make_private(path: Path) -> None:
    """Make a file and its folders as far as they are missing, and close them to other users where they are open.

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
    """A descriptor of a file that is made if it is missing; an existing one is closed to other users.

    Raises:
        OSError: it is a symbolic link, or can't be opened.
    """
    number = os.open(path, flags | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), _FILE)
    if _is_open_to_others(os.fstat(number)):
        os.fchmod(number, _FILE)
    return number


def _close_folder(folder: Path) -> None:
    if _is_open_to_others(folder.stat()):
        folder.chmod(_FOLDER)


def _is_open_to_others(found: os.stat_result) -> bool:
    """Whether others have any right to what is ours; without user ids (Windows) modes say nothing."""
    owner = getattr(os, "geteuid", lambda: None)()
    return found.st_uid == owner and bool(found.st_mode & (stat.S_IRWXG | stat.S_IRWXO))
