"""Where a database's file is, and whether a database seen at another path still exists: copy or move."""

from collections.abc import Callable
from pathlib import Path
from stat import S_ISREG

from ckpt_cli.errors import CkptError, DatabaseUnreachable
from ckpt_cli.savers.about import Place
from ckpt_cli.savers.contract import Saver


def place_of(address: str, path: Path) -> Place:
    """The place of a file. Device and inode find it after a rename; a new file may get those of a deleted one."""
    try:
        status = path.stat()
    except OSError:
        return Place(address)
    return Place(address, f"{status.st_dev}:{status.st_ino}")


def original_at(
    own: Path, other: Path, is_it: Callable[[Saver], bool], open_file: Callable[[Path], Saver | None]
) -> bool | None:
    """Whether the database that was seen at another path still exists there, so that this one is its copy.

    False: the other path leads to this file, or that database is no longer there. None: the other file can't be read.

    Args:
        own: the file of this database.
        other: the path at which it was seen.
        is_it: says whether an open database is the one that was seen.
        open_file: opens a file for reading; returns None if it holds no checkpoints.
    """
    try:
        there, here = other.stat(), own.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return None
    if (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino) or not S_ISREG(there.st_mode):
        return False
    try:
        return _is_it(other, is_it, open_file)
    except DatabaseUnreachable:
        return None if _may_be_database(other) else False
    except CkptError:
        return None


def _is_it(path: Path, is_it: Callable[[Saver], bool], open_file: Callable[[Path], Saver | None]) -> bool:
    saver = open_file(path)
    if saver is None:
        return False
    try:
        return is_it(saver)
    finally:
        saver.close()


def _may_be_database(path: Path) -> bool:
    """Whether a file that can't be opened as a checkpoint database may still be one."""
    try:
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\x00"
    except OSError:
        return True
