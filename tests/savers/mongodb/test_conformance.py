"""MongoDB is held to what every saver is held to: one server, and a replica set with its snapshots and transactions.

Unless ``CKPT_TEST_MONGODB_URL`` names a real server both are the stand-in of `tests.servers.mongod_stub`.
"""

from collections.abc import Callable, Iterable, Iterator

import pytest
from langgraph.checkpoint.mongodb import MongoDBSaver
from pymongo import MongoClient

from ckpt_cli.conformance import Conformance, Make
from ckpt_cli.model import Checkpoint, Plan, Write
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.mongodb import open_url
from ckpt_cli.savers.prefetch import PrefetchingSaver
from tests.savers.mongodb.records import MongoSamples
from tests.servers.mongodb import Mongo, stand_in


class TestOneServer(MongoSamples, Conformance):
    """Databases that LangGraph's own saver set up."""

    @pytest.fixture(scope="class")
    @classmethod
    def server(cls, mongo: Mongo) -> Mongo:
        return mongo

    def opened(self, saver: Saver) -> Saver:
        """The saver that the tests read through."""
        return saver

    @pytest.fixture
    def make(self, server: Mongo, mongo_database: Callable[[], str]) -> Iterator[Make]:
        opened: list[Saver] = []

        def make(records: Iterable[Checkpoint | Write]) -> Saver:
            name = mongo_database()
            with MongoClient(server.url) as client:
                MongoDBSaver(client, name)
            saver = open_url(server.database(name))
            opened.append(saver)
            saver.apply(Plan("given", tuple(records)))
            return self.opened(saver)

        yield make
        for saver in opened:
            saver.close()


class TestReplicaSet(TestOneServer):
    """The same with sessions; the stand-in takes back aborted transactions and keeps snapshots."""

    @pytest.fixture(scope="class")
    @classmethod
    def server(cls, mongo: Mongo, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mongo]:
        if mongo.is_real:
            yield mongo
            return
        with stand_in(tmp_path_factory.mktemp("mongo-set"), "--replica-set") as started:
            yield started

    def test_abilities(self, make: Make, server: Mongo) -> None:
        """A plan is one transaction and a moment is one snapshot, if the server has them."""
        able = make([]).abilities
        assert server.is_real or {Ability.ATOMIC, Ability.MOMENT} <= able
        assert (Ability.ATOMIC in able) == (Ability.MOMENT in able)


class TestPrefetch(TestOneServer):
    """The same with prefetch, as commands read."""

    def opened(self, saver: Saver) -> Saver:
        ahead = PrefetchingSaver(saver)
        ahead.expect_whole([thread.thread_id for thread in saver.threads()])
        return ahead
