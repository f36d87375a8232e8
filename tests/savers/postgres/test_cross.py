"""The official Postgres saver and ckpt on the same database."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg.sql import SQL, Identifier

from tests.cross.backend import Backend, Fresh
from tests.cross.broken_fleet import BrokenFleet
from tests.cross.busy_fleet import BusyFleet
from tests.cross.fleet import ManyThreads
from tests.cross.forget import Forget
from tests.cross.identity import Identity
from tests.cross.listing import Listing
from tests.cross.look import Look
from tests.cross.memories import SomeMemories
from tests.cross.pruned import Pruned
from tests.cross.since import Since
from tests.cross.steps import Steps
from tests.cross.tool_calls import ToolCalls
from tests.cross.travel import Travel
from tests.servers.postgres import PostgresServer


@pytest.fixture(scope="module")
def fresh(postgres: PostgresServer) -> Fresh:
    """Makes a new Postgres schema each time."""

    def give() -> Backend:
        url = postgres.space()

        @contextmanager
        def official() -> Iterator[BaseCheckpointSaver[Any]]:
            with PostgresSaver.from_conn_string(url) as saver:
                yield saver

        return Backend(url, official)

    return give


def rows_of(backend: Backend) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Every row of every table, with the table's name."""
    tables = "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
    with psycopg.connect(backend.url) as connection:
        for (name,) in connection.execute(tables).fetchall():
            for row in connection.execute(SQL("SELECT * FROM {}").format(Identifier(name))):
                yield name, row


class TestListing(Listing):
    """Counting and sorting threads."""


class TestLook(Look):
    """Reading."""


class TestTravel(Travel):
    """Changing."""


class TestPruned(Pruned):
    """Old checkpoints removed."""

    plans = 1


class TestMemories(SomeMemories):
    """Subgraphs with their own memory."""


class TestBusyFleet(BusyFleet):
    """The application never rests."""


class TestManyThreads(ManyThreads):
    """One command for many threads."""


class TestToolCalls(ToolCalls):
    """Tool calls without answers."""


class TestBrokenFleet(BrokenFleet):
    """A fleet that breaks in three ways."""

    def stored(self, backend: Backend) -> list[str]:
        """Every row of every table."""
        return sorted(map(repr, rows_of(backend)))


class TestSince(Since):
    """Others write meanwhile."""


class TestSteps(Steps):
    """Killed in the middle."""


class TestForget(Forget):
    """Forgetting."""

    def stored(self, backend: Backend) -> bytes:
        """Every row of every table."""
        return repr([*rows_of(backend)]).encode()


class TestIdentity(Identity):
    """Databases at the address of another, and at another address."""
