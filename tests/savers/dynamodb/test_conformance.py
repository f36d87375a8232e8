"""DynamoDB satisfies the contract of savers; the server is moto unless a real one is named."""

from collections.abc import Callable, Iterable, Iterator

import pytest

from ckpt_cli.conformance import Conformance, Make
from ckpt_cli.model import Checkpoint, Plan, Write
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.dynamodb import open_url
from ckpt_cli.savers.dynamodb.items import items_of
from tests.savers.dynamodb.records import DynamoSamples
from tests.servers.dynamodb import Dynamo


class TestTable(DynamoSamples, Conformance):
    """A table of its own each time."""

    names_at_once = 120  # more than a request takes here; each write is asked for by itself

    @pytest.fixture
    def make(self, dynamo: Dynamo, table: Callable[[], str]) -> Iterator[Make]:
        opened: list[Saver] = []

        def make(records: Iterable[Checkpoint | Write]) -> Saver:
            name = table()
            saver = open_url(dynamo.url(name))
            opened.append(saver)
            plan = Plan("given", tuple(records))
            if len(plan.add) < 100:
                saver.apply(plan)
            else:
                stored = [items_of(change.after) for change in saver.expand(plan) if change.after]
                dynamo.fill(name, (item for one in stored for item in (one.base, one.chunk) if item))
            return saver

        yield make
        for saver in opened:
            saver.close()

    def test_writes_in_canonical_order(self, make: Make) -> None:
        """As everywhere, but each on a checkpoint that exists: writes are found by their checkpoints alone."""
        super().test_writes_in_canonical_order(lambda records: make([self.checkpoint("t", "0"), *records]))
