"""Databases of every layout that can be written, filled with rows of any storage class, and read as they are stored."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

_D = """
CREATE TABLE checkpoints (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
  parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB,
  PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id));
CREATE TABLE writes (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
  task_id TEXT NOT NULL, idx INTEGER NOT NULL, channel TEXT NOT NULL, type TEXT, value BLOB,
  PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx));
"""
SCHEMAS = {
    "C": """
CREATE TABLE checkpoints (thread_id TEXT NOT NULL, thread_ts TEXT NOT NULL, parent_ts TEXT, checkpoint BLOB,
  metadata BLOB, PRIMARY KEY (thread_id, thread_ts));
CREATE TABLE writes (thread_id TEXT NOT NULL, thread_ts TEXT NOT NULL, task_id TEXT NOT NULL, idx INTEGER NOT NULL,
  channel TEXT NOT NULL, value BLOB, PRIMARY KEY (thread_id, thread_ts, task_id, idx));
""",
    "D": _D,
    "E": _D + "ALTER TABLE writes ADD COLUMN task_path TEXT NOT NULL DEFAULT '';",
    "H": """
CREATE TABLE checkpoints (thread_id TEXT NOT NULL, checkpoint_id TEXT NOT NULL, parent_id TEXT, checkpoint BLOB,
  metadata BLOB, PRIMARY KEY (thread_id, checkpoint_id));
""",
}
"""As the libraries made them; no layout hinders other storage classes, so rows of any occur."""


def make(path: Path, layout: str, rows: Iterable[tuple[str, dict[str, Any]]], *, wal: bool = True) -> None:
    """A database of a layout with rows, each a table and its columns; columns it doesn't have are left out."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode={'wal' if wal else 'delete'}")
        connection.executescript(SCHEMAS[layout])
        statement = "SELECT name FROM pragma_table_info(?)"
        columns = {table: [name for (name,) in connection.execute(statement, (table,))] for table in TABLES}
        for table, row in rows:
            known = {name: value for name, value in row.items() if name in columns[table]}
            if known:
                places = ", ".join("?" * len(known))
                connection.execute(
                    f"INSERT OR IGNORE INTO {table} ({', '.join(known)}) VALUES ({places})", list(known.values())
                )
        connection.commit()


TABLES = ("checkpoints", "writes")


def dump(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table with the storage class of each column."""
    with closing(sqlite3.connect(path)) as connection:
        connection.text_factory = bytes
        found: dict[str, list[tuple[Any, ...]]] = {}
        for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            table = name.decode()
            columns = [c.decode() for (c,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))]
            typed = ", ".join(f"typeof({column}), {column}" for column in columns)
            found[table] = sorted(connection.execute(f"SELECT {typed} FROM {table}").fetchall(), key=repr)
        return found
