"""The memory saver is the contract's reference."""

import pytest

from ckpt_cli.conformance import Conformance, Make
from ckpt_cli.savers.memory import MemorySaver


class TestMemory(Conformance):
    """The memory saver satisfies the contract."""

    @pytest.fixture
    def make(self) -> Make:
        return MemorySaver
