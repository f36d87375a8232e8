"""The memory saver is the contract's reference."""

import pytest

from ckpt_cli.savers.memory import MemorySaver
from tests.savers.conformance import Conformance, Make


class TestMemory(Conformance):
    """Held to what every saver is held to."""

    @pytest.fixture
    def make(self) -> Make:
        return MemorySaver
