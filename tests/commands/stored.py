"""Small databases written row by row, for what no library writes."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import ormsgpack

from tests.hostile import IDS, TABLES


def database(path: Path, *threads: str, **values: Any) -> Path:
    """A database whose threads (``t`` unless named) have one checkpoint each, with these channels."""
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
