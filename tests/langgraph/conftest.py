"""Databases for the adapter: of each kind that can be written an empty one."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest

from ckpt_cli.langgraph import CkptSaver
from ckpt_cli.savers.memory import MemorySaver

Fresh = Callable[[], CkptSaver]

KINDS = ("memory", "sqlite")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A new, empty SQLite database."""
    place = tmp_path / "agent.sqlite"
    CkptSaver.create(place).close()
    return place


@pytest.fixture
def saver(path: Path) -> Iterator[CkptSaver]:
    """The adapter on an empty SQLite database."""
    with closing(CkptSaver(path)) as opened:
        yield opened


@pytest.fixture
def make(tmp_path: Path) -> Callable[[str], Fresh]:
    """By the name of a kind what opens an empty database of it, another one each time."""

    def fresh(kind: str) -> CkptSaver:
        if kind == "memory":
            return CkptSaver(MemorySaver())
        return CkptSaver.create(tmp_path / f"{uuid4()}.sqlite")

    return lambda kind: lambda: fresh(kind)
