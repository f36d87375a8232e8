"""A table with a few records."""

from collections.abc import Callable

import pytest

from ckpt_cli.model import Plan
from tests.savers.dynamodb.records import DynamoSamples
from tests.savers.small import opened, two_steps
from tests.servers.dynamodb import Dynamo

SAMPLES = DynamoSamples()


@pytest.fixture
def table_url(dynamo: Dynamo, table: Callable[[], str]) -> str:
    """The URL of a table with one thread."""
    url = dynamo.url(table())
    with opened(url) as saver:
        saver.apply(Plan("given", tuple(two_steps(SAMPLES))))
    return url
