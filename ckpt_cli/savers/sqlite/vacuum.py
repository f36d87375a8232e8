"""Gives the free pages of an SQLite file back to the disk, if no other program has the file open."""

import shlex
import shutil
import sqlite3
from pathlib import Path

from ckpt_cli.errors import Refused
from ckpt_cli.savers.measures import Vacuum
from ckpt_cli.savers.sqlite.driver import connect

_STATEMENTS = {0: "VACUUM", 2: "PRAGMA incremental_vacuum"}
"""By ``PRAGMA auto_vacuum``; with 1 the file shrinks by itself."""


def plan_vacuum(path: Path, mode: int, after_delete: str) -> Vacuum:
    """What `vacuum` will run, and what that means."""
    statement = _STATEMENTS.get(mode, "")
    if not statement:
        return Vacuum("", after_delete)
    needs = f", which takes up to {path.stat().st_size:,} bytes more on the disk meanwhile" if mode == 0 else ""
    return Vacuum(statement, f"then {statement} makes the file smaller{needs}, if no other program has it open")


def vacuum(path: Path, mode: int) -> str:
    """Make the file smaller, and say by how much.

    All other connections of this process to the file must be closed. In WAL mode every open connection, also an idle
    one, keeps others from locking the whole file (SQLite, "PRAGMA locking_mode"; "WAL-mode File Format", 2.3). In
    other modes only one that reads or writes does; an idle one isn't seen, and waits while this runs.

    Raises:
        Refused: another program has the file open, or the disk has too little room; nothing was done.
    """
    before = path.stat().st_size
    free = shutil.disk_usage(path.parent).free
    if mode == 0 and free < before:
        raise Refused(f"VACUUM may need {before:,} bytes on the disk, and there are {free:,}")
    connection = connect(path, "mode=rw")
    try:
        connection.execute("PRAGMA busy_timeout=0")
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")
        connection.execute(_STATEMENTS[mode]).fetchall()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except sqlite3.DatabaseError as error:
        why = "another program has the file open" if "locked" in str(error) else str(error)
        hint = f"sqlite3 {shlex.quote(str(path))} '{_STATEMENTS[mode]}'"
        raise Refused(f"{path.name} was not vacuumed: {why}", hint=hint) from error
    finally:
        connection.close()
    return f"{path.name} takes {path.stat().st_size:,} bytes now, before {before:,}"
