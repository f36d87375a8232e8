"""The databases under ``tests/data``: written by the real libraries of every generation, compressed.

Names are paths without the endings (``real``, ``js``, ``old/sqlite-v02``, ``legacy/py-0.2.60``). The ``legacy`` ones
have a truth file, made by the library that wrote the database.
"""

import gzip
import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
_PACKED = ".sqlite.gz"

NOT_CHECKPOINTS = ("cache", "store", "store-vec")
"""Databases of LangGraph's other parts, which hold no checkpoints."""

DELTA_FORKS = "delta-forks"
"""Written by langgraph 1.2.10. It is in no list: LangGraph itself reads other values from it than its runs had."""

KEYS = {
    "encrypted": b"0123456789abcdef" * 2,
    "legacy/py-0.6.7-enc": b"0123456789abcdef",
    "legacy/py-1.2.22-enc": b"0123456789abcdef",
}
"""The AES keys of the encrypted ones."""

FUNCTIONAL = "functional-0.4.10"
"""Written by langgraph 0.4.10 on SQLite and on Postgres, for the test that compares both."""


def _names() -> list[str]:
    found = (path.relative_to(DATA).as_posix().removesuffix(_PACKED) for path in DATA.rglob(f"*{_PACKED}"))
    return sorted(name for name in found if name not in (*NOT_CHECKPOINTS, DELTA_FORKS, FUNCTIONAL))


DATABASES = _names()
"""Every checkpoint database."""

LEGACY = [name for name in DATABASES if name.startswith("legacy/")]
"""Those with a truth file."""


def unpacked(name: str) -> bytes:
    """The bytes of a database file."""
    return gzip.decompress((DATA / f"{name}{_PACKED}").read_bytes())


def truth(name: str) -> dict[str, Any]:
    """What the library that wrote a ``legacy`` database read from it."""
    document: dict[str, Any] = json.loads(gzip.decompress((DATA / f"{name}.truth.json.gz").read_bytes()))
    return document
