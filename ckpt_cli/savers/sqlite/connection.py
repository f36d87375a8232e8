"""Connections that read and leave no trace, and moments in which what is read belongs together.

What SQLite 3.40 does was tried out, situation by situation (``tests/savers/test_sqlite_opening.py``):

- a process has the file open in WAL mode: ``mode=ro``; one read transaction is one moment and blocks no writer;
- a ``-wal`` was left and nobody is there: ``vfs=unix-none`` with ``locking_mode=exclusive`` keeps the log's index in
  memory, creates no ``-shm`` and, opened ``mode=ro``, can't put the log back into the file at closing;
- neither, or a rollback-journal file: ``immutable=1``, without any lock, so that no writer ever waits.

The last two hold only while nobody writes, so the file is looked at before and after, and the read is done again if it
was changed. In rollback mode a short ``mode=ro`` look comes first: it fails where a writer holds the file exclusively,
and where one was killed half-way, which only a writer can mend.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from time import sleep
from typing import Any, Protocol, TypeVar

from ckpt_cli.errors import DatabaseDamaged, DatabaseUnreachable, Refused
from ckpt_cli.savers.contract import HalfWrittenError
from ckpt_cli.savers.sqlite.files import Survey, Way, survey
from ckpt_cli.savers.sqlite.locks import WITHOUT_LOCKS

T = TypeVar("T")
Row = tuple[Any, ...]

_TIMEOUT = 1.0  # seconds to wait for a lock
_ATTEMPTS = 5
_PAUSE = 0.05  # seconds between attempts


class NotCheckpoints(DatabaseUnreachable):
    """An SQLite database without LangGraph's tables."""


class _Changed(Exception):
    """Somebody wrote while it was read."""


def connect(path: Path, options: str = "", *, threads: bool = False) -> sqlite3.Connection:
    """A connection in autocommit; text that isn't UTF-8 is carried, not refused.

    `threads` lets other threads use it than the one that opened it, one at a time.
    """
    address = f"file:{_quoted(path)}?{options}"
    connection = sqlite3.connect(
        address, timeout=_TIMEOUT, isolation_level=None, check_same_thread=not threads, uri=True
    )
    connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
    return connection


def _quoted(path: Path) -> str:
    """A path as a URI filename: ``?``, ``#``, ``%`` and all that isn't plain ASCII as ``%HH``."""
    plain = b"/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    return "".join(chr(byte) if byte in plain else f"%{byte:02X}" for byte in os.fsencode(path))


class File(Protocol):
    """An open database file."""

    path: Path

    @property
    def seen(self) -> Survey:
        """How the file was found."""
        ...

    def query(self, sql: str, words: Sequence[object] = ()) -> Iterator[Row]:
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


class ReadOnlyFile:
    """A database file that others may write and this one only reads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.seen = survey(path)
        self._connection: sqlite3.Connection | None = None
        self._inside = False

    def query(self, sql: str, words: Sequence[object] = ()) -> Iterator[Row]:
        """The rows of one statement, one at a time."""
        try:
            yield from self._connected().execute(sql, words)
        except sqlite3.DatabaseError as error:
            raise explained(self.path, error) from error

    def fired_by(self, statement: str) -> set[str]:
        """The triggers that a statement would fire."""
        from ckpt_cli.savers.sqlite.triggers import fired_by

        return fired_by(self._connected(), statement)

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
        self.seen = survey(self.path)

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _attempt(self, look: Callable[[], T]) -> T:
        if self.seen.way is Way.LIVE:
            self.close()
        now = survey(self.path)
        if self._differs(now):
            self.close()
        self.seen = now
        try:
            if now.way is Way.LIVE:
                return self._within_transaction(look)
            value = look()
        except Exception as error:
            self._check(error)
            raise
        self._check()
        return value

    def _within_transaction(self, look: Callable[[], T]) -> T:
        """Look, then close: SQLite's locks would not outlive the next `survey` of this process."""
        try:
            self._connected().execute("BEGIN")
            return look()
        except sqlite3.DatabaseError as error:
            raise explained(self.path, error) from error
        finally:
            self.close()

    def _check(self, error: Exception | None = None) -> None:
        if self._differs(survey(self.path)):
            raise _Changed from error

    def _differs(self, now: Survey) -> bool:
        """Whether what is open must be opened anew: an immutable connection never notices a change by itself."""
        return now.way is not self.seen.way or (now.way is not Way.LIVE and now != self.seen)

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            if not self.seen.wal_mode:
                self._ask_for_lock()
            self._connection = connect(self.path, _OPTIONS[self.seen.way])
            if self.seen.way is Way.LEFT:
                self._connection.execute("PRAGMA locking_mode=exclusive")
            self._connection.execute("PRAGMA query_only=1")
        return self._connection

    def _ask_for_lock(self) -> None:
        with closing(connect(self.path, "mode=ro")) as connection:
            connection.execute("SELECT count(*) FROM sqlite_schema")


_OPTIONS = {Way.LIVE: "mode=ro", Way.LEFT: f"mode=ro&vfs={WITHOUT_LOCKS}", Way.STILL: "mode=ro&immutable=1"}


def explained(path: Path, error: sqlite3.DatabaseError) -> DatabaseUnreachable:
    """An engine's error in words for the person in front of it."""
    text = str(error)
    if "locked" in text:
        return DatabaseUnreachable(f"{path} is locked by another process", hint="try again when it has finished")
    if "readonly database" in text:
        hint = "its application, `sqlite3` or any ckpt command that writes rolls back what was half done"
        return HalfWrittenError(f"{path} was left in the middle of a write", lambda: _roll_back(path), hint=hint)
    if "malformed" in text or "not a database" in text:
        return DatabaseDamaged(f"{path} is damaged: {text}", hint="`sqlite3 FILE .recover` may save what is left")
    return DatabaseUnreachable(f"can't read {path}: {text}")


def _roll_back(path: Path) -> None:
    """Let SQLite take back what a killed writer had half done: a connection that may write does at its first look."""
    try:
        with closing(connect(path, "mode=rw")) as connection:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.DatabaseError as error:
        raise Refused(f"{path} was left in the middle of a write and can't be mended: {error}") from error
