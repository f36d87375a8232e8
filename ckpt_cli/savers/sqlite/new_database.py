"""New databases, as checkpoint-sqlite 3.1.2 makes them.

Source: ``checkpoint/sqlite/__init__.py: SqliteSaver.setup``.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

from ckpt_cli.errors import DatabaseUnreachable, Failed, Refused
from ckpt_cli.savers.sqlite.driver import connect
from ckpt_cli.savers.sqlite.saver import SqliteSaver, open_file

_SETUP = """
PRAGMA journal_mode=WAL;
CREATE TABLE IF NOT EXISTS checkpoints (
    thread_id TEXT NOT NULL,
    checkpoint_ns TEXT NOT NULL DEFAULT '',
    checkpoint_id TEXT NOT NULL,
    parent_checkpoint_id TEXT,
    type TEXT,
    checkpoint BLOB,
    metadata BLOB,
    PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id)
);
CREATE TABLE IF NOT EXISTS writes (
    thread_id TEXT NOT NULL,
    checkpoint_ns TEXT NOT NULL DEFAULT '',
    checkpoint_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    task_path TEXT NOT NULL DEFAULT '',
    idx INTEGER NOT NULL,
    channel TEXT NOT NULL,
    type TEXT,
    value BLOB,
    PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
);
"""


def make_tables(path: Path) -> None:
    """Make the tables that are missing in a file; the file is created if it doesn't exist.

    Raises:
        Failed: the file or its tables can't be made.
    """
    try:
        with closing(connect(path, "mode=rwc")) as driver:
            driver.executescript(_SETUP)
    except sqlite3.DatabaseError as error:
        raise Failed(f"can't make LangGraph's tables in {path}: {error}") from error


def add_task_paths(path: Path) -> None:
    """Add the column ``task_path``, as the own saver's setup does to a database that was made before it existed.

    Raises:
        Failed: the file may not be written.
    """
    try:
        with closing(connect(path, "mode=rw")) as driver:
            driver.execute("ALTER TABLE writes ADD COLUMN task_path TEXT NOT NULL DEFAULT ''")
    except sqlite3.DatabaseError as error:
        raise Failed(f"can't add the column task_path to {path}: {error}") from error


def create(path: Path) -> SqliteSaver:
    """Make a new, empty database and open it.

    Raises:
        Refused: a file with that name exists.
        DatabaseUnreachable: no file can be made there.
        Failed: the tables can't be made in it; the file is removed.
    """
    try:
        path.open("xb").close()
    except FileExistsError as error:
        raise Refused(f"{path} exists already", hint="name a file that doesn't exist yet") from error
    except OSError as error:
        raise DatabaseUnreachable(f"can't make {path}: {error.strerror}") from error
    try:
        with closing(connect(path, "mode=rw")) as driver:
            driver.executescript(_SETUP)
    except sqlite3.DatabaseError as error:
        path.unlink()
        raise Failed(f"can't make {path}: {error}") from error
    return open_file(path)
