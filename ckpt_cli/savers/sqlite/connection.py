"""Connections that read and leave no trace, and moments in which what is read belongs together.

What SQLite 3.40 does was tried out, situation by situation (``tests/savers/sqlite/test_opening.py``):

- a process has the file open in WAL mode: ``mode=ro``; one read transaction is one moment and blocks no writer;
- a ``-wal`` was left and nobody is there: ``vfs=unix-none`` with ``locking_mode=exclusive`` keeps the log's index in
  memory, creates no ``-shm`` and, opened ``mode=ro``, can't put the log back into the file at closing;
- neither, or a rollback-journal file: ``immutable=1``, without any lock, so that no writer ever waits.

The last two hold only while nobody writes, so the file is looked at before and after, and the read is done again if it
was changed. In rollback mode a short ``mode=ro`` look comes first: it fails where a writer holds the file exclusively,
and where one was killed half-way, which only a writer can mend.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from time import sleep
from typing import Protocol, TypeVar

from ckpt_cli.errors import Refused
from ckpt_cli.savers.sqlite.driver import ResultRow, connect
from ckpt_cli.savers.sqlite.faults import reading_fault
from ckpt_cli.savers.sqlite.files import FileState, ReadMode, read_file_state
from ckpt_cli.savers.sqlite.locks import WITHOUT_LOCKS

T = TypeVar("T")

_ATTEMPTS = 5
_PAUSE = 0.05  # seconds between attempts


class _Changed(Exception):
    """Somebody wrote while it was read."""


class Connection(Protocol):
    """An open database file."""

    path: Path

    @property
    def file_state(self) -> FileState:
        """How the file was found."""
        ...

    def query(self, sql: str, words: Sequence[object] = ()) -> Iterator[ResultRow]:
        """The rows of one statement."""
        ...

    def moment(self, look: Callable[[], T]) -> T:
        """Run `look` on one moment of the file."""
        ...

    def fired_by(self, statement: str) -> set[str]:
        """The triggers that a statement would fire."""
        ...

    def renew(self) -> None:
        """Look at the file anew, after it was written."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


class ReadOnlyConnection:
    """A database file that others may write and this one only reads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file_state = read_file_state(path)
        self._driver: sqlite3.Connection | None = None
        self._inside = False

    def query(self, sql: str, words: Sequence[object] = ()) -> Iterator[ResultRow]:
        """The rows of one statement, one at a time."""
        try:
            yield from self._open_driver().execute(sql, words)
        except sqlite3.DatabaseError as error:
            raise reading_fault(self.path, error) from error

    def fired_by(self, statement: str) -> set[str]:
        """The triggers that a statement would fire."""
        from ckpt_cli.savers.sqlite.triggers import fired_by

        return fired_by(self._open_driver(), statement)

    def moment(self, look: Callable[[], T]) -> T:
        """Run `look` on one moment of the file; run it again where a writer came in between.

        Raises:
            Refused: the file changed every time.
        """
        if self._inside:
            return look()
        self._inside = True
        try:
            for _ in range(_ATTEMPTS):
                try:
                    return self._attempt(look)
                except _Changed:
                    sleep(_PAUSE)
        finally:
            self._inside = False
        raise Refused(f"{self.path} is being written all the time", hint="try again when its writer is quieter")

    def renew(self) -> None:
        """Look at the file anew: this process has just written it, which an immutable connection would not notice."""
        self.close()
        self.file_state = read_file_state(self.path)

    def close(self) -> None:
        """Close the file."""
        if self._driver is not None:
            self._driver.close()
            self._driver = None

    def _attempt(self, look: Callable[[], T]) -> T:
        if self.file_state.read_mode is ReadMode.LIVE:
            self.close()
        now = read_file_state(self.path)
        if self._differs(now):
            self.close()
        self.file_state = now
        try:
            if now.read_mode is ReadMode.LIVE:
                return self._within_transaction(look)
            value = look()
        except Exception as error:
            self._check(error)
            raise
        self._check()
        return value

    def _within_transaction(self, look: Callable[[], T]) -> T:
        """Look, then close: SQLite's locks would not outlive the next `read_file_state` of this process."""
        try:
            self._open_driver().execute("BEGIN")
            return look()
        except sqlite3.DatabaseError as error:
            raise reading_fault(self.path, error) from error
        finally:
            self.close()

    def _check(self, error: Exception | None = None) -> None:
        if self._differs(read_file_state(self.path)):
            raise _Changed from error

    def _differs(self, now: FileState) -> bool:
        """Whether what is open must be opened anew: an immutable connection never notices a change by itself."""
        before = self.file_state
        return now.read_mode is not before.read_mode or (now.read_mode is not ReadMode.LIVE and now != before)

    def _open_driver(self) -> sqlite3.Connection:
        if self._driver is None:
            if not self.file_state.wal_mode:
                self._ask_for_lock()
            self._driver = connect(self.path, _OPTIONS[self.file_state.read_mode])
            if self.file_state.read_mode is ReadMode.LEFTOVER_WAL:
                self._driver.execute("PRAGMA locking_mode=exclusive")
            self._driver.execute("PRAGMA query_only=1")
        return self._driver

    def _ask_for_lock(self) -> None:
        with closing(connect(self.path, "mode=ro")) as connection:
            connection.execute("SELECT count(*) FROM sqlite_schema")


_OPTIONS = {
    ReadMode.LIVE: "mode=ro",
    ReadMode.LEFTOVER_WAL: f"mode=ro&vfs={WITHOUT_LOCKS}",
    ReadMode.IMMUTABLE: "mode=ro&immutable=1",
}
