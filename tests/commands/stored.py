"""Small databases written row by row, for what no library writes."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ormsgpack

from tests.hostile import IDS, TABLES


def database(path: Path, *threads: str, **values: Any) -> Path:
    """A database of threads (by default only ``t``) with one checkpoint each, which has these channels."""
    connection = sqlite3.connect(path)
    connection.executescript(TABLES)
    for thread in threads or ("t",):
        body = {
            "v": 4,
            "id": IDS[0],
            "ts": "2026-11-21T08:00:00+00:00",
            "channel_values": values,
            "channel_versions": dict.fromkeys(values, f"{1:032}.0.5"),
            "versions_seen": {},
            "updated_channels": None,
        }
        metadata = json.dumps({"source": "input", "step": -1, "parents": {}})
        row = (thread, "", IDS[0], None, "msgpack", ormsgpack.packb(body), metadata.encode())
        connection.execute("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    connection.commit()
    connection.close()
    return path


def broken_channel(folder: Path) -> Path:
    """A thread ``t`` with a channel that can be read and one that can't."""
    no_object = ormsgpack.Ext(5, ormsgpack.packb("no class, no fields"))
    return database(folder / "broken.sqlite", good="fine", bad=no_object)


def ruin(path: Path, thread: str, harm: Callable[[bytes], bytes]) -> None:
    """Put other bytes in place of a thread's checkpoint."""
    connection = sqlite3.connect(path)
    ((body,),) = connection.execute("SELECT checkpoint FROM checkpoints WHERE thread_id = ?", (thread,)).fetchall()
    connection.execute("UPDATE checkpoints SET checkpoint = ? WHERE thread_id = ?", (harm(body), thread))
    connection.commit()
    connection.close()


def tear(path: Path, thread: str) -> None:
    """Break the chain of pages that hold a thread's checkpoint, which has to be longer than three pages.

    An overflow page begins with the number of the next one (SQLite file format, 1.6).
    """
    connection = sqlite3.connect(path)
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    ((body,),) = connection.execute("SELECT checkpoint FROM checkpoints WHERE thread_id = ?", (thread,)).fetchall()
    marked = bytes([*body[: size * 2], *b"#MARK#", *body[size * 2 + 6 :]])
    connection.execute("UPDATE checkpoints SET checkpoint = ? WHERE thread_id = ?", (marked, thread))
    connection.commit()
    connection.close()
    file = bytearray(path.read_bytes())
    page = file.index(b"#MARK#") // size * size
    file[page : page + 4] = b"\xff\xff\xff\xf0"
    path.write_bytes(file)
