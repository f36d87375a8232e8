"""LangGraph's SQLite saver without task paths, as older savers and those of other people are."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite import SqliteSaver

from tests.cross.backend import Backend, Fresh
from tests.cross.unseen_joins import UnseenJoins


class WithoutPaths(SqliteSaver):
    """LangGraph's saver, which is given no paths."""

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store the writes without the path."""
        super().put_writes(config, writes, task_id)


@pytest.fixture
def fresh(tmp_path: Path) -> Fresh:
    """A new file each time."""
    numbers = count()

    def give() -> Backend:
        path = tmp_path / f"{next(numbers)}.sqlite"

        @contextmanager
        def official() -> Iterator[WithoutPaths]:
            with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
                yield WithoutPaths(connection)

        return Backend(str(path), official)

    return give


class TestUnseenJoins(UnseenJoins):
    """Tasks that their paths would name."""
