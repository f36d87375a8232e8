"""One command for many threads, on a SQLite file."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver

from tests.cross.backend import Backend
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
