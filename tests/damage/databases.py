"""Small databases of several generations whose tables take any value in any column, and what a row of them becomes."""

import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.damage.stored import BLOBS, DOCUMENTS, LONG, NOT_UTF8, NUMBERS, TEXTS
from tests.databases import unpacked

NAMES = (
    "real",
    "js",
    "legacy/py-1.2.22",
    "legacy/py-0.2.60",
    "legacy/py-0.0.48",
    "legacy/py-0.0.26",
    "legacy/js-0.0.34",
    "legacy/py-0.6.7-enc",
)
_KEPT = 4  # threads of each
_ROWS = 14  # checkpoints of a thread that is kept
_FORKED = {"real": "forks"}


class Damage(NamedTuple):
    """What happens to one row.

    Attributes:
        text: the value's bytes are stored as text, whatever they are.
    """

    table: str
    row: int
    column: int
    value: Any
    text: bool = False


@st.composite
def damages(draw: st.DrawFn) -> Damage:
    """Any value of any storage class in any column."""
    table = draw(st.sampled_from(["checkpoints", "checkpoints", "writes"]))
    text = draw(st.sampled_from([False] * 4 + [True]))
    value = draw(NOT_UTF8 if text else st.one_of(st.none(), NUMBERS, TEXTS, LONG, BLOBS, DOCUMENTS))
    return Damage(table, draw(st.integers(0, 200)), draw(st.integers(0, 8)), value, text)


@cache
def loosened(name: str) -> bytes:
    """A few threads of a database in tables without types and constraints, as other tools make them."""
    with TemporaryDirectory() as folder:
        packed = Path(folder, "packed.sqlite")
        packed.write_bytes(unpacked(name))
        with closing(sqlite3.connect(Path(folder, "loose.sqlite"), isolation_level=None)) as db:
            db.execute("ATTACH ? AS packed", (str(packed),))
            tables = {t for (t,) in db.execute("SELECT name FROM packed.sqlite_schema WHERE type = 'table'")}
            keep = [row[0] for row in db.execute(_THREADS, (_FORKED.get(name, ""), _ROWS, _KEPT))]
            for table in sorted({"checkpoints", "writes"} & tables):
                info = db.execute("SELECT name, pk FROM pragma_table_info(?, 'packed')", (table,)).fetchall()
                key = ", ".join(column for column, place in info if place)
                db.execute(f"CREATE TABLE main.{table} ({', '.join(c for c, _ in info)}, PRIMARY KEY ({key}))")
                places = ", ".join("?" * len(keep))
                db.execute(f"INSERT INTO main.{table} SELECT * FROM packed.{table} WHERE thread_id IN ({places})", keep)
        return Path(folder, "loose.sqlite").read_bytes()


_THREADS = """
    SELECT thread_id FROM packed.checkpoints GROUP BY thread_id
    ORDER BY thread_id = ? DESC, count(*) <= ? DESC, count(*) DESC LIMIT ?
"""


def harm(path: Path, damage: Damage) -> str:
    """Change one row of a database, and give the thread that it belonged to."""
    with closing(sqlite3.connect(path)) as db, db:
        (count,) = db.execute("SELECT count(*) FROM sqlite_schema WHERE name = ?", (damage.table,)).fetchone()
        table = damage.table if count else "checkpoints"
        rows = [r for (r,) in db.execute(f"SELECT rowid FROM {table} ORDER BY rowid")]
        columns = [c for (c,) in db.execute("SELECT name FROM pragma_table_info(?)", (table,))]
        row, column = rows[damage.row % len(rows)], columns[damage.column % len(columns)]
        (owner,) = db.execute(f"SELECT CAST(thread_id AS TEXT) FROM {table} WHERE rowid = ?", (row,)).fetchone()
        place = "CAST(? AS TEXT)" if damage.text else "?"
        db.execute(f"UPDATE OR IGNORE {table} SET {column} = {place} WHERE rowid = ?", (damage.value, row))
    return str(owner)
