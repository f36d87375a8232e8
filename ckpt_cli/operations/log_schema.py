"""The tables of the operation log, and their migrations from older releases of ckpt."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

_FIRST = """
CREATE TABLE IF NOT EXISTS operations (
  number INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, verb TEXT NOT NULL, reason TEXT NOT NULL,
  summary TEXT NOT NULL, state TEXT NOT NULL, undoes INTEGER, rows INTEGER NOT NULL, bytes INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS changes (
  operation INTEGER NOT NULL REFERENCES operations ON DELETE CASCADE, position INTEGER NOT NULL,
  relation TEXT NOT NULL, key TEXT NOT NULL, before BLOB, after BLOB, before_hash BLOB, after_hash BLOB,
  PRIMARY KEY (operation, position));
CREATE INDEX IF NOT EXISTS changes_by_row ON changes (relation, key, operation);
CREATE TABLE IF NOT EXISTS tags (
  thread_id TEXT NOT NULL, ns TEXT NOT NULL, name TEXT NOT NULL, checkpoint_id TEXT NOT NULL, at REAL NOT NULL,
  PRIMARY KEY (thread_id, ns, name)) WITHOUT ROWID;
"""

_SECOND = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO settings SELECT 'unwitnessed', max(number) FROM operations HAVING max(number) IS NOT NULL;
CREATE TABLE witnesses (
  thread_id TEXT NOT NULL, ns TEXT NOT NULL, checkpoint_id TEXT NOT NULL, digest BLOB NOT NULL,
  operation INTEGER NOT NULL, PRIMARY KEY (thread_id, ns, checkpoint_id)) WITHOUT ROWID;
CREATE INDEX witnesses_by_age ON witnesses (operation);
CREATE TABLE places (
  address TEXT PRIMARY KEY, engine TEXT NOT NULL, instance TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE forgotten (
  operation INTEGER PRIMARY KEY REFERENCES operations ON DELETE CASCADE, rows INTEGER NOT NULL);
CREATE TABLE forgetting (operation INTEGER, thread_id);
"""
"""The setting `unwitnessed` is the last operation that was logged by a version of ckpt without witnesses.

The table `forgotten` has the number of wiped rows of an operation. The table `forgetting` has the threads that must be
wiped when their deletion is complete; a row without a thread means that rows were wiped and the file must be rewritten.
"""

_THIRD = """
CREATE TABLE reducers (channel TEXT PRIMARY KEY, name TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
"""
"""The reducers that a person named with ``--remember``."""

_FOURTH = """
ALTER TABLE operations ADD COLUMN user TEXT;
ALTER TABLE operations ADD COLUMN host TEXT;
ALTER TABLE operations ADD COLUMN version TEXT;
ALTER TABLE operations ADD COLUMN threads INTEGER;
ALTER TABLE operations ADD COLUMN namespaces INTEGER;
CREATE TABLE changed_threads (
  operation INTEGER NOT NULL REFERENCES operations ON DELETE CASCADE, thread_id TEXT NOT NULL, ns TEXT NOT NULL,
  records INTEGER NOT NULL, PRIMARY KEY (operation, thread_id, ns)) WITHOUT ROWID;
CREATE INDEX changed_threads_by_thread ON changed_threads (thread_id, operation);
"""
"""Who made an operation, with which version of ckpt, and the threads that it changed.

The new columns are NULL in operations that were logged before.
"""

_FIFTH = """
ALTER TABLE operations ADD COLUMN shown INTEGER;
ALTER TABLE operations ADD COLUMN part_of INTEGER;
ALTER TABLE operations ADD COLUMN parts INTEGER;
UPDATE operations SET shown = number;
INSERT OR REPLACE INTO settings SELECT 'last shown', seq FROM sqlite_sequence WHERE name = 'operations';
CREATE INDEX operations_by_parent ON operations (part_of, number);
CREATE INDEX operations_by_state ON operations (state);
CREATE TABLE parts (
  operation INTEGER PRIMARY KEY REFERENCES operations ON DELETE CASCADE, thread_id TEXT NOT NULL,
  problem TEXT NOT NULL);
CREATE INDEX parts_by_thread ON parts (thread_id, operation);
"""
"""Operations on many threads: each has a row for itself, and a row for each of its parts, one for each thread.

`number` orders operations and parts by time. `shown` is what people call an operation; it is NULL in a part, and the
setting `last shown` is the last one, since pruned ones aren't used again. `parts` is the number of threads that an
operation on many was to change; it is NULL in others. The table `parts` has the thread of each part, and why it was
refused; it is a table of its own so that a thread can be forgotten without the part.
"""

_SIXTH = """
ALTER TABLE operations ADD COLUMN details TEXT;
"""
"""What was answered and which channels changed, as a JSON list of lines; NULL in operations that were logged before."""

_MIGRATIONS = (_FIRST, _SECOND, _THIRD, _FOURTH, _FIFTH, _SIXTH)
"""The scripts, each of which makes a version of the schema from the version before."""

VERSION = len(_MIGRATIONS)


def migrate(connection: "sqlite3.Connection") -> int:
    """Bring the schema up to date, and return its version.

    The version is read inside the write transaction, because two processes may try to migrate at the same time.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        ((version,),) = connection.execute("PRAGMA user_version")
        for script in _MIGRATIONS[version:]:
            for statement in filter(str.strip, script.split(";")):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    return VERSION
