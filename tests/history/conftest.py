"""A database for the histories of real graphs."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of a new database."""
    return tmp_path / "x.sqlite"


@pytest.fixture
def saver(path: Path) -> Iterator[SqliteSaver]:
    """LangGraph's own."""
    with SqliteSaver.from_conn_string(str(path)) as saver:
        yield saver
