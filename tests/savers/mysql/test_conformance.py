"""The conformance tests on MySQL, with a collation that takes some different ids for equal and one that doesn't."""

from collections.abc import Iterable, Iterator
from typing import ClassVar

import pytest

from ckpt_cli.conformance import Make
from ckpt_cli.conformance.samples import ODD_IDS, Samples
from ckpt_cli.model import Checkpoint, Payload, Plan, Write
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.mysql import open_url
from tests.savers.apart import ApartConformance
from tests.servers.mysql import MySQLServer


class TestExactIds(ApartConformance):
    """A database whose collation compares ids by their bytes."""

    collation = "utf8mb4_bin"
    metadata: ClassVar[Payload] = Samples.metadata  # MySQL's JSON can hold U+0000, Postgres' can't

    @pytest.fixture
    def make(self, mysql: MySQLServer) -> Iterator[Make]:
        """Makes a new database with the official saver's tables each time."""
        opened: list[Saver] = []

        def make(records: Iterable[Checkpoint | Write]) -> Saver:
            saver = open_url(mysql.url(mysql.fresh(self.collation)))
            opened.append(saver)
            saver.apply(Plan("records", tuple(records)))
            return saver

        yield make
        for saver in opened:
            saver.close()


class TestEqualIds(TestExactIds):
    """A database whose collation treats ids that differ in case or accents as equal, which is the default of servers.

    Two such ids are one primary key, so no saver can store both. The head of LangGraph's own saver is the id that the
    collation sorts highest.
    """

    collation = "utf8mb4_general_ci"
    odd_ids: ClassVar[list[str]] = [odd for odd in ODD_IDS if odd != "A"]
    checkpoint_ids: ClassVar[list[str]] = ["10", "2", "1", "a", "b"]
