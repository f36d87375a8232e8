"""Redis is held to what every saver is held to: with the saver's index, and without it by scans of the keys."""

from collections.abc import Iterable, Iterator

import pytest
from langgraph.checkpoint.redis import RedisSaver as Official

from ckpt_cli.conformance import Conformance, Make
from ckpt_cli.model import Checkpoint, Plan, Write
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.ahead import Ahead
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.redis import open_url
from tests.savers.redis.records import RedisSamples
from tests.servers.redis import Server


class TestWithIndex(RedisSamples, Conformance):
    """Databases that the official saver set up."""

    def opened(self, saver: Saver) -> Saver:
        """How it is asked."""
        return saver

    @pytest.fixture
    def url(self, redis_server: Server) -> str:
        """An empty database."""
        url = redis_server.empty()
        with Official.from_conn_string(url) as official:
            official.setup()
        return url

    @pytest.fixture
    def make(self, url: str) -> Iterator[Make]:
        opened: list[Saver] = []

        def make(records: Iterable[Checkpoint | Write]) -> Saver:
            saver = open_url(url)
            opened.append(saver)
            saver.apply(Plan("given", tuple(records)))
            return self.opened(saver)

        yield make
        for saver in opened:
            saver.close()

    def test_abilities(self, make: Make) -> None:
        """A plan is one transaction of the server's; no moment can be held."""
        able = make([]).abilities
        assert {Ability.ATOMIC, Ability.WRITE, Ability.BRANCHES, Ability.SKIPS} <= able
        assert Ability.MOMENT not in able


class TestAhead(TestWithIndex):
    """The same with everything read ahead, as commands do."""

    def opened(self, saver: Saver) -> Saver:
        """Told of all threads."""
        ahead = Ahead(saver)
        ahead.expect_whole([thread.thread_id for thread in saver.threads()])
        return ahead


class TestWithoutIndex(TestWithIndex):
    """The same after the index is dropped, as where the server has no search module; the documents stay."""

    @pytest.fixture
    def make(self, url: str, redis_server: Server) -> Iterator[Make]:
        opened: list[Saver] = []

        def make(records: Iterable[Checkpoint | Write]) -> Saver:
            saver = open_url(url)
            saver.apply(Plan("given", tuple(records)))
            saver.close()
            opened.append(_without_index(redis_server, url))
            return opened[-1]

        yield make
        for saver in opened:
            saver.close()

    def test_abilities(self, make: Make) -> None:
        """It is said that threads are found by a scan."""
        saver = make([self.checkpoint("t", "1")])
        assert Ability.SKIPS not in saver.abilities
        assert "scan" in saver.about().facts["index"]


class TestForgotten(TestWithIndex):
    """The same where the index has forgotten its documents, as after somebody asked it in another database."""

    @pytest.fixture
    def make(self, url: str, redis_server: Server) -> Iterator[Make]:
        opened: list[Saver] = []

        def make(records: Iterable[Checkpoint | Write]) -> Saver:
            saver = open_url(url)
            opened.append(saver)
            saver.apply(Plan("given", tuple(records)))
            with redis_server.client() as client:
                client.execute_command("SELECT", 1)
                for index in ("checkpoint", "checkpoint_write"):
                    client.execute_command("FT.AGGREGATE", index, "*", "LOAD", "1", "$.thread_id")
            return saver

        yield make
        for saver in opened:
            saver.close()


def _without_index(server: Server, url: str) -> Saver:
    with server.client() as client:
        client.execute_command("FT.DROPINDEX", "checkpoint_write")
        return open_url(url)
