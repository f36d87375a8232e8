"""Finds the files of ``langgraph dev`` or an `InMemorySaver`: a file for each of three dicts, or one file.

``langgraph dev`` writes ``.langgraph_api/.langgraph_checkpoint.{1,2,3}.pckl`` (langgraph-runtime-inmem 0.36,
``checkpoint.py: InMemorySaver``): 1 is storage, 2 is writes, 3 is blobs.
"""

from pathlib import Path
from typing import NamedTuple

from ckpt_cli.errors import DatabaseUnreachable

FOLDER = ".langgraph_api"
_STEM = ".langgraph_checkpoint."
_NUMBERED = (".1.", ".2.", ".3.")


class Files(NamedTuple):
    """The files of the three dicts; `writes` and `blobs` are None if missing, or if `storage` holds everything.

    Attributes:
        served: whether ``langgraph dev`` wrote the files.
    """

    storage: Path
    writes: Path | None = None
    blobs: Path | None = None
    served: bool = False

    @property
    def all(self) -> list[Path]:
        """The files that exist."""
        return [path for path in (self.storage, self.writes, self.blobs) if path is not None]

    def marks(self) -> tuple[tuple[int, int, int], ...]:
        """Inode, size and time of each file; if two calls give the same, nobody wrote to the files between the calls.

        Raises:
            DatabaseUnreachable: a file no longer exists.
        """
        try:
            return tuple((s.st_ino, s.st_size, s.st_mtime_ns) for s in (path.stat() for path in self.all))
        except OSError as error:
            raise DatabaseUnreachable(f"can't read {error.filename}: {error.strerror}") from error


def is_dev_folder(folder: Path) -> bool:
    """Whether a folder belongs to ``langgraph dev``, or contains a folder that does."""
    return folder.name == FOLDER or (folder / FOLDER).is_dir() or _storage(folder).is_file()


def find_files(path: Path) -> Files:
    """The files that belong to a path.

    Raises:
        DatabaseUnreachable: the folder has none.
    """
    if not path.is_dir():
        return _with_numbered_files(path.resolve())
    folder = path.resolve()
    folder = folder / FOLDER if (folder / FOLDER).is_dir() else folder
    if not _storage(folder).is_file():
        hint = "`langgraph dev` writes its checkpoints when it is stopped with Ctrl+C"
        raise DatabaseUnreachable(f"{path} holds no checkpoints", hint=hint)
    return _with_numbered_files(_storage(folder))._replace(served=True)


def _storage(folder: Path) -> Path:
    return folder / f"{_STEM}1.pckl"


def _with_numbered_files(storage: Path) -> Files:
    """A storage file and its numbered neighbours; the storage file alone if its name has no number."""
    if _NUMBERED[0] not in storage.name:
        return Files(storage)
    head, _, tail = storage.name.rpartition(_NUMBERED[0])
    others = (storage.with_name(f"{head}{number}{tail}") for number in _NUMBERED[1:])
    writes, blobs = (path if path.is_file() else None for path in others)
    return Files(storage, writes, blobs, storage.name.startswith(_STEM))
