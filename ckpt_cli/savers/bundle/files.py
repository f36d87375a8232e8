"""Opens a bundle's file for writing: a new one under a temporary name, an existing one to be appended to."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ckpt_cli.errors import DatabaseUnreachable, Refused
from ckpt_cli.savers.bundle.ends import make_header
from ckpt_cli.savers.bundle.index import Index, Redaction
from ckpt_cli.savers.bundle.reader import BundleReader
from ckpt_cli.savers.bundle.writer import BundleWriter

UNFINISHED = ".unfinished"
"""The ending of a new bundle's name until it is whole."""


@contextmanager
def bundle_writer(path: Path, redaction: Redaction | None = None) -> Iterator[BundleWriter]:
    """Add threads to a bundle, which is made if there is none; only its user may read a new one.

    What is added is in effect at the end of the block. If the block raises an error, the bundle is what it was.
    `redaction` says how the threads were redacted.

    Raises:
        DatabaseUnreachable: the file can't be made or opened, or isn't a bundle.
        DatabaseDamaged: the bundle's index is damaged, so that nothing can be added to it.
        Refused: another program adds to it now, or its threads were redacted in another way, or not at all.
    """
    if path.exists():
        with _locked(path) as file:
            yield from _appending(path, file, redaction)
        return
    unfinished = path.with_name(path.name + UNFINISHED)
    with _locked(unfinished) as file:
        file.truncate(0)
        try:
            yield from _new(file, redaction)
        except BaseException:
            unfinished.unlink()
            raise
        unfinished.rename(path)
        _sync_folder(path)


def _new(file: BinaryIO, redaction: Redaction | None) -> Iterator[BundleWriter]:
    bundle_id = os.urandom(16)
    header = make_header(bundle_id, redacted=redaction is not None)
    file.write(header)
    writer = BundleWriter(file, bundle_id, Index(redaction=redaction), len(header))
    yield writer
    writer.finish()


def must_be_redacted_alike(old: Redaction | None, new: Redaction | None) -> None:
    """Refuse to mix records that were redacted in different ways in one bundle.

    Raises:
        Refused: the ways differ, or nothing shows that they are the same.
    """
    if old == new and (new is None or new.key):
        return
    hint = "export to a new file"
    if old is None:
        raise Refused("the bundle isn't redacted; redacted threads can't be added to it", hint=hint)
    if new is None:
        raise Refused("the bundle is redacted; only threads redacted in the same way can be added to it", hint=hint)
    if not old.key:
        raise Refused("the bundle was redacted without a salt; nothing can be added to it", hint=hint)
    raise Refused("the bundle was redacted with another salt, or with other rules", hint=hint)


def _appending(path: Path, file: BinaryIO, redaction: Redaction | None) -> Iterator[BundleWriter]:
    reader = BundleReader(path)
    reader.close()
    must_be_redacted_alike(reader.index.redaction, redaction)
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
