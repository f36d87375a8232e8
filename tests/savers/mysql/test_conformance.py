"""MySQL is held to what every saver is held to, whether or not its collation takes different ids for one."""

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
    """A database whose collation tells all ids apart."""

    collation = "utf8mb4_bin"
    metadata: ClassVar[Payload] = Samples.metadata  # its JSON holds U+0000, which Postgres' doesn't

    @pytest.fixture
    def make(self, mysql: MySQLServer) -> Iterator[Make]:
        """Each time a database of its own with the official saver's tables."""
        opened: list[Saver] = []

        def make(records: Iterable[Checkpoint | Write]) -> Saver:
            saver = open_url(mysql.url(mysql.fresh(self.collation)))
            opened.append(saver)
            saver.apply(Plan("records", tuple(records)))
            return saver

        yield make
        for saver in opened:
            saver.close()


class TestFoldedIds(TestExactIds):
    """A database whose collation takes ids for one that differ in case or accents, as servers have it by default.

    Two such ids are one primary key, which no saver can keep apart; and LangGraph's own saver gives as head what the
    collation sorts highest.
    """

    collation = "utf8mb4_general_ci"
    odd_ids: ClassVar[list[str]] = [odd for odd in ODD_IDS if odd != "A"]
    checkpoint_ids: ClassVar[list[str]] = ["10", "2", "1", "a", "b"]
