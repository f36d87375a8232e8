"""Makes a log what an earlier version of ckpt would have made of it."""

import sqlite3
from contextlib import closing
from pathlib import Path

_ADDED = {
    2: (("settings", "witnesses", "places", "forgotten", "forgetting"), ()),
    3: (("reducers",), ()),
    4: (("changed_threads",), ("user", "host", "version", "threads", "namespaces")),
    5: (("parts",), ("shown", "part_of", "parts")),
    6: ((), ("details",)),
}
_INDEXES = {5: ("operations_by_parent", "operations_by_state")}
"""The tables, and the columns of operations, that each version of the schema added."""


def take_back_to(version: int, path: Path) -> None:
    """Remove what versions of the schema after this one have added to a log that is closed."""
    with closing(sqlite3.connect(path)) as connection:
        for later in (one for one in _ADDED if one > version):
            tables, columns = _ADDED[later]
            for index in _INDEXES.get(later, ()):
                connection.execute(f"DROP INDEX {index}")
            for table in tables:
                connection.execute(f"DROP TABLE {table}")
            for column in columns:
                connection.execute(f"ALTER TABLE operations DROP COLUMN {column}")
        connection.execute(f"PRAGMA user_version = {version}")
