"""LangGraph's MongoDB saver and ckpt on the same database; the server is the stand-in unless a real one is named."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.mongodb import MongoDBSaver
from pymongo import MongoClient
from pymongo.errors import BulkWriteError

from tests.cross.backend import Backend, Fresh
from tests.cross.fleet import ManyThreads
from tests.cross.forget import Forget
from tests.cross.identity import Identity
from tests.cross.listing import Listing
from tests.cross.look import Look, Run
from tests.cross.memories import SomeMemories
from tests.cross.since import Since
from tests.cross.steps import Steps
from tests.cross.tool_calls import ToolCalls
from tests.cross.travel import Travel
from tests.servers.mongodb import Mongo


@pytest.fixture(scope="module")
def fresh(mongo: Mongo, mongo_database: Callable[[], str]) -> Fresh:
    """A database of its own each time."""

    def give() -> Backend:
        name = mongo_database()

        @contextmanager
        def official() -> Iterator[BaseCheckpointSaver[Any]]:
            with MongoClient(mongo.url) as client:
                yield MongoDBSaver(client, name)

        with official():
            return Backend(mongo.database(name), official)

    return give


class TestListing(Listing):
    """Counting and sorting threads."""


class TestLook(Look):
    """Commands that read."""

    def test_values(self, run: Run) -> None:
        """As everywhere, but for two threads.

        The saver gives writes as they arrived, so a delta channel that was written side by side, or all at once in the
        end, holds them in that order in LangGraph, while ckpt shows writes in their canonical one.
        """
        racing = ("delta-wide", "delta-exit")
        super().test_values(replace(run, threads=[(t, graph) for t, graph in run.threads if t not in racing]))


class TestTravel(Travel):
    """Commands that change."""

    def test_a_lost_write_is_not_suspect(self, backend: Backend, capsys: pytest.CaptureFixture[str]) -> None:
        """LangGraph's saver refuses such an update: its unique index has no task path."""
        with pytest.raises(BulkWriteError):
            super().test_a_lost_write_is_not_suspect(backend, capsys)


class TestMemories(SomeMemories):
    """Subgraphs with their own memory."""


class TestSince(Since):
    """Changes that an application makes meanwhile."""


class TestSteps(Steps):
    """Killed between any two documents, on a server without transactions."""


class TestForget(Forget):
    """What `--forget` leaves."""

    def stored(self, backend: Backend) -> bytes:
        """Every document of every collection."""
        with backend.official() as official:
            database = official.db  # type: ignore[attr-defined]
            return repr([list(database[name].find()) for name in database.list_collection_names()]).encode()


class TestIdentity(Identity):
    """Another database at the same address, and the same one at another."""


class TestToolCalls(ToolCalls):
    """Tool calls without answers."""


class TestManyThreads(ManyThreads):
    """One command for many threads."""
