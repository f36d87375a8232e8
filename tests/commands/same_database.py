"""Describes a checkpoint database in full; random values are replaced by numbers in the order of their appearance."""

import json
import re
import sqlite3
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import ormsgpack

_CHANCE = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # checkpoint, task and message ids
    r"|\b[0-9a-f]{32}\b(?!\.)"  # interrupt ids
    r"|(?<=\d{32}\.)[0-9.e-]+"  # the random part of a version
    r"|\d{4}-\d\d-\d\dT[0-9:.]+\+00:00"
)


def listing_of(path: Path) -> str:
    """Every row of both tables in saving order: keys in their order, sets sorted, ids and times numbered."""
    with sqlite3.connect(path) as connection:
        text = "\n".join([*_checkpoints(connection), *_writes(connection)])
    connection.close()
    numbers: dict[str, int] = {"00000000-0000-0000-0000-000000000000": 0}
    fresh = count(1)
    return _CHANCE.sub(
        lambda m: f"<{numbers[m[0]] if m[0] in numbers else numbers.setdefault(m[0], next(fresh))}>", text
    )


def _checkpoints(connection: sqlite3.Connection) -> Iterator[str]:
    columns = "thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata"
    for *names, tag, body, metadata in connection.execute(
        f"SELECT {columns} FROM checkpoints ORDER BY thread_id, checkpoint_id"
    ):
        step = names[2][19:23]
        yield json.dumps([*names, step, tag, _plain(tag, body), metadata.decode()])


def _writes(connection: sqlite3.Connection) -> Iterator[str]:
    columns = "thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value"
    order = "thread_id, checkpoint_id, task_path, task_id, idx"
    for *names, tag, value in connection.execute(f"SELECT {columns} FROM writes ORDER BY {order}"):
        yield json.dumps([*names, tag, _plain(tag, value)])


def _plain(tag: str, data: bytes) -> Any:
    return ormsgpack.unpackb(data, ext_hook=_ext) if tag == "msgpack" else data.decode()


def _ext(code: int, data: bytes) -> Any:
    value = ormsgpack.unpackb(data, ext_hook=_ext)
    if value[:2] == ["builtins", "set"]:
        value[2] = sorted(value[2])
    return {"ext": code, "value": value}
