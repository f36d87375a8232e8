"""A table with a little in it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ckpt_cli.model import Plan
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.dynamodb import open_url
from tests.savers.dynamodb.records import DynamoSamples
from tests.servers.dynamodb import Dynamo

SAMPLES = DynamoSamples()


@contextmanager
def opened(url: str) -> Iterator[Saver]:
    """A saver, closed afterwards."""
    saver = open_url(url)
    try:
        yield saver
    finally:
        saver.close()


def two_steps(thread_id: str = "t") -> list[Any]:
    """A thread of two checkpoints with a write on each."""
    return [
        SAMPLES.checkpoint(thread_id, "1"),
        SAMPLES.write(thread_id, "1"),
        SAMPLES.checkpoint(thread_id, "2", parent_id="1"),
        SAMPLES.write(thread_id, "2"),
    ]


@pytest.fixture
def given(dynamo: Dynamo, table: Callable[[], str]) -> str:
    """The URL of a table with one thread."""
    url = dynamo.url(table())
    with opened(url) as saver:
        saver.apply(Plan("given", tuple(two_steps())))
    return url
