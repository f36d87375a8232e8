"""The official DynamoDB saver and ckpt on the same table; the server is moto unless a real one is named."""

import logging
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph_checkpoint_aws import DynamoDBSaver

from tests.cross.backend import Backend, Fresh
from tests.cross.look import Look, Run
from tests.cross.travel import Travel
from tests.graphs import SCENARIOS
from tests.servers.dynamodb import KEYS, REGION, Dynamo

FEW = ("copy of the past", "edit of Sends", "answers")
"""One that adds a checkpoint, one that replaces what stands, one that adds writes.

The official saver asks for every value by itself, hundreds of times a case. What plans hold is the same on every engine
and is tested on those that are quick; what DynamoDB makes of each kind of record is in ``test_items.py``.
"""


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


class TestLook(Look):
    """Reading namespaces; the threads of every other graph are in ``test_truth.py``."""

    @pytest.fixture(scope="class", params=["subgraphs"])
    @classmethod
    def run(cls, request: pytest.FixtureRequest, fresh: Fresh) -> Iterator[Run]:
        """Each scenario once."""
        backend = fresh()
        with backend.official() as saver:
            threads = list(SCENARIOS[request.param](saver))
            reader = backend.reader()
            with closing(reader.saver):
                yield Run(backend, reader, threads)


class TestTravel(Travel):
    """Changing, one case for each kind of plan."""

    @pytest.mark.parametrize("name", FEW)
    def test_goes_on_like_its_twin(self, name: str, backend: Backend, capsys: pytest.CaptureFixture[str]) -> None:
        """Undone, nothing of a change is left; done, the thread is shown as its twin is and runs to the same end."""
        super().test_goes_on_like_its_twin(name, backend, capsys)
