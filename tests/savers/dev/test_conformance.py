"""Folders of ``langgraph dev`` satisfy the contract of savers, except writing."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from ckpt_cli.conformance import Conformance, Make
from ckpt_cli.model import Checkpoint, Write
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.dev import open_path
from tests.savers.dev.storage import fill, parts


class TestDev(Conformance):
    """Pickles of every protocol are read alike."""

    @pytest.fixture(params=[2, 5])
    def make(self, request: pytest.FixtureRequest, tmp_path: Path) -> Make:
        def make(records: Iterable[Checkpoint | Write]) -> Saver:
            return open_path(fill(tmp_path / ".langgraph_api", parts(records), request.param))

        return make

    def alike(self, stored: Checkpoint, given: Checkpoint) -> bool:
        """Channels are always kept apart; these headers name none."""
        return stored.channels == {} and super().alike(stored._replace(channels=None), given)
