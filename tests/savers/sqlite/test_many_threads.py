"""One command for many threads, on a SQLite file."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver

from tests.cross.backend import Backend
from tests.cross.broken_fleet import BrokenFleet
from tests.cross.busy_fleet import BusyFleet
from tests.cross.fleet import ManyThreads
from tests.cross.tool_calls import ToolCalls


@pytest.fixture
def fresh(tmp_path: Path) -> Callable[[], Backend]:
    """Makes a new file each time."""
    numbers = count()

    def give() -> Backend:
        path = str(tmp_path / f"{next(numbers)}.sqlite")

        @contextmanager
        def official() -> Iterator[BaseCheckpointSaver[Any]]:
            with SqliteSaver.from_conn_string(path) as saver:
                yield saver

        with official() as saver:
            saver.setup()  # type: ignore[attr-defined]
        return Backend(path, official)

    return give


class TestManyThreads(ManyThreads):
    """Changes of many threads."""


class TestToolCalls(ToolCalls):
    """Tool calls without answers."""


class TestBrokenFleet(BrokenFleet):
    """A fleet that breaks in three ways."""

    def stored(self, backend: Backend) -> list[str]:
        """Every row of the file."""
        with closing(sqlite3.connect(backend.url)) as connection:
            return sorted(connection.iterdump())


class TestBusyFleet(BusyFleet):
    """The application never rests."""
