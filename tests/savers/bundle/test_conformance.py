"""Bundles satisfy the contract of savers, except writing."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from ckpt_cli.conformance import Conformance, Make
from ckpt_cli.model import Checkpoint, Write
from ckpt_cli.savers.bundle import open_path
from ckpt_cli.savers.contract import Saver
from tests.savers.bundle.making import make_bundle


class TestBundle(Conformance):
    """What was put in is read, in the contract's order."""

    @pytest.fixture
    def make(self, tmp_path: Path) -> Make:
        def make(records: Iterable[Checkpoint | Write]) -> Saver:
            return open_path(make_bundle(tmp_path / "records.ckpt", records))

        return make
