"""The official MySQL saver and ckpt on the same database."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.mysql.pymysql import PyMySQLSaver

from ckpt_cli.inspection import Inspection
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
from tests.servers.mysql import MySQLServer
from tests.truth_rendering import rendered


@pytest.fixture(scope="module")
def fresh(mysql: MySQLServer) -> Fresh:
    """Makes a new database each time."""

    def give() -> Backend:
        name = mysql.fresh()

        @contextmanager
        def official() -> Iterator[BaseCheckpointSaver[Any]]:
            with closing(mysql.connect(name)) as connection:
                yield PyMySQLSaver(connection)

        return Backend(mysql.url(name), official)

    return give


class TestListing(Listing):
    """Counting and sorting threads."""


class TestLook(Look):
    """Reading."""

    def test_values(self, run: Run) -> None:
        """As for every saver; but if several tasks of one step write to a delta channel, the order may differ.

        The official saver sorts writes by task id, which is a hash, and not by path (langgraph-checkpoint-mysql 3.0,
        ``utils.py: deserialize_pending_writes``). So the channel has another value when it is read again, and later
        snapshots of it contradict the value in the step.
        """
        wide = [pair for pair in run.threads if pair[0] in ("delta-exit", "delta-wide")]
        super().test_values(replace(run, threads=[pair for pair in run.threads if pair not in wide]))
        for ref, state in replace(run, threads=wide).states():
            values = Inspection(run.reader, ref).values()
            if "log" in state.values and "log" in values:
                assert items(rendered(values["log"])) == items(rendered(state.values["log"]))


def items(value: Any) -> list[str]:
    """The items of a list, or of the writes to a channel whose reducer is unknown."""
    written = [item for write in value["writes"] for item in write] if isinstance(value, dict) else value
    return sorted(map(str, written))


class TestTravel(Travel):
    """Changing."""


class TestMemories(SomeMemories):
    """Subgraphs with their own memory."""


class TestSince(Since):
    """Others write meanwhile."""


class TestSteps(Steps):
    """Killed in the middle."""


class TestForget(Forget):
    """Forgetting."""

    def stored(self, backend: Backend) -> bytes:
        """Every row of every table."""
        with backend.official() as official, official.conn.cursor() as cursor:  # type: ignore[attr-defined]
            cursor.execute("SHOW TABLES")
            tables = [name for (name,) in cursor.fetchall()]
            rows = []
            for table in tables:
                cursor.execute(f"SELECT * FROM `{table}`")
                rows += cursor.fetchall()
        return repr(rows).encode()


class TestIdentity(Identity):
    """Databases at the address of another, and at another address."""


class TestManyThreads(ManyThreads):
    """One command for many threads."""


class TestToolCalls(ToolCalls):
    """Tool calls without answers."""
