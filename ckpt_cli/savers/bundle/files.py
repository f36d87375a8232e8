"""Opens a bundle's file for writing: a new one under a temporary name, an existing one to be appended to."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ckpt_cli.errors import DatabaseUnreachable, Refused
from ckpt_cli.savers.bundle.ends import make_header
from ckpt_cli.savers.bundle.index import Index
from ckpt_cli.savers.bundle.reader import BundleReader
from ckpt_cli.savers.bundle.writer import BundleWriter

UNFINISHED = ".unfinished"
"""The ending of a new bundle's name until it is whole."""


@contextmanager
def bundle_writer(path: Path) -> Iterator[BundleWriter]:
    """Add threads to a bundle, which is made if there is none; only its user may read a new one.

    What is added is in effect at the end of the block. If the block raises an error, the bundle is what it was.

    Raises:
        DatabaseUnreachable: the file can't be made or opened, or isn't a bundle.
        DatabaseDamaged: the bundle's index is damaged, so that nothing can be added to it.
        Refused: another program adds to it now.
    """
    if path.exists():
        with _locked(path) as file:
            yield from _appending(path, file)
        return
    unfinished = path.with_name(path.name + UNFINISHED)
    with _locked(unfinished) as file:
        file.truncate(0)
        try:
            yield from _new(file)
        except BaseException:
            unfinished.unlink()
            raise
        unfinished.rename(path)
        _sync_folder(path)


def _new(file: BinaryIO) -> Iterator[BundleWriter]:
    bundle_id = os.urandom(16)
    header = make_header(bundle_id)
    file.write(header)
    writer = BundleWriter(file, bundle_id, Index(), len(header))
    yield writer
    writer.finish()


def _appending(path: Path, file: BinaryIO) -> Iterator[BundleWriter]:
    reader = BundleReader(path)
    reader.close()
    end = reader.footer.end
    writer = BundleWriter(file, reader.bundle_id, reader.index, end)
    try:
        yield writer
        writer.finish()
    except BaseException:
        file.truncate(end)
        raise


@contextmanager
def _locked(path: Path) -> Iterator[BinaryIO]:
    """The open file, while no other program adds to it."""
    try:
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise DatabaseUnreachable(f"can't write {path}: {error.strerror}") from error
    with os.fdopen(number, "r+b") as file:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise _being_written(path) from error
        if not _is_at(path, number):  # that program has finished, and given the file its name
            raise _being_written(path)
        yield file


def _being_written(path: Path) -> Refused:
    return Refused(f"another program writes {path} now", hint="try again when it has finished")


def _is_at(path: Path, number: int) -> bool:
    """Whether an open file is still the one at this path."""
    try:
        return os.path.samestat(path.stat(), os.fstat(number))
    except OSError:
        return False


def _sync_folder(path: Path) -> None:
    """Make sure that a file's new name survives a crash."""
    folder = os.open(path.resolve().parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
