"""Connections that read without leaving a trace, and moments: all reads of a moment see the same state of the file.

There are three ways to open a file. Each was tried with SQLite 3.40 (``tests/savers/sqlite/test_opening.py``):

- A process has the file open in WAL mode: ``mode=ro``. One read transaction is one moment and blocks no writer.
- No process has it open, but a ``-wal`` is left: ``vfs=unix-none`` with ``locking_mode=exclusive`` keeps the index of
  the WAL in memory and creates no ``-shm``; with ``mode=ro``, closing can't write the WAL back into the file.
- Otherwise, or if the file has a rollback journal: ``immutable=1``, which takes no lock, so no writer ever waits.

The last two ways are right only while nobody writes. So the state of the file is compared before and after the read.
If the state changed, the read is repeated. In rollback mode a short ``mode=ro`` read comes first. This read fails if a
writer has locked the file exclusively, or was killed in the middle of a write, which only a writer can repair.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from itertools import compress, count, islice
from pathlib import Path
from time import sleep
from typing import Protocol, TypeVar

from ckpt_cli.errors import Refused
from ckpt_cli.savers.sqlite.driver import ResultRow, RowsOf, Statement, connect, decode, one_after_another
from ckpt_cli.savers.sqlite.faults import reading_fault
from ckpt_cli.savers.sqlite.files import FileState, ReadMode, read_file_state
from ckpt_cli.savers.sqlite.locks import WITHOUT_LOCKS

T = TypeVar("T")

_ATTEMPTS = 5
_PAUSE = 0.05  # seconds between attempts


class _Changed(Exception):
    """The file was written while it was read."""


class Connection(Protocol):
    """An open database file."""

    path: Path

    @property
    def file_state(self) -> FileState:
        """The file as it was when this connection last read its state."""
        ...

    def query(self, sql: str, parameters: Sequence[object] = ()) -> Iterator[ResultRow]:
        """The rows of one statement."""
        ...

    def beside(self, statements: Sequence[Statement]) -> AbstractContextManager[RowsOf]:
        """What gives the rows of these statements; they may run meanwhile, and should find few rows."""
        ...

    def moment(self, read: Callable[[], T]) -> T:
        """Run `read`; all its reads see the same state of the file."""
        ...

    def fired_by(self, statement: str) -> set[str]:
        """The names of the triggers that a statement would fire."""
        ...

    def renew(self) -> None:
        """Read the file's state again, after it was written."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


class ReadOnlyConnection:
    """A connection that only reads; other processes may write the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file_state = read_file_state(path)
        self._driver: sqlite3.Connection | None = None
        self._in_moment = False

    def query(self, sql: str, parameters: Sequence[object] = ()) -> Iterator[ResultRow]:
        """The rows of one statement, one at a time.

        Text is first decoded by the driver itself, which is quicker, and fails where it isn't UTF-8. From then on
        `driver.decode` does it; the statement runs again, on the same state of the file, and goes on where it was.
        """
        numbers = count(1)
        try:
            driver = self._open_driver()
            try:
                yield from compress(driver.execute(sql, parameters), numbers)  # counts rows without a loop of Python's
            except sqlite3.OperationalError as error:
                if driver.text_factory is not str or "decode" not in str(error):
                    raise
                driver.text_factory = decode
                yield from islice(driver.execute(sql, parameters), next(numbers) - 1, None)
        except sqlite3.DatabaseError as error:
            raise reading_fault(self.path, error) from error

    def beside(self, statements: Sequence[Statement]) -> AbstractContextManager[RowsOf]:
        """Run them at once in a thread of their own, if nobody writes: two connections see one state only then."""
        if self.file_state.read_mode is not ReadMode.IMMUTABLE:
            return one_after_another(self.query, statements)
        from ckpt_cli.savers.sqlite.beside import Beside

        return Beside(self.path, statements)

    def fired_by(self, statement: str) -> set[str]:
        """The names of the triggers that a statement would fire."""
        from ckpt_cli.savers.sqlite.triggers import fired_by

        return fired_by(self._open_driver(), statement)

    def moment(self, read: Callable[[], T]) -> T:
        """Run `read` on one state of the file; run it again if the file was written meanwhile.

        Raises:
            Refused: the file was written during every attempt.
        """
        if self._in_moment:
            return read()
        self._in_moment = True
        try:
            for _ in range(_ATTEMPTS):
                try:
                    return self._attempt(read)
                except _Changed:
                    sleep(_PAUSE)
        finally:
            self._in_moment = False
        raise Refused(f"{self.path} is being written all the time", hint="try again when its writer is less busy")

    def renew(self) -> None:
        """Read the file's state again after this process wrote it: an immutable connection doesn't notice a write."""
        self.close()
        self.file_state = read_file_state(self.path)

    def close(self) -> None:
        """Close the file."""
        if self._driver is not None:
            self._driver.close()
            self._driver = None

    def _attempt(self, read: Callable[[], T]) -> T:
        if self.file_state.read_mode is ReadMode.LIVE:
            self.close()
        state = read_file_state(self.path)
        if self._differs(state):
            self.close()
        self.file_state = state
        try:
            if state.read_mode is ReadMode.LIVE:
                return self._within_transaction(read)
            value = read()
        except Exception as error:
            self._raise_if_changed(error)
            raise
        self._raise_if_changed()
        return value

    def _within_transaction(self, read: Callable[[], T]) -> T:
        """Read in a transaction, then close: the next `read_file_state` would drop this process's locks anyway."""
        try:
            self._open_driver().execute("BEGIN")
            return read()
        except sqlite3.DatabaseError as error:
            raise reading_fault(self.path, error) from error
        finally:
            self.close()

    def _raise_if_changed(self, error: Exception | None = None) -> None:
        if self._differs(read_file_state(self.path)):
            raise _Changed from error

    def _differs(self, state: FileState) -> bool:
        """Whether the file must be opened again: an immutable connection never notices a change by itself."""
        before = self.file_state
        return state.read_mode is not before.read_mode or (state.read_mode is not ReadMode.LIVE and state != before)

    def _open_driver(self) -> sqlite3.Connection:
        if self._driver is None:
            if not self.file_state.wal_mode:
                self._read_with_lock()
            self._driver = connect(self.path, _OPTIONS[self.file_state.read_mode])
            if self.file_state.read_mode is ReadMode.LEFTOVER_WAL:
                self._driver.execute("PRAGMA locking_mode=exclusive")
            self._driver.execute("PRAGMA query_only=1")
            self._driver.text_factory = str
        return self._driver

    def _read_with_lock(self) -> None:
        """Read once with SQLite's lock. This fails if a writer has locked the file, or was killed while it wrote."""
        with closing(connect(self.path, "mode=ro")) as driver:
            driver.execute("SELECT count(*) FROM sqlite_schema")


_OPTIONS = {
    ReadMode.LIVE: "mode=ro",
    ReadMode.LEFTOVER_WAL: f"mode=ro&vfs={WITHOUT_LOCKS}",
    ReadMode.IMMUTABLE: "mode=ro&immutable=1",
}
