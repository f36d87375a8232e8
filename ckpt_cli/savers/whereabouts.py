"""Where a database of files is, and whether the one that was seen at another path is still there."""

from collections.abc import Callable
from pathlib import Path
from stat import S_ISREG

from ckpt_cli.errors import CkptError, DatabaseUnreachable
from ckpt_cli.savers.about import Place
from ckpt_cli.savers.contract import Saver


def place_of(address: str, path: Path) -> Place:
    """The place of a file: its numbers on this machine find it under a new name, but are used again after it."""
    try:
        status = path.stat()
    except OSError:
        return Place(address)
    return Place(address, f"{status.st_dev}:{status.st_ino}")


def original_at(
    own: Path, other: Path, is_it: Callable[[Saver], bool], opened: Callable[[Path], Saver | None]
) -> bool | None:
    """Whether the database that was at another path is still there, beside this one; None if it can't be read.

    Args:
        own: the file of this database.
        other: the file that the other was in.
        is_it: whether a database is that one.
        opened: opens a file for reading; None where it holds no checkpoints.
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
        return _is_it(other, is_it, opened)
    except DatabaseUnreachable:
        return None if _may_be_one(other) else False
    except CkptError:
        return None


def _is_it(path: Path, is_it: Callable[[Saver], bool], opened: Callable[[Path], Saver | None]) -> bool:
    saver = opened(path)
    if saver is None:
        return False
    try:
        return is_it(saver)
    finally:
        saver.close()


def _may_be_one(path: Path) -> bool:
    """Whether a file that can't be opened as a database of checkpoints may be one all the same."""
    try:
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\x00"
    except OSError:
        return True
