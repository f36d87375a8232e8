"""Turns SQLite's errors into ckpt's own."""

import sqlite3
from contextlib import closing
from pathlib import Path

from ckpt_cli.errors import CkptError, DatabaseDamaged, DatabaseUnreachable, Failed, NoCheckpoints, Refused
from ckpt_cli.savers.half_written import HalfWrittenError
from ckpt_cli.savers.sqlite.driver import connect


class NotCheckpoints(NoCheckpoints):
    """An SQLite database without LangGraph's tables."""


def reading_fault(path: Path, error: sqlite3.DatabaseError) -> DatabaseUnreachable:
    """The error for a database that can't be read."""
    text = str(error)
    if "locked" in text:
        return DatabaseUnreachable(f"{path} is locked by another process", hint="try again when it has finished")
    if "readonly database" in text:
        hint = "its application, `sqlite3` or any ckpt command that writes rolls back the unfinished write"
        return HalfWrittenError(f"{path} was left in the middle of a write", lambda: _roll_back(path), hint=hint)
    if "malformed" in text or "not a database" in text:
        return DatabaseDamaged(f"{path} is damaged: {text}", hint="`sqlite3 FILE .recover` may save what is left")
    return DatabaseUnreachable(f"can't read {path}: {text}")


def _roll_back(path: Path) -> None:
    """Let SQLite roll back a killed writer's unfinished write: a writable connection does that at its first read."""
    try:
        with closing(connect(path, "mode=rw")) as driver:
            driver.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.DatabaseError as error:
        raise Refused(f"{path} was left in the middle of a write, and rolling it back failed: {error}") from error


def writing_fault(path: Path, error: sqlite3.DatabaseError) -> CkptError:
    """The error for a transaction that could not begin or be committed; nothing was written."""
    if "locked" in str(error):
        return Refused(f"{path} is in use by another process; nothing was written", hint="try again")
    if "full" in str(error) or "I/O" in str(error):
        return Failed(f"can't write {path}: {error}; nothing was written")
    return permission_fault(path, f": {error}")


def constraint_fault(relation: str, error: sqlite3.IntegrityError) -> Refused:
    """The error for a row that breaks a constraint; nothing was written."""
    if str(error).startswith("UNIQUE"):
        return Refused(f"a row of {relation} exists already; nothing was written")
    return Refused(f"the database refuses a row of {relation}: {error}; nothing was written")


def permission_fault(path: Path, why: str = "") -> Refused:
    """The error for a file that this user may not write."""
    return Refused(f"{path} can't be written{why}", hint="check the permissions of the file and its folder")
