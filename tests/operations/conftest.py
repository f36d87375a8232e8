"""An operation log that doesn't exist yet, and a small database in memory."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ckpt_cli.conformance.records import checkpoint, write
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.savers.memory import MemorySaver


@pytest.fixture
def log(tmp_path: Path) -> Iterator[OperationLog]:
    """A log that doesn't exist yet."""
    with closing(OperationLog(tmp_path / "ckpt" / "x" / "log.sqlite")) as made:
        yield made


@pytest.fixture
def saver() -> MemorySaver:
    """A thread of two checkpoints."""
    return MemorySaver([checkpoint("t", "1"), checkpoint("t", "2", parent_id="1"), write("t", "2")])
