"""Valkey is held to what every saver is held to, but for the task's path, which it has no place for."""

import pytest

from ckpt_cli.conformance import Make
from ckpt_cli.savers.contract import Ability
from tests.savers.redis.conforming import OnValkey, ReadAhead
from tests.servers.redis import Server


class TestValkey(OnValkey):
    """Databases as the official saver finds them: it sets nothing up."""

    @pytest.fixture
    def url(self, valkey_server: Server) -> str:
        """An empty database."""
        return valkey_server.empty()

    def test_abilities(self, make: Make) -> None:
        """A plan is one transaction of the server's; no moment can be held, and no path is kept."""
        assert make([]).abilities == {Ability.ATOMIC, Ability.WRITE, Ability.BRANCHES}


class TestAhead(ReadAhead, TestValkey):
    """The same with everything read ahead."""
