"""A part of a stored value replaced by anything else: sound bytes of a shape that no library writes."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import ormsgpack
from hypothesis import strategies as st

from tests.damage.stored import PACKED, PLAIN

DROPPED = "<dropped>"
_ANY_KEYS = ormsgpack.OPT_NON_STR_KEYS


class _Object:
    """An object of msgpack: its extension code and its payload."""

    def __init__(self, code: int, data: bytes) -> None:
        self.code = code
        self.data = data


def _unpack(data: bytes) -> Any:
    return ormsgpack.unpackb(data, option=_ANY_KEYS, ext_hook=_Object)


def _pack(value: Any) -> bytes:
    return ormsgpack.packb(value, option=_ANY_KEYS, default=lambda part: ormsgpack.Ext(part.code, part.data))


class Replaced(NamedTuple):
    """Which part of which value becomes what.

    Attributes:
        way: a number for each step down, counted round what is there; the walk ends where nothing is below.
        value: None of a msgpack value where JSON takes `plain`.
    """

    column: str
    row: int
    way: list[int]
    value: Any
    plain: Any


REPLACED = st.builds(
    Replaced,
    st.sampled_from(["checkpoint", "checkpoint", "metadata", "value"]),
    st.integers(0, 300),
    st.lists(st.integers(0, 12), max_size=5),
    st.one_of(st.just(DROPPED), PACKED),
    st.one_of(st.just(DROPPED), PLAIN),
)


def replace_part(path: Path, damage: Replaced) -> str:
    """Replace a part of one value of a database, and give the thread that it belonged to."""
    with closing(sqlite3.connect(path)) as db, db:
        (writes,) = db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'writes'").fetchone()
        table, column = ("writes", "value") if damage.column == "value" and writes else ("checkpoints", "checkpoint")
        column = damage.column if damage.column != "value" else column
        rows = [r for (r,) in db.execute(f"SELECT rowid FROM {table} ORDER BY rowid")]
        row = rows[damage.row % len(rows)]
        query = f"SELECT thread_id, {column} FROM {table} WHERE rowid = ?"
        thread, stored = db.execute(query, (row,)).fetchone()
        db.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (replaced(stored, damage), row))
    return str(thread)


def replaced(stored: bytes | str | None, damage: Replaced) -> bytes | str | None:
    """A payload of msgpack or JSON with a part of it replaced; any other as it is."""
    data = stored.encode() if isinstance(stored, str) else stored or b""
    try:
        whole = json.loads(data)
    except ValueError:
        pass
    else:
        return json.dumps(_at(whole, damage.way, damage.plain))
    try:
        whole = _unpack(data)
    except ValueError:
        return stored
    return _pack(_at(whole, damage.way, damage.value))


def _at(whole: Any, way: list[int], value: Any) -> Any:
    if isinstance(whole, _Object) and way:
        return _Object(whole.code, _pack(_at(_unpack(whole.data), way, value)))
    if not way or not isinstance(whole, list | dict) or not whole:
        return None if value == DROPPED else value
    places = list(whole) if isinstance(whole, dict) else range(len(whole))
    place = places[way[0] % len(places)]
    if value == DROPPED and len(way) == 1:
        del whole[place]
    else:
        whole[place] = _at(whole[place], way[1:], value)
    return whole
