"""Connections of Python's ``sqlite3``."""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

ResultRow = tuple[Any, ...]
Statement = tuple[str, Sequence[object]]
"""A statement and its parameters."""
RowsOf = Callable[[int], Iterable[ResultRow]]
"""Gives the rows of one of several statements, by its place."""

_TIMEOUT = 1.0  # seconds to wait for a lock


def connect(path: Path, options: str = "", *, threads: bool = False) -> sqlite3.Connection:
    """A connection in autocommit mode; bytes of text that aren't UTF-8 become surrogates, not errors.

    With `threads`, any thread may use the connection, but only one at a time; without it, only the opening thread.
    """
    address = f"file:{_quoted(path)}?{options}"
    connection = sqlite3.connect(
        address, timeout=_TIMEOUT, isolation_level=None, check_same_thread=not threads, uri=True
    )
    connection.text_factory = decode
    return connection


def one_after_another(
    query: Callable[[str, Sequence[object]], Iterator[ResultRow]], statements: Sequence[Statement]
) -> AbstractContextManager[RowsOf]:
    """The rows of each statement, which runs when they are asked for."""
    return nullcontext(lambda number: query(*statements[number]))


def decode(data: bytes) -> str:
    """A column's text; bytes that aren't UTF-8 become surrogates."""
    return data.decode("utf-8", "surrogateescape")


def _quoted(path: Path) -> str:
    """A path as a URI filename: ``?``, ``#``, ``%`` and everything that isn't plain ASCII becomes ``%HH``."""
    plain = b"/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    return "".join(chr(byte) if byte in plain else f"%{byte:02X}" for byte in os.fsencode(path))
