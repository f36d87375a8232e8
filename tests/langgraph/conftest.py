"""The adapter on empty databases."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ckpt_cli.langgraph import CkptSaver
from tests.langgraph.places import PLACES, Where, places


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


@pytest.fixture(params=PLACES)
def where(request: pytest.FixtureRequest) -> Where:
    """Empty databases of each kind that has a saver of LangGraph's own."""
    return places(request, request.param)
