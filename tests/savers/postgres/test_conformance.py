"""The conformance tests on Postgres."""

from collections.abc import Iterable, Iterator

import pytest

from ckpt_cli.conformance import Make
from ckpt_cli.model import Checkpoint, Plan, Write
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.postgres import open_url
from tests.savers.apart import ApartConformance
from tests.servers.postgres import PostgresServer


class TestPostgres(ApartConformance):
    """A database with the official saver's tables."""

    @pytest.fixture
    def make(self, postgres: PostgresServer) -> Iterator[Make]:
        opened: list[Saver] = []

        def make(records: Iterable[Checkpoint | Write]) -> Saver:
            saver = open_url(postgres.space())
            opened.append(saver)
            saver.apply(Plan("records", tuple(records)))
            return saver

        yield make
        for saver in opened:
            saver.close()
