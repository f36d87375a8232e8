"""Redis satisfies the contract of savers, with the saver's index and, without it, by scans of the keys."""

import pytest

from ckpt_cli.conformance import Make
from ckpt_cli.savers.contract import Ability, Saver
from ckpt_cli.savers.redis import open_url
from tests.savers.redis.conforming import OnRedis, Prefetching
from tests.savers.redis.kinds import indexed
from tests.servers.redis import Server


class TestWithIndex(OnRedis):
    """Databases that LangGraph's own saver set up."""

    @pytest.fixture
    def url(self, redis_server: Server) -> str:
        """An empty database."""
        url = redis_server.empty()
        indexed(url)
        return url

    def test_abilities(self, make: Make) -> None:
        """A plan is one transaction of the server; there are no snapshots."""
        able = make([]).abilities
        assert {Ability.ATOMIC, Ability.WRITE, Ability.BRANCHES, Ability.SKIPS} <= able
        assert Ability.MOMENT not in able


class TestPrefetch(Prefetching, TestWithIndex):
    """The same with prefetch."""


class TestWithoutIndex(TestWithIndex):
    """The same after the index is dropped, as on a server without the search module; the documents stay."""

    @pytest.fixture(autouse=True)
    def server(self, redis_server: Server) -> None:
        self._server = redis_server

    def opened(self, saver: Saver) -> Saver:
        """The saver, opened once the index is dropped."""
        with self._server.client() as client:
            client.execute_command("FT.DROPINDEX", "checkpoint_write")
        return open_url(self._server.url)

    def test_abilities(self, make: Make) -> None:
        """The saver declares that threads are found by a scan."""
        saver = make([self.checkpoint("t", "1")])
        assert Ability.SKIPS not in saver.abilities
        assert "scan" in saver.about().facts["index"]


class TestForgotten(TestWithIndex):
    """The same after the index has lost its documents, as after a query in another database."""

    @pytest.fixture(autouse=True)
    def server(self, redis_server: Server) -> None:
        self._server = redis_server

    def opened(self, saver: Saver) -> Saver:
        """The saver, used once the index has lost them."""
        with self._server.client() as client:
            client.execute_command("SELECT", 1)
            for index in ("checkpoint", "checkpoint_write"):
                client.execute_command("FT.AGGREGATE", index, "*", "LOAD", "1", "$.thread_id")
        return saver
