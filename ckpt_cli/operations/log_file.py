"""The log's SQLite file: settings, wiped bytes; errors: damaged, no log, locked, newer, a link, a FIFO.

It has the operations and tags of one database. The first write makes the file; a read never does.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckpt_cli.errors import CkptError, Failed, Refused
from ckpt_cli.operations.log_paths import HINT
from ckpt_cli.operations.log_schema import VERSION, migrate
from ckpt_cli.shell_words import command

if TYPE_CHECKING:
    import sqlite3

_PATIENCE = {"ro": 0.5, "rw": 5.0}  # seconds to wait for a lock; a command that only reads works without the log


class LogFile:
    """One SQLite file that only its owner can read. Reading opens the file read-only, and only if the file exists."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None
        self._writable = False
        self._version = 0

    @property
    def exists(self) -> bool:
        """Whether anything was ever logged or tagged for this database.

        Raises:
            Failed: this user may not read the folder.
        """
        with self._translated_errors("read"):
            return self.path.exists()

    def rows(
        self, statement: str, words: Sequence[object] | Mapping[str, object] = (), *, since: int = 1
    ) -> list[tuple[Any, ...]]:
        """The rows that a statement gives; none if there is no file, or if its schema is older than version `since`."""
        if not self.exists:
            return []
        with self._translated_errors("read"):
            connection = self.connect()
            return connection.execute(statement, words).fetchall() if self._version >= since else []

    def connect(self) -> "sqlite3.Connection":
        """Open the file for reading unless it is open already, and give the connection.

        Raises:
            Failed: the file is damaged, or a newer ckpt wrote it.
        """
        if self._connection is None:
            import sqlite3

            with self._translated_errors("read"):
                try:
                    self._open_file("ro")
                except sqlite3.OperationalError as error:
                    if "readonly" not in str(error):
                        raise
                    # A killed ckpt left the file half written. SQLite rolls the write back on a writable connection.
                    self._open_file("rw")
        return self._open_connection

    @contextmanager
    def transaction(self) -> "Iterator[sqlite3.Connection]":
        """Run the block in one transaction, which is on disk when the block ends; the file is made if there is none.

        Raises:
            Failed: the file can't be written.
            Refused: another ckpt holds the write lock.
        """
        import sqlite3

        with self._translated_errors("write"):
            if not self._writable:
                self.close()
                self._make_file()
                self._open_file("rw")
                self._version = migrate(self._open_connection)
                self._writable = True
            self._open_connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._open_connection
            with self._translated_errors("write"):
                self._open_connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._as_error("write", error) from error
        finally:
            if self._open_connection.in_transaction:
                self._open_connection.execute("ROLLBACK")

    @contextmanager
    def exclusive(self, *, needed: bool) -> Iterator[None]:
        """If `needed`, keep other ckpt processes of this machine from changing this database.

        This is needed if the database has no transactions that exclude other writers.

        Raises:
            Refused: another ckpt is changing the database.
        """
        if not needed:
            yield
            return
        from ckpt_cli.operations.lock import hold_lock

        with self._translated_errors("write"):
            self._make_file()
        with hold_lock(self.path.with_name("lock")):
            yield

    def setting(self, name: str) -> str | None:
        """The value of a setting of this database; None if it isn't set."""
        rows = self.rows("SELECT value FROM settings WHERE name = ?", (name,), since=2)
        return rows[0][0] if rows else None

    def set_setting(self, name: str, value: str | None) -> None:
        """Store a setting of this database; None removes it."""
        with self.transaction() as connection:
            if value is None:
                connection.execute("DELETE FROM settings WHERE name = ?", (name,))
            else:
                connection.execute("INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)", (name, value))

    def scrub(self) -> None:
        """Rewrite the file if rows were wiped, so that no byte of them is left in a page or a journal.

        ``secure_delete`` already overwrites the bytes that a transaction frees. Rewriting also removes bytes that
        earlier versions of ckpt freed, and the copies that SQLite leaves in a page when it moves cells.

        Raises:
            Refused: another process is reading the log.
            Failed: the disk is full.
        """
        import sqlite3

        if not self.rows("SELECT 1 FROM forgetting WHERE thread_id IS NULL LIMIT 1", since=2):
            return
        with self.transaction():
            pass  # the file is open for writing from here on
        with self._translated_errors("write"):
            ((mode,),) = self._open_connection.execute("PRAGMA journal_mode=DELETE")
            if mode != "delete":
                raise sqlite3.OperationalError("database is locked")
            self._open_connection.execute("VACUUM")
        with self.transaction() as connection:
            connection.execute("DELETE FROM forgetting WHERE thread_id IS NULL")

    def close(self) -> None:
        """Close the file; safe to call twice."""
        if self._connection is not None:
            self._connection.close()
            self._connection, self._writable = None, False

    @property
    def version(self) -> int:
        """The version of the file's schema; 0 until the file is open."""
        return self._version

    @property
    def _open_connection(self) -> "sqlite3.Connection":
        if self._connection is None:
            raise RuntimeError("the log is not open")
        return self._connection

    def _make_file(self) -> None:
        from ckpt_cli.operations.privacy import make_private

        _must_be_no_link(self.path)
        self._must_be_regular()
        make_private(self.path)

    def _open_file(self, mode: str) -> None:
        import sqlite3

        _must_be_no_link(self.path)
        self._must_be_regular()
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, timeout=_PATIENCE[mode]
        )
        try:
            ((version,),) = connection.execute("PRAGMA user_version")
            if version > VERSION:
                raise Failed(f"the operation log {self.path} was written by a newer ckpt", hint="use that version")
            if mode == "rw":
                connection.executescript("PRAGMA synchronous=EXTRA; PRAGMA foreign_keys=ON; PRAGMA secure_delete=ON;")
        except BaseException:
            connection.close()
            raise
        self._connection, self._version = connection, version

    @contextmanager
    def _translated_errors(self, doing: str) -> Iterator[None]:
        import sqlite3

        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise self._as_error(doing, error) from error

    def _as_error(self, doing: str, error: Exception) -> CkptError:
        if "locked" in str(error) and doing == "read":
            return Failed(f"the operation log {self.path} is locked by another process", hint="try again")
        if "locked" in str(error):
            return Refused("another ckpt is at work on this database; nothing was written", hint="try again")
        message = f"can't {doing} the operation log {self.path}: {error}"
        hint = HINT if isinstance(error, OSError) and not os.access(self.path, os.F_OK) else ""
        if _means_damage(error):
            move = command("mv", str(self.path), f"{self.path}.damaged")
            hint = f"`{move}` moves it away: then its tags are lost, and its operations can't be undone"
        return Failed(message if doing == "read" else f"{message}; nothing was written", hint=hint)

    def _must_be_regular(self) -> None:
        """Check that the file and SQLite's files next to it are regular files, as opening a FIFO would wait for ever.

        Raises:
            Failed: one of them is not a regular file.
        """
        for ending in ("", "-wal", "-shm", "-journal"):
            path = self.path.with_name(self.path.name + ending)
            if path.exists() and not path.is_file():
                raise Failed(f"the operation log {path} is not a regular file", hint="move it away")


def _means_damage(error: Exception) -> bool:
    """Whether SQLite reports that the file is not a database, is damaged, or lacks tables of a log."""
    import sqlite3

    return type(error) is sqlite3.DatabaseError or str(error).startswith("no such ")


def _must_be_no_link(path: Path) -> None:
    """Refuse a log behind a symbolic link: other users may read the link's target, or another user made the link.

    Raises:
        OSError: the file or its folder is a link, or another user made the folder of all logs as a link.
    """
    for place in (path.parent.parent, path.parent, path):
        if place.is_symlink() and (place != path.parent.parent or _belongs_to_another_user(place)):
            raise OSError(f"{place} is a symbolic link; put the real file in its place")


def _belongs_to_another_user(link: Path) -> bool:
    owner = getattr(os, "geteuid", lambda: None)()
    return owner is not None and link.lstat().st_uid not in (0, owner)
