"""Threads of LangGraph.js, row by row as its savers wrote them: CI has no Node.js."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

TABLES = """
CREATE TABLE checkpoints (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
  parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB,
  PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id));
CREATE TABLE writes (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
  task_id TEXT NOT NULL, idx INTEGER NOT NULL, channel TEXT NOT NULL, type TEXT, value BLOB,
  PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx));
"""
"""Those of @langchain/langgraph-checkpoint-sqlite 1.0.4."""

Json = dict[str, Any]
Written = tuple[str, int, str, Any]
"""Task, index, channel, value."""

ABORTED = {"message": "This operation was aborted", "name": "AbortError"}
"""What LangGraph.js 1.7.3 stores of a task that it aborted as another one of its step had failed."""


def database(path: Path, *checkpoints: tuple[Json, Json, Sequence[Written]], **more: Iterable[Any]) -> Path:
    """A database with thread ``t``: bodies, metadata and writes, oldest first; `more` namespaces have theirs as well.

    The parent of each checkpoint is the one before it in its namespace.
    """
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(TABLES)
        for ns, own in {"": checkpoints, **more}.items():
            parent = None
            for body, metadata, writes in own:
                row = ("t", ns, body["id"], parent, "json", _encoded(body), _encoded(metadata))
                connection.execute("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)", row)
                for task, idx, channel, value in writes:
                    stored = ("t", ns, body["id"], task, idx, channel, "json", _encoded(value))
                    connection.execute("INSERT INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?)", stored)
                parent = body["id"]
        connection.commit()
    return path


def checkpoint(
    checkpoint_id: str, step: int, values: Json, versions: Json, seen: Json, *writes: Written, **metadata: Any
) -> tuple[Json, Json, Sequence[Written]]:
    """A checkpoint as LangGraph.js 1.7.3 stores it, with the writes of its tasks."""
    body = {
        "v": 4,
        "id": checkpoint_id,
        "ts": "2026-11-30T12:47:56.890Z",
        "channel_values": values,
        "channel_versions": versions,
        "versions_seen": {"__input__": {}, **seen},
    }
    source = "input" if step < 0 else "loop"
    return body, {"source": source, "step": step, "parents": {}, **metadata}, writes


def _encoded(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
