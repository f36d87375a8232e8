"""One connection that is kept: for a program that reads and writes all the time from any of its threads, an agent.

It never reads the file itself as `files.read_file_state` does: when a process closes any descriptor of a file, it loses
all its locks on that file (POSIX), those of an open connection too.
"""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ckpt_cli.errors import DatabaseUnreachable
from ckpt_cli.savers.sqlite.driver import connect
from ckpt_cli.savers.sqlite.faults import reading_fault
from ckpt_cli.savers.sqlite.files import FileState, ReadMode
from ckpt_cli.savers.sqlite.saver import SqliteSaver
from ckpt_cli.savers.sqlite.schema import Schema, detect
from ckpt_cli.savers.sqlite.writable_connection import WritableConnection

T = TypeVar("T")


class LongLivedConnection(WritableConnection):
    """An existing database file that stays open to be read and written; one thread at a time may use it."""

    def __init__(self, path: Path) -> None:
        self._open(path, connect(path, "mode=rw", threads=True))
        (journal,), (page_size,), (pages,) = (next(self.query(f"PRAGMA {name}")) for name in _FACTS)
        self.file_state = FileState(ReadMode.LIVE, journal == "wal", page_size, pages * page_size, 0, ())

    def moment(self, look: Callable[[], T]) -> T:
        """One read transaction, or a part of the one that is open."""
        if self._driver.in_transaction:
            return look()
        self._execute("BEGIN")
        try:
            return look()
        finally:
            if self._driver.in_transaction:
                self._execute("COMMIT")

    def _execute(self, statement: str) -> None:
        try:
            self._driver.execute(statement)
        except sqlite3.DatabaseError as error:
            raise reading_fault(self.path, error) from error


_FACTS = ("journal_mode", "page_size", "page_count")


class LongLivedSaver(SqliteSaver):
    """A database file on its one connection."""

    def __init__(self, connection: LongLivedConnection, schema: Schema, location: str) -> None:
        super().__init__(connection, schema, location)
        self._long_lived = connection

    def transaction(self, work: Callable[[], T]) -> T:
        """One write transaction on the connection that also reads."""
        if self._writer is not None:
            return work()
        self._must_have_ids()
        self._writer, self._odd_ids = self._long_lived, None
        try:
            return self._long_lived.transaction(work)
        finally:
            self._writer = None


def open_long_lived(path: Path) -> LongLivedSaver:
    """Open an existing database to be read and written for a long time.

    Raises:
        DatabaseUnreachable: it isn't there, can't be read, or holds no checkpoints.
    """
    try:
        connection = LongLivedConnection(path.resolve())
    except sqlite3.DatabaseError as error:
        what = f"no such file: {path}" if not path.exists() else f"can't open {path}: {error}"
        raise DatabaseUnreachable(what) from error
    try:
        return LongLivedSaver(connection, connection.moment(lambda: detect(path, connection.query)), str(path))
    except BaseException:
        connection.close()
        raise
