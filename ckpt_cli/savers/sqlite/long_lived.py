"""One connection that is kept: for a program that reads and writes all the time from any of its threads, an agent.

It never looks at the file itself as `files.survey` does: closing any descriptor of a file drops the locks that this
process holds on it (POSIX), those of an open connection too.
"""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ckpt_cli.errors import DatabaseUnreachable
from ckpt_cli.savers.sqlite.connection import connect, explained
from ckpt_cli.savers.sqlite.files import Survey, Way
from ckpt_cli.savers.sqlite.saver import SqliteSaver
from ckpt_cli.savers.sqlite.schema import Layout, detect
from ckpt_cli.savers.sqlite.writing import WritableFile

T = TypeVar("T")


class KeptFile(WritableFile):
    """An existing database file that stays open to be read and written; one thread at a time may use it."""

    def __init__(self, path: Path) -> None:
        self._open(path, connect(path, "mode=rw", threads=True))
        (journal,), (page_size,), (pages,) = (next(self.query(f"PRAGMA {name}")) for name in _FACTS)
        self.seen = Survey(Way.LIVE, journal == "wal", page_size, pages * page_size, 0, ())

    def moment(self, look: Callable[[], T]) -> T:
        """One read transaction, or a part of the one that is open."""
        if self._connection.in_transaction:
            return look()
        self._execute("BEGIN")
        try:
            return look()
        finally:
            if self._connection.in_transaction:
                self._execute("COMMIT")

    def _execute(self, statement: str) -> None:
        try:
            self._connection.execute(statement)
        except sqlite3.DatabaseError as error:
            raise explained(self.path, error) from error


_FACTS = ("journal_mode", "page_size", "page_count")


class KeptSaver(SqliteSaver):
    """A database file on its one connection."""

    def __init__(self, file: KeptFile, layout: Layout, location: str) -> None:
        super().__init__(file, layout, location)
        self._kept = file

    def transaction(self, work: Callable[[], T]) -> T:
        """One write transaction on the connection that also reads."""
        if self._writing is not None:
            return work()
        self._must_have_ids()
        self._writing, self._odd_ids = self._kept, None
        try:
            return self._kept.transaction(work)
        finally:
            self._writing = None


def open_kept(path: Path) -> KeptSaver:
    """Open an existing database to be read and written for a long time.

    Raises:
        DatabaseUnreachable: it isn't there, can't be read, or holds no checkpoints.
    """
    try:
        file = KeptFile(path.resolve())
    except sqlite3.DatabaseError as error:
        what = f"no such file: {path}" if not path.exists() else f"can't open {path}: {error}"
        raise DatabaseUnreachable(what) from error
    try:
        return KeptSaver(file, file.moment(lambda: detect(path, file.query)), str(path))
    except BaseException:
        file.close()
        raise
