"""LangGraph's DynamoDB saver and ckpt on the same table; the server is moto unless a real one is named."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph_checkpoint_aws import DynamoDBSaver

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
from tests.servers.dynamodb import KEYS, REGION, Dynamo


@contextmanager
def official(dynamo: Dynamo, table: str, **words: Any) -> Iterator[BaseCheckpointSaver[Any]]:
    """LangGraph's own saver on a table."""
    import boto3

    logging.getLogger("langgraph_checkpoint_aws").setLevel(logging.CRITICAL)
    session = boto3.session.Session(**KEYS)
    saver = DynamoDBSaver(table, session=session, region_name=REGION, endpoint_url=dynamo.endpoint, **words)
    try:
        yield saver
    finally:
        saver.client.close()


@pytest.fixture(scope="module")
def fresh(dynamo: Dynamo, table: Callable[[], str]) -> Fresh:
    """A table of its own each time."""

    def give() -> Backend:
        name = table()
        return Backend(dynamo.url(name), lambda: official(dynamo, name))

    return give


class TestListing(Listing):
    """Counting and sorting threads."""


class TestLook(Look):
    """Reading every kind of graph."""

    def test_values(self, run: Run) -> None:
        """As everywhere, but for two threads.

        The saver gives writes in the order of their keys, so a delta channel that was written side by side, or all at
        once in the end, holds them in that order in LangGraph, while ckpt shows writes in their canonical one.
        """
        sorted_by_key = ("delta-wide", "delta-exit")
        super().test_values(replace(run, threads=[(t, graph) for t, graph in run.threads if t not in sorted_by_key]))


class TestTravel(Travel):
    """Commands that change."""


class TestMemories(SomeMemories):
    """Subgraphs with their own memory."""


class TestSince(Since):
    """Changes that an application makes meanwhile."""


class TestSteps(Steps):
    """Killed before any row of one plan; ``test_faults.py`` kills between the transactions of a longer one."""

    @pytest.mark.parametrize("name", ["delete of the last steps"])
    def test_killed_at_every_step(self, name: str, backend: Backend, capsys: pytest.CaptureFixture[str]) -> None:
        """A half-made change is reported by the next command, taken back by the next change, and then succeeds."""
        super().test_killed_at_every_step(name, backend, capsys)


class TestForget(Forget):
    """What `--forget` leaves."""

    def stored(self, backend: Backend) -> bytes:
        """Every item of the table."""
        with backend.official() as official:
            pages = official.client.get_paginator("scan")  # type: ignore[attr-defined]
            return repr([page["Items"] for page in pages.paginate(TableName=official.table_name)]).encode()  # type: ignore[attr-defined]


class TestIdentity(Identity):
    """Another database at the same address, and the same one at another."""


class TestManyThreads(ManyThreads):
    """One command for many threads."""


class TestToolCalls(ToolCalls):
    """Tool calls without answers."""
