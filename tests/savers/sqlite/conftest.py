"""A small database and a process that writes it, for the tests of how files are opened."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ckpt_cli.conformance.records import checkpoint, write
from ckpt_cli.model import Plan
from ckpt_cli.savers.sqlite import create
from tests.savers.sqlite.writer import Writer


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database in WAL mode with checkpoint 1, closed properly."""
    place = tmp_path / "folder" / "x.sqlite"
    place.parent.mkdir()
    saver = create(place)
    saver.apply(Plan("records", (checkpoint("t", "1"), write("t", "1"))))
    saver.close()
    return place


@pytest.fixture
def writer(path: Path) -> Iterator[Writer]:
    """A process that has the database open and has saved checkpoint 2, which is in the log."""
    with Writer(path) as process:
        process.add("2")
        yield process
