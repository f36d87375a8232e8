"""Valkey satisfies the contract of savers, except for the task's path, which it can't store."""

import pytest

from ckpt_cli.conformance import Make
from ckpt_cli.savers.contract import Ability
from tests.savers.redis.conforming import OnValkey, Prefetching
from tests.servers.redis import Server


class TestValkey(OnValkey):
    """Empty databases: LangGraph's own saver sets nothing up."""

    @pytest.fixture
    def url(self, valkey_server: Server) -> str:
        """An empty database."""
        return valkey_server.empty()

    def test_abilities(self, make: Make) -> None:
        """A plan is one transaction of the server; there are no snapshots and no task paths."""
        assert make([]).abilities == {Ability.ATOMIC, Ability.WRITE, Ability.BRANCHES}


class TestPrefetch(Prefetching, TestValkey):
    """The same with prefetch."""
